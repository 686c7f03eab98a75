"""Element-wise bounds, and the larger or smaller of two elements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype
from ...dispatch.register import Category, Form, Operand, Promote, Sample, Validation, alias, op
from .pointwise import BROADCAST, EDGE_PAIRS, PAIR, is_tensor

if TYPE_CHECKING:
    from ...engine.aval import Aval


def _bounded(x: Array, low: Array | None, high: Array | None) -> Array:
    # ``where`` rather than ``maximum``: the gradient goes to the input on the border, and NaN stays NaN, without a gradient.
    if low is not None:
        x = jnp.where(x >= low, x, jnp.where(x < low, low, lax.stop_gradient(x + low)))
    if high is not None:
        x = jnp.where(x <= high, x, jnp.where(x > high, high, lax.stop_gradient(x + high)))
    return x


def _refuse_clamp(name: str, dtype: Dtype) -> Exception:
    if dtype.is_complex:
        return NotImplementedError("clamp is not supported for complex types")
    return NotImplementedError("\"clamp_cpu\" not implemented for 'Bool'")


def _one_bound(kernel: str) -> Any:
    """PyTorch runs another kernel for a bound that is a tensor than for a number; the error is that kernel's."""

    def check(input: Any, bound: Any) -> None:
        complex_ = input.is_complex or (isinstance(bound, dtypes.dtype) and bound.is_complex)
        if complex_ and isinstance(bound, dtypes.dtype):
            raise NotImplementedError(f"\"{kernel}\" not implemented for '{input.scalar_name}'")

    return check


def _clamp_name(input: Aval, min: object, max: object) -> str:
    return "ClampBackward0" if any(b is not None and is_tensor(b) for b in (min, max)) else "ClampBackward1"


def _some_bound(input: Dtype, min: object, max: object) -> None:
    if min is None and max is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")


BOUNDS = [
    Sample(shapes=((3, 4),), args=(-0.5, 0.5), dtypes=("float32", "float64", "int64")),
    Sample(shapes=((3, 4),), kwargs={"min": 0}),
    Sample(shapes=((3, 4),), kwargs={"max": 0}),
    Sample(shapes=((3, 4), (3, 4), (4,))),
    Sample(values=([-1.0, 0.0, 0.5, 1.0, 2.0, float("nan")],), args=(0.0, 1.0), dtypes=("float32",), gradient=False),
]


@op(
    promote=Promote.DEFAULT,
    accepts=Category.INTEGER | Category.FLOAT,
    forms=Form.UNARY,
    validation=Validation(call=_some_bound),
    refuse=_refuse_clamp,
    backward=_clamp_name,
    must_fit=("min", "max"),
    samples=BOUNDS,
)
def clamp(input: Array, min: Operand | None = None, max: Operand | None = None) -> Array:
    """Each element moved into the range from ``min`` to ``max``; ``max`` wins where they cross.

    >>> torch.clamp(torch.tensor([-1.0, 0.3, 2.0]), 0, 1)
    tensor([0.0000, 0.3000, 1.0000])
    """
    return _bounded(input, min, max)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.REAL,
    forms=Form.UNARY,
    validation=Validation(call=_one_bound("maximum_cpu")),
    refuse=_refuse_clamp,
    backward=lambda input, min: "ClampMinBackward1" if is_tensor(min) else "ClampMinBackward0",
    must_fit=("min",),
    samples=[PAIR, Sample(shapes=((3, 4),), args=(0,))],
)
def clamp_min(input: Array, min: Operand) -> Array:
    """Each element, but at least ``min``."""
    return _bounded(input, min, None)


@op(
    promote=Promote.DEFAULT,
    accepts=Category.REAL,
    forms=Form.UNARY,
    validation=Validation(call=_one_bound("minimum_cpu")),
    refuse=_refuse_clamp,
    backward=lambda input, max: "ClampMaxBackward1" if is_tensor(max) else "ClampMaxBackward0",
    must_fit=("max",),
    samples=[PAIR, Sample(shapes=((3, 4),), args=(0,))],
)
def clamp_max(input: Array, max: Operand) -> Array:
    """Each element, but at most ``max``."""
    return _bounded(input, None, max)


def _extremum(name: str) -> dict[str, Any]:
    return {
        "promote": Promote.DEFAULT,
        "accepts": Category.REAL,
        "forms": Form.FUNCTION | Form.METHOD | Form.OUT,
        "refuse": lambda _, dtype: f"{name} not implemented for complex tensors.",
        "samples": [PAIR, BROADCAST, EDGE_PAIRS],
    }


@op(**_extremum("maximum"))
def maximum(input: Array, other: Array) -> Array:
    """The larger of both, element by element; NaN if either is. Where they are equal each gets half the gradient.

    >>> torch.maximum(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0]))
    tensor([2., 5.])
    """
    return _maximum(*jnp.broadcast_arrays(input, other))


@op(**_extremum("minimum"))
def minimum(input: Array, other: Array) -> Array:
    """The smaller of both, element by element; NaN if either is. Where they are equal each gets half the gradient.

    >>> torch.minimum(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0]))
    tensor([1., 3.])
    """
    return _minimum(*jnp.broadcast_arrays(input, other))


@jax.custom_jvp
def _maximum(x: Array, y: Array) -> Array:
    return jnp.maximum(x, y)


@_maximum.defjvp
def _maximum_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    return _maximum(x, y), dx * _share(x < y, x == y) + dy * _share(x > y, x == y)


@jax.custom_jvp
def _minimum(x: Array, y: Array) -> Array:
    return jnp.minimum(x, y)


@_minimum.defjvp
def _minimum_jvp(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x, y), (dx, dy) = primals, tangents
    return _minimum(x, y), dx * _share(x > y, x == y) + dy * _share(x < y, x == y)


def _share(not_chosen: Array, tied: Array) -> Array:
    # Where either is NaN neither has lost, and both get the whole gradient.
    return jnp.where(not_chosen, 0.0, jnp.where(tied, 0.5, 1.0))


@op(**_extremum("fmax"))
def fmax(input: Array, other: Array) -> Array:
    """The larger of both, element by element; of a number and NaN the number.

    >>> torch.fmax(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0]))
    tensor([2., 5.])
    """
    # Other than in ``maximum``, the gradient of equal elements goes to ``input`` alone.
    return jnp.where((input >= other) | (other != other), input, other)


@op(**_extremum("fmin"))
def fmin(input: Array, other: Array) -> Array:
    """The smaller of both, element by element; of a number and NaN the number.

    >>> torch.fmin(torch.tensor([1.0, 5.0]), torch.tensor([2.0, 3.0]))
    tensor([1., 3.])
    """
    return jnp.where((input <= other) | (other != other), input, other)


clip = alias("clip", clamp)
