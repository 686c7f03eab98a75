"""Element-wise division, true or rounded, and its remainders."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.core import ShapedArray
from jax.extend.core import Primitive

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...dispatch.register import (
    Autocast,
    Category,
    Form,
    Operand,
    Promote,
    Sample,
    Saves,
    Validation,
    ValueCheck,
    alias,
    composite,
    op,
)
from ...engine.aval import Aval
from ...engine.interpreter import runs_undifferentiated
from ...numerics import complex_c99 as _c99
from ...numerics.exact_math import exact_quotient
from ...numerics.half_precision import in_float32
from .pointwise import EDGE_PAIRS, EDGES, FINITE_PAIRS, NONZERO, NUMBER, is_tensor, one_tensor


def _by_zero(dtype: Any, *args: object) -> bool:
    """Whether integers are divided by a tensor: then a zero is looked for. (A number is looked at once.)"""
    return dtype is not None and dtype.kind in "iu"


def _zero_divisor(input: Array, other: Array, *, rounding_mode: object = "floor") -> tuple[Array, Array | int]:
    return (other == 0).any(), 0


def _no_zero(input: object, other: Dtype | float, *args: object) -> None:
    """The same for a number, known before anything runs."""
    if other.__class__ is int and other == 0 and isinstance(input, dtypes.dtype) and input.category == dtypes.INTEGER:
        raise RuntimeError("ZeroDivisionError")


def _division_by_zero(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    return RuntimeError("ZeroDivisionError")


def _rounded(dtype: Dtype, input: object, other: object, rounding_mode: object = None) -> bool:
    return rounding_mode is not None and _by_zero(dtype)


def _wide_by_one(quotient: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    """Divides half-precision numbers in their own dtype, but in float32 by a single number, as PyTorch's kernels do."""
    return lambda a, b: (in_float32(quotient) if b.size == 1 else quotient)(a, b)


def _in_one(name: str, compute: Callable[..., Array]) -> Callable[[Array, Array], Array]:
    """``compute``; where NumPy computes it, one primitive of integers, for which NumPy has a function."""
    primitive = Primitive(name)
    primitive.def_abstract_eval(lambda a, b: ShapedArray(lax.broadcast_shapes(a.shape, b.shape), a.dtype))
    return lambda a, b: (primitive.bind if a.dtype.kind in "iu" and runs_undifferentiated() else compute)(a, b)


_floor_divide = _in_one("torchlike_floor_divide", jnp.floor_divide)


@_wide_by_one
def _floor_quotient(a: Array, b: Array) -> Array:
    """The quotient rounded down, exactly: from the remainder, since ``floor(a / b)`` may be one too high."""
    if a.dtype.kind in "iu":
        return _floor_divide(a, b)
    # ``fmod`` is exact, so ``a - remainder`` is a multiple of ``b`` and its quotient is a whole number up to rounding.
    remainder = jnp.fmod(a, b)
    exact = exact_quotient(a - remainder, b)
    exact = jnp.where((remainder != 0) & ((b < 0) != (remainder < 0)), exact - 1, exact)
    low = jnp.floor(exact)
    nearest = jnp.where(exact - low > 0.5, low + 1, low)
    # A quotient of 0 gets the sign of the true quotient: -0.0 // 4 is -0.0.
    quotient = jnp.where(exact == 0, jnp.copysign(jnp.zeros_like(exact), exact_quotient(a, b)), nearest)
    return jnp.where(b == 0, exact_quotient(a, b), quotient)


@_wide_by_one
def _truncated_quotient(a: Array, b: Array) -> Array:
    """The quotient, rounded to its dtype and then towards zero."""
    return lax.div(*jnp.broadcast_arrays(a, b)) if a.dtype.kind in "iu" else jnp.trunc(exact_quotient(a, b))


def _remainder_of(
    compute: Callable[..., Array], quotient: Callable[[Array, Array], Array]
) -> Callable[[Array, Array], Array]:
    """What ``quotient`` leaves over. JAX's own derivative counts by a quotient of its own, which may be another where it is near a whole
    number: in float32, 0.7 holds 0.1 six times."""

    @jax.custom_jvp
    def rest(a: Array, b: Array) -> Array:
        return in_float32(compute)(a, b)

    @rest.defjvp
    def _(primals: Any, tangents: Any) -> tuple[Array, Array]:
        return rest(*primals), tangents[0] - tangents[1] * quotient(*primals)

    return rest


_remainder = _remainder_of(_in_one("torchlike_remainder", jnp.remainder), _floor_quotient)
_fmod = _remainder_of(jnp.fmod, _truncated_quotient)


def _rounding_promotion(input: object, other: object, rounding_mode: object) -> Promote:
    return Promote.INT_TO_FLOAT if rounding_mode is None else Promote.DEFAULT


def _check_rounding(input: Any, other: Any, rounding_mode: str | None) -> None:
    if rounding_mode not in (None, "floor", "trunc"):
        raise RuntimeError(
            f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
        )
    common = {getattr(d, "category", None) if not isinstance(d, bool) else 0 for d in (input, other)}
    word = rounding_mode
    if word is not None and (
        common == {dtypes.BOOL} or dtypes.COMPLEX in common or any(type(d) is complex for d in (input, other))
    ):
        dtype = input if isinstance(input, dtypes.dtype) else other
        raise NotImplementedError(f"\"div_{word}_cpu\" not implemented for '{dtype.scalar_name}'")


@op(
    promote=_rounding_promotion,
    keep_float32=("other",),
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    validation=Validation(call=_check_rounding),
    check=ValueCheck(_zero_divisor, _division_by_zero, needed=_rounded),
    backward=lambda input, other, rounding_mode: "DivBackward0" if rounding_mode is None else "DivBackward2",
    samples=[
        NONZERO,
        NUMBER,
        Sample(shapes=((3,), (3,)), low=1.0, high=9.0, kwargs={"rounding_mode": "floor"}, dtypes=("float32", "int64")),
        Sample(shapes=((3,), (3,)), low=1.0, high=9.0, kwargs={"rounding_mode": "trunc"}, dtypes=("float32", "int64")),
        Sample(values=([7, -7, 7, -7], [2, 2, -2, -2]), kwargs={"rounding_mode": "floor"}, dtypes=("int64", "float32")),
        Sample(values=([7, -7, 7, -7], [2, 2, -2, -2]), kwargs={"rounding_mode": "trunc"}, dtypes=("int64", "float32")),
        EDGE_PAIRS,
    ],
)
def div(input: Operand, other: Operand, *, rounding_mode: str | None = None) -> Array:
    """``input / other``, element by element.

    Args:
        rounding_mode: None: true division, integers become floats; ``"trunc"``: rounded towards zero, as C divides;
            ``"floor"``: rounded down, as Python's ``//``.

    >>> torch.div(torch.tensor([7, -7]), 2), torch.div(torch.tensor([7, -7]), 2, rounding_mode="trunc")
    (tensor([ 3.5000, -3.5000]), tensor([ 3, -3]))
    """
    if rounding_mode is None:
        return (exact_quotient if input.dtype == other.dtype else in_float32(exact_quotient))(input, other)
    return lax.stop_gradient((_floor_quotient if rounding_mode == "floor" else _truncated_quotient)(input, other))


@composite(forms=Form.ELEMENTWISE)
def true_divide(input: Tensor, other: object) -> Tensor:
    """``input / other``; the same as ``div`` without rounding."""
    return div(input, other)


# Fields of the divisions without a fraction.
_WHOLE: dict[str, Any] = {
    "promote": Promote.DEFAULT,
    "accepts": Category.INTEGER | Category.FLOAT,
    "forms": Form.ELEMENTWISE,
    "check": ValueCheck(_zero_divisor, _division_by_zero, needed=_by_zero),
}


@op(
    **_WHOLE,
    differentiable="aten::floor_divide",
    keep_float32=("other",),
    refuse="div_floor_cpu",
    validation=Validation(call=_no_zero),
    samples=[NONZERO, NUMBER, Sample(values=([7, -7, 7, -7], [2, 2, -2, -2]), dtypes=("int64", "int8", "float32"))],
)
def floor_divide(input: Operand, other: Operand) -> Array:
    """``input / other`` rounded down: Python's ``//``.

    >>> torch.tensor([7, -7]) // 2
    tensor([ 3, -4])
    """
    return _floor_quotient(input, other)


@op(
    **_WHOLE,
    refuse="remainder_cpu",
    validation=Validation(call=lambda *args: (one_tensor("remainder")(*args), _no_zero(*args))),
    backward=lambda input, other: "RemainderBackward1" if is_tensor(other) else "RemainderBackward0",
    samples=[NONZERO, NUMBER, Sample(values=([7, -7, 7, -7], [2, 2, -2, -2]), gradient=False), FINITE_PAIRS],
)
def remainder(input: Operand, other: Operand) -> Array:
    """The rest of the division rounded down, with the sign of ``other``: Python's ``%``.

    >>> torch.tensor([7, -7]) % 4
    tensor([3, 1])
    """
    return _remainder(input, other)


@op(
    **_WHOLE,
    refuse="fmod_cpu",
    validation=Validation(call=_no_zero),
    backward=lambda input, other: "FmodBackward1" if is_tensor(other) else "FmodBackward0",
    samples=[NONZERO, NUMBER, Sample(values=([7, -7, 7, -7], [2, 2, -2, -2]), gradient=False), FINITE_PAIRS],
)
def fmod(input: Array, other: Operand) -> Array:
    """The rest of the division rounded towards zero, with the sign of ``input``: C's ``fmod``."""
    return _fmod(input, other)


@op(
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.ALL,
    forms=Form.UNARY,
    saves=Saves.RESULT,
    samples=[Sample(shapes=((3, 4),), low=0.5, high=3.0), EDGES],
    autocast={"cuda": Autocast.FLOAT32},
)
@in_float32
def reciprocal(input: Array) -> Array:
    """``1 / input``, element by element."""
    if input.dtype.kind == "c":
        return _c99.reciprocal(input)
    return exact_quotient(jnp.ones((), input.dtype), input)


divide = alias("divide", div)
