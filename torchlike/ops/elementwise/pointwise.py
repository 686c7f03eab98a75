"""Element-wise arithmetic, rounding, and choice between elements."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.size import tensor_meta
from ..._core.tensor import Tensor
from ...dispatch.lowering import check_broadcast
from ...dispatch.out_dtypes import FOUND, words
from ...dispatch.register import (
    Autocast,
    Category,
    Form,
    Indices,
    Number,
    Operand,
    Promote,
    Sample,
    Saves,
    Validation,
    alias,
    composite,
    op,
)
from ...engine.aval import Aval
from ...numerics import complex_c99 as _c99
from ...numerics.denormals import greater, less
from ...numerics.exact_math import exact_quotient
from ...numerics.half_precision import in_float32

ONE = Sample(shapes=((3, 4),))
PAIR = Sample(shapes=((3, 4), (3, 4)))
BROADCAST = Sample(shapes=((3, 1, 4), (5, 1)))
SCALARS = Sample(shapes=((), ()))
EMPTY = Sample(shapes=((0, 3), (3,)))
NUMBER = Sample(shapes=((3, 4),), args=(2,))
FINITE_PAIRS = Sample(
    values=([-1.0, -0.0, 0.0, 1.0, 5.5, -5.5, float("nan")], [-1.0, 2.0, -2.0, float("nan"), 2.0, 2.0, 2.0]),
    dtypes=("float32",),
    gradient=False,
)
NONZERO = Sample(shapes=((3, 4), (3, 1)), low=1.0, high=5.0)
EDGES = Sample(
    values=([-float("inf"), -2.5, -1.0, -0.0, 0.0, 0.5, 1.5, 2.5, float("inf"), float("nan")],),
    dtypes=("float32", "float64"),
    gradient=False,
)
EDGE_PAIRS = Sample(
    values=([-float("inf"), -1.0, -0.0, 0.0, 1.0, 1.0, float("nan")], [1.0, -1.0, 0.0, -0.0, float("inf"), float("nan"), 2.0]),
    dtypes=("float32",),
    gradient=False,
)  # fmt: skip


def _is_bool(operand: object) -> bool:
    """Whether an operand is a bool tensor or Python's True or False, which PyTorch refuses in subtractions alike."""
    return operand is dtypes.bool_ or getattr(operand, "kind", type(operand)) is bool


def no_bool_subtraction(input: Tensor, other: object, alpha: object) -> None:
    left, right = _is_bool(input), _is_bool(other)
    if left and right:
        raise RuntimeError(
            "Subtraction, the `-` operator, with two bool tensors is not supported. Use the `^` or `logical_xor()` operator "
            "instead."
        )
    if left or right:
        raise RuntimeError(
            "Subtraction, the `-` operator, with a bool tensor is not supported. If you are trying to invert a mask, use the `~` "
            "or `logical_not()` operator instead."
        )


def _factor(alpha: object, array: Array) -> Array | None:
    """The ``alpha=`` of additions in the dtype of what it multiplies; None for 1. With PyTorch's words for one that does not fit."""
    if isinstance(alpha, int) and not isinstance(alpha, bool) and alpha == 1:
        return None
    kind = jnp.asarray(alpha).dtype.kind
    if kind == "b" and array.dtype.kind != "b":
        raise RuntimeError("Boolean alpha only supported for Boolean results.")
    if kind in "fc" and array.dtype.kind in "iub":
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    if kind == "c" and array.dtype.kind != "c":
        raise RuntimeError("For non-complex input tensors, argument alpha must not be a complex number.")
    return jnp.asarray(alpha, array.dtype)


@in_float32
def _plus(x: Array, y: Array, alpha: Array | None) -> Array:
    return x + y if alpha is None else x + alpha * y


@in_float32
def _minus(x: Array, y: Array, alpha: Array | None) -> Array:
    return x - y if alpha is None else x - alpha * y


@op(
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    must_fit=("alpha",),
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER, Sample(shapes=((3,), (3,)), kwargs={"alpha": 2}), EDGE_PAIRS],
)
def add(input: Operand, other: Operand, *, alpha: Number = 1) -> Array:
    """``input + alpha * other``, element by element.

    >>> torch.add(torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0]), alpha=10)
    tensor([31., 42.])
    """
    return _plus(input, other, _factor(alpha, other))


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    validation=Validation(call=no_bool_subtraction),
    must_fit=("alpha",),
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER, Sample(shapes=((3,), (3,)), kwargs={"alpha": 2})],
)
def sub(input: Operand, other: Operand, *, alpha: Number = 1) -> Array:
    """``input - alpha * other``, element by element.

    >>> torch.tensor([5, 6]) - 1
    tensor([4, 5])
    """
    return _minus(input, other, _factor(alpha, other))


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.FUNCTION,
    saves=Saves.NOTHING,
    validation=Validation(call=no_bool_subtraction),
    backward=lambda input, other, alpha: "RsubBackward0" if is_tensor(other) else "RsubBackward1",
    must_fit=("alpha",),
    samples=[PAIR, NUMBER],
)
def rsub(input: Array, other: Operand, alpha: Number = 1) -> Array:
    """``other - alpha * input``, element by element."""
    return _minus(other, input, _factor(alpha, input))


def is_tensor(arg: object) -> bool:
    return not isinstance(arg, (bool, int, float, complex)) and not hasattr(arg, "kind")


@op(
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    keep_float32=("other",),
    samples=[PAIR, BROADCAST, SCALARS, EMPTY, NUMBER, EDGE_PAIRS],
)
def mul(input: Operand, other: Operand) -> Array:
    """``input * other``, element by element; bool tensors are and-ed.

    >>> torch.tensor([1.5, 2.0]) * 4
    tensor([6., 8.])
    """
    # A number beside a tensor of a half type arrives in float32 (``keep_float32``): PyTorch's kernel multiplies in float32 and
    # rounds once.
    return (jnp.multiply if input.dtype == other.dtype else in_float32(jnp.multiply))(input, other)


def one_tensor(name: str) -> Any:
    """A check that some argument is a tensor, for functions that take a number on either side."""

    def check(*args: object) -> None:
        if not any(isinstance(a, dtypes.dtype) for a in args):
            raise TypeError(
                f"{name}() received an invalid combination of arguments - got ({', '.join(type(a).__name__ for a in args)}), but "
                "expected a Tensor for one of them"
            )

    return check


# ---- signs


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.UNARY,
    saves=Saves.NOTHING,
    refuse=lambda name, dtype: (
        "Negation, the `-` operator, on a bool tensor is not supported. If you are trying to invert a mask, use the `~` or "
        "`logical_not()` operator instead."
    ),
    samples=[ONE, EDGES],
    validation=Validation(out=FOUND),
)
def neg(input: Array) -> Array:
    """``-input``, element by element."""
    return -input


@composite(forms=Form.FUNCTION | Form.METHOD)
def positive(input: Tensor) -> Tensor:
    """The tensor itself; RuntimeError for bool tensors."""
    if input.dtype is dtypes.bool_:
        raise RuntimeError("The `+` operator, on a bool tensor is not supported.")
    return input


def _validate_abs_(self: Tensor) -> None:
    if self.dtype.category == dtypes.COMPLEX:
        raise RuntimeError("In-place abs is not supported for complex tensors.")


@op(
    promote=Promote.COMPLEX_TO_FLOAT,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.UNARY,
    refuse="abs_cpu",
    zero_second=True,
    validation=Validation(out=FOUND, inplace=_validate_abs_),
    samples=[ONE, EDGES],
)
def abs(input: Array) -> Array:
    """The absolute value, element by element; the derivative at 0 is 0.

    >>> torch.abs(torch.tensor([-1, 2]))
    tensor([1, 2])
    """
    return _c99.magnitude(input) if input.dtype.kind == "c" else _abs(input)


@jax.custom_jvp
def _abs(x: Array) -> Array:
    return jnp.abs(x)


@_abs.defjvp
def _abs_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # JAX's own derivative at 0 is 1, PyTorch's is 0.
    (x,), (dx,) = primals, tangents
    return _abs(x), dx * _sign(x)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    saves=Saves.NOTHING,
    refuse=lambda name, dtype: NotImplementedError(
        "Unlike NumPy, torch.sign is not intended to support complex numbers. Please use torch.sgn instead."
    ),
    samples=[ONE, EDGES],
    validation=Validation(out=FOUND),
)
def sign(input: Array) -> Array:
    """-1, 0 or 1, element by element; 0 for NaN."""
    return _sign(input)


def _sign(input: Array) -> Array:
    if input.dtype.kind == "b":
        return input
    # 0 for NaN, which is neither; ``jnp.sign`` would give NaN.
    return greater(input, 0).astype(input.dtype) - less(input, 0).astype(input.dtype)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    samples=[ONE],
    validation=Validation(out=FOUND),
)
def sgn(input: Array) -> Array:
    """``input / abs(input)``, and 0 where that is 0: the sign of real, the direction of complex numbers."""
    if input.dtype.kind != "c":
        return _sign(input)
    return _c99.sign(input)


@op(
    promote=Promote.ALWAYS_BOOL,
    accepts=Category.REAL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable=False,
    refuse=lambda name, dtype: NotImplementedError("signbit is not implemented for complex tensors."),
    samples=[ONE, EDGES],
    validation=Validation(out=words("signbit does not support non-boolean outputs.")),
)
def signbit(input: Array) -> Array:
    """Whether the sign bit is set: for negative elements and for -0.0."""
    return (
        jnp.signbit(input)
        if input.dtype.kind not in "biu"
        else input < 0
        if input.dtype.kind == "i"
        else input != input
    )


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.ELEMENTWISE,
    refuse="copysign_cpu",
    zero_second=True,
    backward=lambda input, other: "CopysignBackward0" if is_tensor(other) else "CopysignBackward1",
    samples=[PAIR, NUMBER, EDGE_PAIRS],
)
def copysign(input: Array, other: Operand) -> Array:
    """The magnitude of ``input`` with the sign of ``other``, element by element."""
    return _copysign(*jnp.broadcast_arrays(input, lax.stop_gradient(other)))


@jax.custom_jvp
def _copysign(x: Array, sign: Array) -> Array:
    return jnp.copysign(x, sign)


@_copysign.defjvp
def _copysign_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, sign), (dx, _) = primals, tangents
    # PyTorch's derivative: the result divided by the input, and 0 at 0.
    result = _copysign(x, sign)
    return result, jnp.where(x == 0, 0, result / jnp.where(x == 0, 1, x)) * dx


# ---- rounding


def _rounding(name: str) -> dict[str, Any]:
    def refuse(_: str, dtype: Dtype) -> Exception:
        if dtype.is_complex:
            return NotImplementedError(f"{name} is not supported for complex inputs")
        return NotImplementedError(f"\"{name}_vml_cpu\" not implemented for '{dtype.scalar_name}'")

    return {
        "promote": Promote.DEFAULT,
        "accepts": Category.INTEGER | Category.FLOAT,
        "forms": Form.UNARY,
        "saves": Saves.NOTHING,
        "samples": [ONE, EDGES],
        "refuse": refuse,
    }


def _whole(fn: Any, input: Array) -> Array:
    return input if input.dtype.kind in "iu" else fn(input)


@op(**_rounding("ceil"), validation=Validation(out=FOUND))
def ceil(input: Array) -> Array:
    """The smallest whole number not below each element."""
    return _whole(jnp.ceil, input)


@op(**_rounding("floor"), validation=Validation(out=FOUND))
def floor(input: Array) -> Array:
    """The largest whole number not above each element."""
    return _whole(jnp.floor, input)


@op(**_rounding("trunc"), validation=Validation(out=FOUND))
def trunc(input: Array) -> Array:
    """Each element without its fraction."""
    return _whole(jnp.trunc, input)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.UNARY,
    saves=Saves.NOTHING,
    refuse="round_vml_cpu",
    backward=lambda input, decimals: "RoundBackward0" if decimals == 0 else "RoundBackward1",
    samples=[ONE, EDGES, Sample(shapes=((3, 4),), kwargs={"decimals": 1}, dtypes=("float32",))],
    validation=Validation(out=FOUND),
)
def round(input: Array, *, decimals: int = 0) -> Array:
    """The nearest whole number, the even one of two; or rounded to so many decimal places.

    >>> torch.round(torch.tensor([0.5, 1.5, -2.3])), torch.round(torch.tensor([0.1234]), decimals=2)
    (tensor([ 0.,  2., -2.]), tensor([0.1200]))
    """
    nearest = jax.lax.RoundingMethod.TO_NEAREST_EVEN
    if input.dtype.kind in "iu":
        if decimals != 0:
            raise RuntimeError(f"round_decimals: not implemented for '{input.dtype.name}'")
        return input
    if decimals == 0:
        return lax.round(input, nearest)
    # As in PyTorch the scale is a positive power of ten, which is exact up to 10 ** 22 in float64; a negative one never is.
    scale = jnp.asarray(10.0 ** (decimals if decimals > 0 else -decimals), input.dtype)
    if decimals > 0:
        return exact_quotient(lax.round(input * scale, nearest), scale)
    return lax.round(exact_quotient(input, scale), nearest) * scale


@op(
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.UNARY,
    saves=Saves.NOTHING,
    refuse="frac_cpu",
    samples=[ONE, EDGES],
    validation=Validation(out=FOUND),
)
def frac(input: Array) -> Array:
    """The fraction of each element, with its sign: ``input - trunc(input)``."""
    return input - jnp.trunc(input)


# ---- mixtures


def _check_mixture(input: Any, end: Any, weight: Any) -> None:
    """Raises unless the tensors have one dtype; only a weight without dimensions may have another one, and is promoted."""
    own_dtype = tensor_meta(input).dtype
    for name, argument in (("end", end), ("weight", weight)):
        if isinstance(argument, Aval) and (argument.shape or name == "end"):
            dtype = tensor_meta(argument).dtype
            if dtype is not own_dtype:
                raise RuntimeError(
                    f"expected dtype {dtypes.C_NAMES[own_dtype.name]} for `{name}` but got dtype {dtypes.C_NAMES[dtype.name]}"
                )
    if isinstance(weight, Aval) and weight.shape and own_dtype.category < dtypes.FLOAT:
        raise NotImplementedError(f"\"lerp_kernel_tensor\" not implemented for '{own_dtype.scalar_name}'")


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INEXACT,
    forms=Form.ELEMENTWISE,
    validation=Validation(shapes=_check_mixture),
    keep_float32=("weight",),
    follow=("weight",),
    refuse="lerp_kernel_scalar",
    backward=lambda input, end, weight: "LerpBackward1" if is_tensor(weight) else "LerpBackward0",
    samples=[
        Sample(shapes=((3, 4), (3, 4)), args=(0.3,)),
        Sample(shapes=((3, 4), (4,)), args=(0.8,)),
        Sample(shapes=((3, 4), (3, 4), (3, 1))),
    ],
)
@in_float32
def lerp(input: Array, end: Array, weight: Operand) -> Array:
    """``input + weight * (end - input)``, element by element."""
    # From the nearer end, so that weight 1 gives ``end`` exactly.
    step = end - input
    return jnp.where(jnp.abs(weight) < 0.5, input + weight * step, end - step * (1 - weight))


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.ELEMENTWISE,
    refuse="addcmul_cpu_out",
    samples=[Sample(shapes=((3, 4), (3, 4), (4,))), Sample(shapes=((3,), (3,), (3,)), kwargs={"value": 2})],
    autocast={"cuda": Autocast.PROMOTE},
)
def addcmul(input: Array, tensor1: Operand, tensor2: Operand, *, value: Number = 1) -> Array:
    """``input + value * tensor1 * tensor2``, element by element."""
    return _sum_with_product(input, tensor1, tensor2, value)


@jax.custom_jvp
def _sum_with_product(x: Array, a: Array, b: Array, value: object) -> Array:
    add_product = in_float32(lambda x, a, b: x + jnp.asarray(value, x.dtype) * a * b)
    return add_product(x, a, b)


@_sum_with_product.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # The factor first and rounded, then the other tensor, element by element of the result: PyTorch's steps.
    _, a, b, value = primals
    result = _sum_with_product(*primals)
    dx, da, db = (jnp.broadcast_to(tangent, result.shape) for tangent in tangents[:3])
    times = in_float32(lambda x: x * jnp.asarray(value, x.dtype))
    return result, dx + da * times(b) + db * times(a)


_DIVIDES_INTEGERS = (
    "Integer division with addcdiv is no longer supported, and in a future  release addcdiv will perform a true division of "
    "tensor1 and tensor2. The historic addcdiv behavior can be implemented as (input + value * torch.trunc(tensor1 / "
    "tensor2)).to(input.dtype) for integer inputs and as (input + value * tensor1 / tensor2) for float inputs. The future "
    "addcdiv behavior is just the latter implementation: (input + value * tensor1 / tensor2), for all dtypes."
)


def _not_both_integers(input: Dtype, tensor1: Dtype, tensor2: Dtype, value: object) -> None:
    if tensor1.category < dtypes.FLOAT and tensor2.category < dtypes.FLOAT:
        raise RuntimeError(_DIVIDES_INTEGERS)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INEXACT,
    forms=Form.ELEMENTWISE,
    refuse=lambda name, dtype: _DIVIDES_INTEGERS,
    validation=Validation(call=_not_both_integers),
    samples=[
        Sample(shapes=((3, 4), (3, 4), (4,)), low=0.5, high=3.0),
        Sample(shapes=((3,), (3,), (3,)), low=0.5, high=3.0, kwargs={"value": 2}),
    ],
    autocast={"cuda": Autocast.PROMOTE},
)
@in_float32
def addcdiv(input: Array, tensor1: Array, tensor2: Array, *, value: Number = 1) -> Array:
    """``input + value * tensor1 / tensor2``, element by element."""
    return input + exact_quotient(jnp.asarray(value, input.dtype) * tensor1, tensor2)


# ---- selection and repair


@op(
    name="_where",
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    must_fit=("input", "other"),
    saturate=True,
    forms=Form.NONE,
    backward="WhereBackward0",
    samples=[],
    validation=Validation(shapes=lambda *args: check_broadcast([getattr(a, "shape", ()) for a in args])),
)
def select_by(condition: Indices, input: Operand, other: Operand) -> Array:
    """``input`` where the condition holds, else ``other``."""
    if condition.dtype.kind != "b" and condition.dtype != np.uint8:
        raise RuntimeError(
            f"where expected condition to be a boolean tensor, but got a tensor with dtype "
            f"{dtypes.from_numpy_dtype(condition.dtype).scalar_name}"
        )
    return jnp.where(condition.astype(bool), input, other)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.ALL,
    forms=Form.UNARY,
    samples=[
        ONE,
        EDGES,
        Sample(
            values=([float("nan"), float("inf"), -float("inf"), 1.0],),
            args=(0.5, 10.0, -10.0),
            dtypes=("float32",),
            gradient=False,
        ),
    ],
    validation=Validation(out=words("nan_to_num: dtype of out: {out} should be same as input: {result}")),
)
def nan_to_num(
    input: Array, nan: float | None = None, posinf: float | None = None, neginf: float | None = None
) -> Array:
    """NaN replaced by ``nan`` (0), infinities by ``posinf`` and ``neginf`` (the dtype's largest and smallest number)."""
    if input.dtype.kind in "biu":
        return input
    if input.dtype.kind == "c":
        parts = [_finite(part, nan, posinf, neginf) for part in (input.real, input.imag)]
        return lax.complex(*parts)
    return _finite(input, nan, posinf, neginf)


def _finite(x: Array, nan: object, posinf: object, neginf: object) -> Array:
    limits = jnp.finfo(x.dtype)
    x = jnp.where(x != x, jnp.asarray(0 if nan is None else nan, x.dtype), x)
    x = jnp.where(x == np.inf, jnp.asarray(limits.max if posinf is None else posinf, x.dtype), x)
    return jnp.where(x == -np.inf, jnp.asarray(limits.min if neginf is None else neginf, x.dtype), x)


absolute = alias("absolute", abs, without=Form.INPLACE_FUNCTION)
fix = alias("fix", trunc)
multiply = alias("multiply", mul)
negative = alias("negative", neg)
subtract = alias("subtract", sub)
