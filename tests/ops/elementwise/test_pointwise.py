"""Operators, promotion, special cases of arithmetic, and complex views: cases that the catalogue's samples do not cover."""

from typing import Any

import numpy as np
import pytest

import torchlike as torch
from torchlike.dispatch.bindings import FUNCTIONS

FLOATS = [1.0, 2.0, 4.0]


@pytest.mark.parametrize(
    ("operator", "symbol"),
    [("__add__", "+"), ("__sub__", "-"), ("__mul__", "*"), ("__truediv__", "/"), ("__floordiv__", "//"), ("__mod__", "%"),
     ("__and__", "&"), ("__or__", "|"), ("__xor__", "^"), ("__lshift__", "<<"), ("__rshift__", ">>"), ("__matmul__", "@")],
)  # fmt: skip
def test_operators_leave_foreign_types_to_python(operator, symbol):
    x = torch.tensor([1, 2])
    assert getattr(x, operator)(None) is NotImplemented
    with pytest.raises(TypeError) as caught:
        eval(f"x {symbol} None", {"x": x})
    assert str(caught.value) == f"unsupported operand type(s) for {symbol}: 'Tensor' and 'NoneType'"


def test_comparing_with_what_is_no_number_follows_python():
    x = torch.tensor(FLOATS)
    assert (x == None) is False  # noqa: E711
    assert (x != "text") is True
    with pytest.raises(TypeError) as caught:
        _ = x < "text"
    assert str(caught.value) == "'<' not supported between instances of 'Tensor' and 'str'"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("2 - x", [1.0, 0.0, -2.0]), ("2 / x", [2.0, 1.0, 0.5]), ("2 ** x", [2.0, 4.0, 16.0]), ("5 // x", [5.0, 2.0, 1.0]),
        ("5 % x", [0.0, 1.0, 1.0]), ("-x", [-1.0, -2.0, -4.0]), ("abs(-x)", FLOATS), ("+x", FLOATS), ("True + x", [2.0, 3.0, 5.0]),
        ("x + np.ones(3)", [2.0, 3.0, 5.0]), ("x * np.float32(2)", [2.0, 4.0, 8.0]), ("np.float64(2) * x", [2.0, 4.0, 8.0]),
    ],
)  # fmt: skip
def test_operators_give(expression, expected):
    assert eval(expression, {"x": torch.tensor(FLOATS), "np": np}).tolist() == expected


@pytest.mark.parametrize(("expression", "expected"), [("6 & i", [4, 6]), ("6 | i", [6, 7]), ("6 ^ i", [2, 1]), ("~i", [-5, -8]),
                                                      ("1 << i", [16, 128]), ("256 >> i", [16, 2])])  # fmt: skip
def test_operators_on_bits_give(expression, expected):
    assert eval(expression, {"i": torch.tensor([4, 7])}).tolist() == expected


@pytest.mark.parametrize(
    ("statement", "expected"),
    [("+=", [3.0, 4.0, 6.0]), ("-=", [-1.0, 0.0, 2.0]), ("*=", [2.0, 4.0, 8.0]), ("/=", [0.5, 1.0, 2.0]), ("//=", [0.0, 1.0, 2.0]),
     ("%=", [1.0, 0.0, 0.0]), ("**=", [1.0, 4.0, 16.0])],
)  # fmt: skip
def test_in_place_operators_write_into_the_tensor(statement, expected):
    names = {"x": torch.tensor(FLOATS)}
    same = names["x"]
    exec(f"x {statement} 2", names)
    assert names["x"] is same
    assert same.tolist() == expected


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda x: x + 1, "AddBackward0"), (lambda x: 1 - x, "RsubBackward1"), (lambda x: 2 / x, "MulBackward0"),
        (lambda x: x**2, "PowBackward0"), (lambda x: x**x, "PowBackward1"), (lambda x: 2**x, "PowBackward2"),
        (lambda x: x % 2, "RemainderBackward0"), (lambda x: x.clamp(0, 1), "ClampBackward1"),
        (lambda x: x.clamp(min=x.detach()), "ClampBackward0"), (lambda x: x.negative(), "NegBackward0"),
        (lambda x: torch.where(x > 1, x, 0.0), "WhereBackward0"), (lambda x: torch.true_divide(x, 2), "DivBackward0"),
    ],
)  # fmt: skip
def test_the_graph_shows_pytorchs_names(make, name):
    x: Any = torch.tensor(FLOATS, requires_grad=True)
    assert make(x).grad_fn.name() == name


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: FUNCTIONS["relu"](3), TypeError, "relu(): argument 'input' (position 1) must be Tensor, not int"),
        (lambda: torch.tensor([True]) - torch.tensor([True]), RuntimeError,
         "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."),
        (lambda: torch.tensor([1.0]) - torch.tensor([True]), RuntimeError,
         "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
         "`logical_not()` operator instead."),
        (lambda: torch.add(torch.tensor([1]), 2, alpha=1.5), RuntimeError,
         "For integral input tensors, argument alpha must not be a floating point number."),
        (lambda: torch.tensor([2]) ** -1, RuntimeError, "Integers to negative integer powers are not allowed."),
        (lambda: torch.tensor(FLOATS).clamp(), RuntimeError, "torch.clamp: At least one of 'min' or 'max' must not be None"),
        (lambda: torch.div(torch.tensor([1.0]), 2, rounding_mode="up"), RuntimeError,
         "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'"),
        (lambda: torch.ones(3) + torch.ones(2), RuntimeError,
         "The size of tensor a (3) must match the size of tensor b (2) at non-singleton dimension 0"),
        (lambda: torch.tensor([1]).div_(2), RuntimeError,
         "result type Float can't be cast to the desired output type Long"),
        (lambda: ~torch.tensor([1.0]), TypeError, "~ (operator.invert) is only implemented on integer and Boolean-type tensors"),
        (lambda: torch.lerp(torch.ones(2), torch.ones(2, dtype=torch.float64), 0.5), RuntimeError,
         "expected dtype float for `end` but got dtype double"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_pytorchs_words(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


@pytest.mark.parametrize("operation", [lambda a, b: a // b, lambda a, b: a % b, torch.fmod,
                                       lambda a, b: torch.div(a, b, rounding_mode="trunc")])  # fmt: skip
def test_integers_divided_by_zero_are_an_error_at_the_latest_when_read(operation):
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        operation(torch.tensor([1, 2]), torch.tensor([1, 0])).tolist()
    assert operation(torch.tensor([1.0]), torch.tensor([2.0])).numel() == 1


@pytest.mark.parametrize(
    ("left", "right", "result"),
    [
        (torch.int64, 1.0, torch.float32), (torch.uint8, 300, torch.uint8), (torch.float16, 2.0, torch.float16),
        (torch.bool, 1, torch.int64), (torch.float32, 1j, torch.complex64), (torch.float64, 1j, torch.complex128),
    ],
)  # fmt: skip
def test_a_number_promotes_by_category_alone(left, right, result):
    assert (torch.ones(2, dtype=left) + right).dtype is result


def test_tensors_without_dimensions_promote_as_numbers_do():
    assert (torch.ones(2, dtype=torch.float16) + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float16
    assert (torch.ones(2, dtype=torch.int8) + torch.tensor(1.0, dtype=torch.float64)).dtype is torch.float64


def test_a_mask_times_nan_is_nan():
    assert torch.isnan(torch.tensor([False, True]) * torch.tensor([float("nan"), 1.0])).tolist() == [True, False]
    assert torch.isnan(torch.tensor([False]).float() * torch.tensor([float("nan")])).tolist() == [True]


def test_half_precision_formulas_round_once():
    x = torch.tensor([0.1, 3.3], dtype=torch.float16)
    expected = torch.tanh(x.float()).half()
    assert torch.equal(torch.tanh(x), expected)


@pytest.mark.parametrize(
    ("rest", "mode", "dtype", "count", "quotient"),
    [
        (torch.remainder, "floor", "float32", 2, 6.0), (torch.fmod, "trunc", "float32", 2, 7.0),
        (torch.remainder, "floor", "bfloat16", 2, 6.0), (torch.fmod, "trunc", "bfloat16", 2, 7.0),
        (torch.fmod, "trunc", "bfloat16", 1, 6.0),
    ],
)  # fmt: skip
def test_the_gradient_of_a_rest_counts_as_division_does(rest, mode, dtype, count, quotient):
    """0.1 goes into 0.7 nearly seven times; whether the quotient is 6 or 7 depends on how PyTorch rounds."""
    x = torch.full((count,), 0.7, dtype=getattr(torch, dtype))
    y = torch.full((count,), 0.1, dtype=getattr(torch, dtype), requires_grad=True)
    assert torch.autograd.grad(rest(x, y).sum(), y)[0].tolist() == [-quotient] * count
    assert torch.div(x, y, rounding_mode=mode).tolist() == [quotient] * count


def test_nextafter_has_a_gradient_only_where_it_steps():
    x, y = (torch.tensor(values, requires_grad=True) for values in ([1.0, 2.0, 3.0], [1.0, 3.0, 2.0]))
    grads = torch.autograd.grad(torch.nextafter(x, y).sum(), (x, y))
    assert [g.tolist() for g in grads] == [[0.0, 1.0, 1.0], [0.0, 0.0, 0.0]]


@pytest.mark.parametrize(
    ("expression", "exact"),
    [("x * n", "w * n"), ("x / n", "w / n"), ("n / x", "n * r"), ("x + n", "w + m"), ("x - n", "w - m"), ("x ** n", "w ** m"),
     ("torch.lerp(x, 2 * x, n)", "w + n * w"), ("torch.add(x, x, alpha=n)", "w + m * w")],
)  # fmt: skip
def test_numbers_beside_half_precision_are_rounded_where_pytorch_rounds_them(expression, exact):
    """In the expressions ``n`` is a number, ``m`` its rounding to bfloat16, ``w`` is ``x`` in float32, and ``r`` its reciprocals."""
    x = torch.arange(1, 40).bfloat16() / 8
    m = torch.tensor(0.3, dtype=torch.bfloat16).item()
    names = {"torch": torch, "x": x, "n": 0.3, "m": m, "w": x.float(), "r": torch.reciprocal(x).float()}
    assert torch.equal(eval(expression, names), eval(exact, names).bfloat16())


def test_where_with_the_condition_alone_says_where():
    (rows,) = torch.where(torch.tensor([False, True, True]))
    assert rows.tolist() == [1, 2]


def test_where_of_two_numbers_has_their_dtype():
    condition = torch.tensor([True, False])
    assert torch.where(condition, 1, 2.5).tolist() == [1.0, 2.5]
    assert torch.where(condition, 1, 2).dtype is torch.int64
    assert torch.tensor([1.0, 2.0]).where(condition, 0.0).tolist() == [1.0, 0.0]


def test_parts_of_complex_numbers_are_views():
    z = torch.tensor([1 + 2j, 3 - 4j])
    z.real[0] = 9
    z.imag.mul_(2)
    assert z.tolist() == [9 + 4j, 3 - 8j]
    torch.view_as_real(z)[1, 1] = 1
    assert z.tolist() == [9 + 4j, 3 + 1j]
    assert z.imag.storage_offset() == 1
    assert z.imag.stride() == (2,)
    assert z.imag.numpy().tolist() == [4.0, 1.0]


def test_a_conjugate_shares_memory_and_says_so():
    z = torch.tensor([1 + 2j])
    c = z.conj()
    assert c.is_conj()
    assert not c.conj().is_conj()
    c[0] = 5 + 5j
    assert z.tolist() == [5 - 5j]
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that has conjugate bit set"):
        c.numpy()
    assert c.resolve_conj().numpy().tolist() == [5 + 5j]


@pytest.mark.parametrize(
    ("write", "expected"),
    [
        (lambda z: z.conj().real.zero_(), [2j, -1j]),
        (lambda z: z.conj().imag.fill_(5), [1 - 5j, 3 - 5j]),
        (lambda z: z.conj().imag.add_(1), [1 + 1j, 3 - 2j]),
        (lambda z: z.conj().imag[:1].fill_(4), [1 - 4j, 3 - 1j]),
        (lambda z: setattr(z.conj(), "imag", torch.tensor([8.0, 9.0])), [1 - 8j, 3 - 9j]),
        (lambda z: torch.add(torch.ones(2), 1, out=z.conj().imag), [1 - 2j, 3 - 2j]),
        (lambda z: torch._neg_view(z).add_(1), [0 + 2j, 2 - 1j]),
    ],
)
def test_parts_of_a_conjugate_are_written_through(write, expected):
    z = torch.tensor([1 + 2j, 3 - 1j])
    write(z)
    assert z.tolist() == expected


def test_the_imaginary_part_of_a_conjugate_is_a_view_that_negates():
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    part = z.conj().imag
    assert part.grad_fn.next_functions[0][0].name() == "NegViewBackward0"
    part = part.detach()
    z.data[0] = 5j
    assert part.tolist() == [-5.0, 1.0]
    assert (part.is_neg(), part.clone().is_neg(), torch._neg_view(part).is_neg(), z.conj().real.is_neg()) == (
        True,
        *[False] * 3,
    )
    assert part.data_ptr() == z.data_ptr() + 4
    assert part.as_strided((2,), (1,), 0).tolist() == [0.0, -5.0]
    assert torch.empty(0).set_(part).tolist() == [5.0, -1.0]
    assert part.resolve_neg().numpy().tolist() == part.numpy(force=True).tolist() == [-5.0, 1.0]
    assert z.conj().numpy(force=True).tolist() == [-5j, 3 + 1j]
    with pytest.raises(RuntimeError, match="Can't call numpy\\(\\) on Tensor that has negative bit set"):
        part.numpy()
    with pytest.raises(RuntimeError, match="view is not supported for tensors with negative bit set"):
        part.view(torch.int32)


def test_pairs_of_numbers_are_complex_ones():
    pairs = torch.zeros(2, 2)
    z = torch.view_as_complex(pairs)
    z += 1 + 2j
    assert pairs.tolist() == [[1.0, 2.0], [1.0, 2.0]]
    with pytest.raises(RuntimeError, match="Tensor must have a last dimension of size 2"):
        torch.view_as_complex(torch.zeros(3))


# ---- subtraction of bools


ONE = (
    "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
    "`logical_not()` operator instead."
)
BOTH = "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator instead."
FLOAT, LONG, BOOL = torch.ones(2), torch.ones(2, dtype=torch.int64), torch.tensor([True, False])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: FLOAT - True, ONE), (lambda: True - FLOAT, ONE), (lambda: LONG - True, ONE), (lambda: True - LONG, ONE),
        (lambda: BOOL - True, BOTH), (lambda: True - BOOL, BOTH), (lambda: BOOL - 1, ONE), (lambda: 1.0 - BOOL, ONE),
        (lambda: torch.sub(FLOAT, True), ONE), (lambda: torch.rsub(FLOAT, True), ONE), (lambda: torch.rsub(BOOL, True), BOTH),
        (lambda: FLOAT.clone().sub_(True), ONE), (lambda: BOOL.clone().sub_(True), BOTH), (lambda: torch.subtract(FLOAT, False), ONE),
        (lambda: torch.sub(FLOAT, True, out=torch.empty(2)), ONE), (lambda: torch._foreach_sub([FLOAT], True), ONE),
        (lambda: FLOAT.to(torch.complex64) - True, ONE), (lambda: FLOAT - BOOL, ONE), (lambda: torch.tensor(True) - FLOAT, ONE),
    ],
)  # fmt: skip
def test_truth_values_are_not_subtracted(call, message):
    for _ in range(2):  # the first error must not change the second call
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == message


def test_numpys_own_bool_counts_as_a_float():
    true: Any = np.bool_(True)
    for result in (LONG - true, true - LONG, LONG * true, torch.sub(FLOAT, true)):
        assert result.dtype is torch.float32
    assert (LONG - true).tolist() == [0.0, 0.0] and (BOOL + true).tolist() == [2.0, 1.0]
    with pytest.raises(RuntimeError, match="Subtraction, the `-` operator, with a bool tensor"):
        BOOL - true


def test_zeta_has_a_derivative_for_its_second_argument():
    q = torch.tensor([0.5, 2.0], requires_grad=True)
    y = torch.special.zeta(2.5, q)
    (first,) = torch.autograd.grad(y.sum(), q, create_graph=True)
    torch.testing.assert_close(first, torch.tensor([-29.05201, -0.3168347]))
    (second,) = torch.autograd.grad(first.sum(), q)
    torch.testing.assert_close(second, torch.tensor([199.59274, 0.4786907]))
    x = torch.tensor([2.5, 3.5], requires_grad=True)
    with pytest.raises(NotImplementedError, match="^the derivative for 'zeta' is not implemented.$"):
        torch.special.zeta(x, 2.0).sum().backward()


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: x.add_("a"), "add_(): argument 'other' (position 1) must be Tensor, not str"),
        (lambda x: x.mul_(), 'mul_() missing 1 required positional arguments: "other"'),
        (lambda x: x.mul(), 'mul() missing 1 required positional arguments: "other"'),
        (lambda x: x.mul_(2, foo=1), "mul_() got an unexpected keyword argument 'foo'"),
        (lambda x: x.atan2_(x, 1), "atan2_() takes 1 positional argument but 2 were given"),
        (lambda x: x.atan2(x, 1), "atan2() takes 1 positional argument but 2 were given"),
        (lambda x: x.logit_(0.1, 2), "logit_() takes from 0 to 1 positional arguments but 2 were given"),
        (lambda x: x.sigmoid_(1), "TensorBase.sigmoid_() takes no arguments (1 given)"),
        (lambda x: x.exp(1, 2), "TensorBase.exp() takes no arguments (2 given)"),
        (lambda x: x.cumsum_("a"), "cumsum_(): argument 'dim' (position 1) must be int, not str"),
        (lambda x: FUNCTIONS["cumsum"](x, None), "cumsum(): argument 'dim' (position 2) must be int, not NoneType"),
        (lambda x: x.polygamma_("a"), "polygamma_(): argument 'n' (position 1) must be int, not str"),
    ],
)
def test_messages_about_arguments_name_the_form_that_was_called(call, message):
    with pytest.raises(TypeError) as raised:
        call(torch.ones(2))
    assert str(raised.value) == message


@pytest.mark.parametrize("form", [lambda x, i: torch.addcdiv(x, i, i), lambda x, i: x.addcdiv_(i, i == 1)])
def test_addcdiv_refuses_a_quotient_of_integers(form):
    with pytest.raises(RuntimeError, match="^Integer division with addcdiv is no longer supported"):
        form(torch.ones(2), torch.tensor([1, 2]))
    assert torch.addcdiv(torch.ones(2), torch.tensor([1, 2]), torch.tensor([1.0, 2.0])).tolist() == [2.0, 2.0]
