"""Operators that a program defines: their calls, gradients and errors are PyTorch's."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.library import operators

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def found():
    return operators.everything(torch)


@pytest.mark.parametrize("name", operators.PROGRAMS)
def test_a_program_with_operators_says_what_it_says_under_pytorch(found, golden, name):
    assert found[name] == golden("operators")[name]


def test_operators_of_a_deleted_library_are_unregistered():
    library = torch.library.Library("tests_gone", "FRAGMENT")
    library.define("one(Tensor x) -> Tensor")
    library._destroy()
    with pytest.raises(RuntimeError, match="operator tests_gone::one does not exist"):
        torch.library.impl("tests_gone::one", "cpu", lambda x: x)


def test_an_operator_may_not_return_its_input():
    op = torch.library.custom_op("tests_same::same", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(RuntimeError, match="must not also be"):
        op(torch.ones(1))


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.library.wrap_triton(print),
        lambda: torch.library.register_vmap("a::b"),
        lambda: torch.library.register_autocast("a::b", "cpu", torch.float16),
        lambda: torch._inductor.aot_compile(None, ()),
        lambda: torch._dynamo.register_backend(lambda graph, inputs: graph),
    ],
)
def test_what_is_not_supported_says_its_name(call):
    with pytest.raises(NotImplementedError, match="torchlike does not support"):
        call()


CAST = "to C++ type '?' (#define PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
MISFITS: Any = [
    ((1, 2), {}, "Tensor", "x", "int", 0, 1, "Unable to cast 1 to Tensor"),
    ((None, 2.5), {}, "int", "n", "float", 1, 2.5, f"Unable to cast Python instance of type <class 'float'> {CAST}"),
    (
        (None, None),
        {},
        "int",
        "n",
        "NoneType",
        1,
        None,
        f"Unable to cast Python instance of type <class 'NoneType'> {CAST}",
    ),
    ((None, 1, "a"), {}, "float", "s", "str", 2, "a", f"Unable to cast Python instance of type <class 'str'> {CAST}"),
    (
        (None, 1, 1),
        {"flag": "a"},
        "bool",
        "flag",
        "str",
        3,
        "a",
        f"Unable to cast Python instance of type <class 'str'> {CAST}",
    ),
    (
        (None, 1),
        {"name": 1},
        "str",
        "name",
        "int",
        4,
        1,
        f"Unable to cast Python instance of type <class 'int'> {CAST}",
    ),
    (
        (None, 1),
        {"o": "a"},
        "Optional[int]",
        "o",
        "str",
        5,
        "a",
        f"Unable to cast Python instance of type <class 'str'> {CAST}",
    ),
    (
        (None, 1),
        {"ds": 3.0},
        "List[float]",
        "ds",
        "float",
        6,
        3.0,
        f"Unable to cast Python instance of type <class 'float'> {CAST}",
    ),
    (
        (None, 1),
        {"ds": ["a"]},
        "List[float]",
        "ds",
        "list",
        6,
        ["a"],
        f"Unable to cast Python instance of type <class 'list'> {CAST}",
    ),
    ((None, 1), {"c": "a"}, "number", "c", "str", 7, "a", "Cannot cast a to number"),
]
DECLARED = 'typed(Tensor x, int n, float s=1., bool flag=False, str name="a", int? o=None, float[] ds=[], Scalar c=1, int[2] k=1)'


def typed(t: Any) -> Any:
    library = t.library.Library("test_typed", "DEF")
    library.define(DECLARED + " -> Tensor")
    library.impl("typed", lambda *args: t.ones(1), "CompositeExplicitAutograd")
    return library, t.ops.test_typed.typed


def check_typed(t: Any) -> None:
    library, call = typed(t)
    for args, kwargs, kind, name, found, place, value, details in MISFITS:
        with pytest.raises(RuntimeError) as caught:
            call(*args, **kwargs)
        lines = str(caught.value).split("\n")
        assert (
            lines[0]
            == f"test_typed::typed() Expected a value of type '{kind}' for argument '{name}' but instead found type '{found}'."
        )
        assert (
            lines[1:3] == [f"Position: {place}", f"Value: {value!r}"] and lines[4] == f"Cast error details: {details}"
        )
    with pytest.raises(
        RuntimeError, match="Argument 'n' specified both as positional and keyword argument. Schema: test_typed::typed"
    ):
        call(None, 1, n=2)
    x = t.ones(2)
    for args, kwargs in (
        ((x, True, 1), {}), ((x, t.tensor(3), t.tensor(1.5)), {}), ((x, np.int64(1), np.float32(2)), {"flag": 1, "ds": (1, 2)}),
        ((x, 1), {"o": None, "c": 1j, "k": 3}), ((x, 1), {"k": t.Size([2, 3])}),
    ):  # fmt: skip
        assert call(*args, **kwargs).shape == (1,)
    library._destroy()


def test_arguments_that_do_not_fit_the_schema_are_refused_in_pytorchs_words():
    check_typed(torch)


def test_those_words_are_pytorchs():
    check_typed(pytest.importorskip("torch"))


def test_a_triton_op_is_an_operator_of_ones_own():
    @torch.library.triton_op("test_triton::twice", mutates_args={})
    def twice(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert type(twice) is type(torch.library.custom_op("test_triton::other", mutates_args=())(named))
    twice.register_autograd(lambda ctx, grad: grad * 3)
    x = torch.ones(2, requires_grad=True)
    again = torch.ops.test_triton.twice(x)  # pyright: ignore[reportAttributeAccessIssue]
    assert twice(x).tolist() == again.tolist() == [2, 2]
    twice(x).sum().backward()
    assert x.grad.tolist() == [3, 3]


def named(x: torch.Tensor) -> torch.Tensor:
    return x.clone()
