"""Numbers, sizes and flags of every op: which types of Python and NumPy are accepted, and the messages for the others."""

import math
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.dispatch.arguments import misfit
from torchlike.dispatch.bindings import FUNCTIONS
from torchlike.dispatch.opdef import CATALOG, NUMBER, OPERAND
from torchlike.dispatch.overloads import OF_FUNCTIONS
from torchlike.nn import functional as F

from ..ops.samples import arguments, every_call

pytestmark = pytest.mark.recorded  # these tests are about errors before anything runs
SIZES = ("Dims", "Sequence[int]", "IntOrInts", "Pair", "tuple[int, ...]")
# One call of each op.
CALLS = list({call.op.name: call for call in reversed(list(every_call()))}.values())


def bound(call) -> list[Any]:
    """Returns one argument for each parameter, by position, with tensors for arrays."""
    given, kwargs, roles = arguments(call)
    tensors = [
        torch.tensor(a) if r in "ti" else [torch.tensor(t) for t in a] if r in "lj" else a
        for a, r in zip(given, roles, strict=True)
    ]
    return list(call.op.parameters.bind(call.op.name, tuple(tensors), kwargs))


def places(kinds):
    """Yields every parameter of these kinds: the call, and the position of the parameter."""
    found = []
    for call in CALLS:
        for i, annotation in enumerate(call.op.parameters.annotations):
            kind, *others = annotation.split(" | ")
            if kind in kinds and others in ([], ["None"]) and (i or call.op.parameters.total == 1):
                found.append(pytest.param(call, i, id=f"{call.op.name}-{call.op.parameters.names[i]}"))
    return found


def words_for(call, i, value) -> str:
    """Returns the message of the call with this value as the argument at that position."""
    args = bound(call)
    args[i] = value
    positional = call.op.parameters.positional
    by_name = dict(zip(call.op.parameters.names[positional:], args[positional:], strict=True))
    with pytest.raises(TypeError) as caught:
        FUNCTIONS[call.op.name](*args[:positional], **by_name)
    return str(caught.value)


def said(call, i, words: str) -> str:
    """Returns the beginning of PyTorch's message about an argument, which depends on the number of signatures that come into question."""
    parameters, name = call.op.parameters, call.op.name
    counts = OF_FUNCTIONS.get(name)
    if counts and sum(parameters.total in count for count in counts) != 1:
        return f"{name}() received an invalid combination of arguments - got ("
    at = f" (position {i + 1})" if i < parameters.positional else ""
    return f"{name.lstrip('_')}(): argument '{parameters.names[i]}'{at} must be {words}"


@pytest.mark.parametrize(("call", "i"), places(["bool"]))
def test_a_flag_is_pythons_bool(call, i):
    for value, name in ((np.True_, "numpy.bool"), (np.int64(1), "numpy.int64"), (1, "int"), (1.0, "float")):
        assert words_for(call, i, value).startswith(said(call, i, f"bool, not {name}"))


@pytest.mark.parametrize(("call", "i"), places(["int"]))
def test_an_int_is_neither_a_bool_nor_a_float(call, i):
    for value, name in (
        (True, "bool"), (1.0, "float"), (np.True_, "numpy.bool"), (np.float64(1), "numpy.float64"), (np.float32(1), "numpy.float32"),
    ):  # fmt: skip
        assert words_for(call, i, value).startswith(said(call, i, f"int, not {name}"))


@pytest.mark.parametrize(("call", "i"), places(SIZES))
def test_sizes_are_ints(call, i):
    for value, name in ((True, "bool"), (np.float64(1), "numpy.float64"), (np.array([0, 1]), "numpy.ndarray")):
        assert words_for(call, i, value).startswith(said(call, i, f"tuple of ints, not {name}"))
    words = words_for(call, i, (np.float64(1), 1))
    assert words.startswith(said(call, i, "tuple of ints, but found element of type numpy.float64 at pos 0"))
    words = words_for(call, i, (0, 1.0))
    assert words.endswith('failed to unpack the object at pos 2 with error "type must be tuple of ints,but got float"')


def shown(result):
    return [shown(r) for r in result] if isinstance(result, (tuple, list)) else repr(result)


@pytest.mark.parametrize(("call", "i"), places(["int", "float", *SIZES]))
def test_numpys_numbers_are_as_good_as_pythons(call, i):
    args = bound(call)
    value, positional = args[i], call.op.parameters.positional

    def result(value):
        args[i] = value
        by_name = dict(zip(call.op.parameters.names[positional:], args[positional:], strict=True))
        torch.manual_seed(0)
        return shown(FUNCTIONS[call.op.name](*args[:positional], **by_name))

    if isinstance(value, (tuple, list)):
        others = [type(value)(map(np.int64, value)), type(value)(map(np.int32, value))]
    elif type(value) is int:
        others = [np.int64(value), np.int32(value), np.int16(value)]
    elif type(value) is float:
        others = [np.float64(value), *([np.float32(value)] if np.float32(value) == value else [])]
    else:
        return
    expected = result(value)
    for other in others:
        assert result(other) == expected


# Values of types that the functions refuse.
YES: Any = True
NONE: Any = None
TWO: Any = 2.0
ONE: Any = np.int64(1)
NUMPYS: Any = np.True_
HALF: Any = np.float64(2)
LONG: Any = np.longdouble(2)


def test_equal_numbers_of_two_types_are_not_taken_for_each_other():
    x = torch.arange(6.0).view(2, 3)
    assert x.cumsum(ONE).tolist() == x.cumsum(1).tolist()
    wrong: Any
    for wrong in (True, 1.0, np.True_, np.float64(1)):
        with pytest.raises(TypeError, match=r"cumsum\(\): argument 'dim' \(position 1\) must be int, not "):
            x.cumsum(wrong)
    zero = torch.zeros(1)
    for minus in (-0.0, np.float64(-0.0)):
        zeros = [F.leaky_relu(zero - 1, slope).item() for slope in (0.0, minus)]
        assert [math.copysign(1, number) for number in zeros] == [-1.0, 1.0]
    assert F.elu(torch.tensor([-1.0]), LONG).item() == F.elu(torch.tensor([-1.0]), 2).item()


# PyTorch's messages.
@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda x: x.flip((0, TWO / 2)), 'flip(): argument \'dims\' failed to unpack the object at pos 2 with error "type must be tuple of '
         'ints,but got float"'),
        (lambda x: x.flip(YES), "flip(): argument 'dims' (position 1) must be tuple of ints, not bool"),
        (lambda x: x.topk(YES), "topk(): argument 'k' (position 1) must be int, not bool"),
        (lambda x: torch.tril(x, TWO / 2), "tril(): argument 'diagonal' (position 2) must be int, not float"),
        (lambda x: x.sum(0, keepdim=NONE), "sum(): argument 'keepdim' must be bool, not NoneType"),
        (lambda x: x.sum(0, keepdim=ONE), "sum(): argument 'keepdim' must be bool, not numpy.int64"),
        (lambda x: torch.combinations(x[0], HALF), "combinations(): argument 'r' (position 2) must be int, not numpy.float64"),
        (lambda x: F.one_hot(x.long(), TWO * 15), "one_hot(): argument 'num_classes' (position 2) must be int, not float"),
        (lambda x: F.max_pool2d(x[None], TWO), "max_pool2d(): argument 'kernel_size' (position 2) must be tuple of ints, not float"),
        (lambda x: F.max_pool2d(x[None], 1, ceil_mode=NUMPYS),
         "max_pool2d(): argument 'ceil_mode' (position 6) must be bool, not numpy.bool"),
        (lambda x: torch.nn.AvgPool2d(1, count_include_pad=NUMPYS)(x[None]),
         "avg_pool2d(): argument 'count_include_pad' (position 6) must be bool, not numpy.bool"),
        (lambda x: torch.set_grad_enabled(NUMPYS), "set_grad_enabled(): argument 'enabled' (position 1) must be bool, not numpy.bool"),
    ],
)  # fmt: skip
def test_what_pytorch_says(call, words):
    with pytest.raises(TypeError) as caught:
        call(torch.arange(6.0).view(2, 3))
    assert str(caught.value) == words


@pytest.mark.parametrize(
    "call",
    [
        lambda x, two: x.tensor_split(two),
        lambda x, two: x.split(two),
        lambda x, two: torch.repeat_interleave(x, two, dim=two - two),
        lambda x, two: x.polygamma(two),
        lambda x, two: F.avg_pool1d(x[None], two, stride=two),
        lambda x, two: F.max_pool1d(x[None], two, stride=two, padding=two - 1),
        lambda x, two: torch.nn.Unfold(two)(x[None, None]),
        lambda x, two: torch.full((two,), two),
        lambda x, two: F.pad(x, (two, two)),
    ],
)
def test_functions_composed_of_ops_take_numpys_ints(call):
    x = torch.arange(1.0, 13.0).view(3, 4)
    assert shown(call(x, np.int64(2))) == shown(call(x, 2)) == shown(call(x, np.int32(2)))


def test_every_kind_of_number_is_looked_at():
    """Checks that a new annotation of sizes is one of those that the tests above cover."""
    seen = {a for op in CATALOG.values() for annotation in op.parameters.annotations for a in annotation.split(" | ")}
    for kind in seen - {"tuple[tuple[int, int], ...]"}:
        if "int" in kind.lower().replace("pointer", ""):
            assert misfit(kind, 1.5) is not None, kind


def test_a_complex_number_beside_real_tensors_must_be_real_in_every_call():
    x = torch.ones(2)
    for step in range(6):
        assert torch.lerp(x, x + 1, complex(step)).tolist() == [1.0 + step] * 2
        assert torch.addmv(x, torch.eye(2), x, alpha=2 + 0j).tolist() == [3.0, 3.0]
        with pytest.raises(RuntimeError, match=r"^value cannot be converted to type float without overflow$"):
            torch.lerp(x, x + 1, complex(step, 1))


def number_places(checked):
    """Yields the places of numbers whose value is checked; ``checked`` chooses them by the op and the name of the parameter."""
    for call in CALLS:
        for i, (name, role) in enumerate(zip(call.op.parameters.names, call.op.roles, strict=True)):
            if role in (NUMBER, OPERAND) and call.op.name in FUNCTIONS and checked(call.op, name, role):
                value = bound(call)[i]
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    yield pytest.param(call, i, id=f"{call.op.name}-{name}")


def errors_in_a_loop(call, i, number):
    """Returns the type of the error in each round of a loop in which the number changes, None where the call is accepted."""
    args, errors = bound(call), []
    positional = call.op.parameters.positional
    for at in range(12):  # from the fifth value on, a number that is not checked becomes an input of the program
        args[i] = number(at)
        by_name = dict(zip(call.op.parameters.names[positional:], args[positional:], strict=True))
        try:
            FUNCTIONS[call.op.name](*args[:positional], **by_name)
        except (RuntimeError, TypeError, ValueError) as error:
            errors.append(type(error))
        else:
            errors.append(None)
    return errors


@pytest.mark.parametrize(
    ("call", "i"), [*number_places(lambda op, name, role: role == NUMBER or name in op.dtype_rule.follow)]
)
def test_a_complex_number_that_changes_is_refused_in_every_round(call, i):
    assert len(set(errors_in_a_loop(call, i, lambda at: complex(at + 1, at + 1)))) == 1


@pytest.mark.parametrize(("call", "i"), [*number_places(lambda op, name, role: name in op.dtype_rule.must_fit)])
def test_a_number_that_changes_and_does_not_fit_is_refused_in_every_round(call, i):
    assert len(set(errors_in_a_loop(call, i, lambda at: (at + 1) * 1e300))) == 1


def test_a_number_that_fits_becomes_an_input():
    x = torch.ones(3)
    for i in range(12):
        result = torch.add(x, x, alpha=float(i))
        assert result.tolist() == [1.0 + i] * 3
    before = torch.explain().compiles
    for i in range(12, 40):
        torch.add(x, x, alpha=float(i)).tolist()
    assert torch.explain().compiles == before


def test_a_number_that_changes_beside_a_condition_becomes_an_input():
    x = torch.arange(3)
    for i in range(40):
        if i == 12:
            before = torch.explain().compiles
        assert torch.where(x > 0, x.float(), float(i)).tolist() == [float(i), 1.0, 2.0]
        assert torch.where(x > 0, i * 0.5, i).tolist() == [i, i * 0.5, i * 0.5]
    assert torch.explain().compiles == before


def test_an_int_beyond_int64_that_changes_is_taken_in_every_round():
    x = torch.ones(3)
    for i in range(12):
        number = 2**63 + i * 2**45
        assert x.masked_fill(x > 0, number).tolist() == [float(number)] * 3
        assert torch.addcmul(x, x, x, value=number).tolist() == torch.addcmul(x, x, x, value=float(number)).tolist()
        with pytest.raises(OverflowError, match="int too big to convert"):
            torch.add(x, 2**64 + i)
        with pytest.raises(RuntimeError, match="value cannot be converted to type int8_t without overflow"):
            torch.where(x > 0, torch.tensor(1, dtype=torch.int8), 300 + i)
