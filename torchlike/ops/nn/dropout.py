"""Dropout: elements, or whole channels, set to 0 at random."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.meta import on_meta
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ...dispatch.options import memory_order
from ...dispatch.register import Category, Form, Indices, Promote, Saves, composite, op
from ...engine.value import Value
from ...numerics import philox
from ...random_streams import sampling
from ...random_streams.by_device import default_of, is_drawn_there
from ..creation.drawing import Draw, draw, from_state, kept
from ..creation.filled import rearranged
from ..elementwise import pointwise
from ..shape.reshape import lay_out

# scale * alpha of SELU. Its negative, SELU's limit on the left, replaces what alpha dropout drops.
SATURATION = 1.7580993408473766


def _shape_of_mask(input: Tensor, channels: bool) -> tuple[int, ...]:
    shape = tuple(input.shape)
    if channels:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        return shape[:2] + (1,) * (len(shape) - 2)
    return shape


def _drawn(law: Draw, input: Tensor, q: float, channels: bool) -> Tensor:
    """What ``law`` draws for the elements (or channels) of which a share ``q`` is kept, in the order of the input's memory."""
    shape, dtype, placement = _shape_of_mask(input, channels), input.dtype.numpy, input._aval.placement
    order = None if channels else memory_order(input)
    if order is None:
        return draw(law, None, shape, dtype, placement, q)
    return rearranged(draw(law, None, tuple(shape[d] for d in order), dtype, placement, q), order)


def _on(array: np.ndarray, input: Tensor) -> Tensor:
    # NumPy makes a scalar of the result of two arrays without dimensions, which JAX takes for a Python number.
    return from_value(Value.on_host(np.asarray(array), input._aval.placement))


def _check(p: float) -> None:
    if not 0 <= p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {p}")


def _drop(input: Tensor, p: float, train: bool, channels: bool) -> Tensor:
    _check(p)
    if p == 0 or not train or not input.numel():
        return input
    if p == 1:
        return pointwise.mul(input, _on(np.zeros((), input.dtype.numpy), input))
    if is_drawn_there(input._aval.placement) and not modes.vmaps and input.dtype.category >= dtypes.FLOAT:
        return _drop_there(input, p, _shape_of_mask(input, channels))
    if on_meta(input):  # nothing is drawn, and one number has the shape of every mask
        return pointwise.mul(input, _on(np.ones((), input.dtype.numpy), input))
    return lay_out(pointwise.mul(input, _drawn(kept, input, 1 - p, channels)), input)


# ---- on an accelerator


def _drop_there(input: Tensor, p: float, shape: tuple[int, ...]) -> Tensor:
    placement = input._aval.placement
    return from_state(default_of(placement), placement, lambda state: native_dropout(input, state, 1 - p, shape))


@op(
    name="_dropout",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="NativeDropoutBackward0",
    saves=Saves.NOTHING,
    constant=("state",),
    constant_results=(1,),
    samples=[],
)
def native_dropout(input: Array, state: Indices, q: float, shape: tuple[int, ...]) -> tuple[Array, Array]:
    """Each element times 0, or with probability ``q`` times 1 / q; and the generator's next state.

    The derivative reads the state and computes the mask again, so no mask is kept.
    """
    kept = philox.unit(philox.words(state, shape)[0]) < np.float32(q)
    wide = np.float32 if input.dtype.itemsize < 4 else np.finfo(input.dtype).dtype
    factor = jnp.where(kept, wide(1 / q), wide(0)) if wide is np.float32 else jnp.where(kept, 1 / q, 0.0).astype(wide)
    scaled = input.astype(np.float32) * factor if input.dtype.itemsize < 4 else input * factor
    return scaled.astype(input.dtype), philox.advanced(state)


@composite(forms=Form.FUNCTION)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """In training each element becomes 0 with probability ``p``, else it is divided by ``1 - p``.

    >>> torch.dropout(torch.ones(2), 0.5, train=False)
    tensor([1., 1.])

    Source: Srivastava et al., "Dropout: a simple way to prevent neural networks from overfitting" (2014).
    """
    return _drop(input, p, train, channels=False)


@composite(forms=Form.FUNCTION)
def feature_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As ``dropout``, for whole channels of (N, C, ...)."""
    return _drop(input, p, train, channels=True)


def _saturated(input: Tensor, p: float, train: bool, channels: bool) -> Tensor:
    _check(p)
    if p == 0 or not train or not input.numel():
        return input
    if p == 1:
        return pointwise.mul(input, _on(np.zeros((), input.dtype.numpy), input))
    a = 1 / math.sqrt((SATURATION**2 * p + 1) * (1 - p))
    if on_meta(input):
        return pointwise.mul(input, _on(np.ones((), input.dtype.numpy), input))
    mask = _drawn(sampling.bernoulli, input, 1 - p, channels)
    if is_drawn_there(input._aval.placement) or modes.vmaps:
        shift = pointwise.add(pointwise.mul(pointwise.sub(mask, 1), SATURATION * a), SATURATION * a * p)
        return pointwise.add(pointwise.mul(input, pointwise.mul(mask, a)), shift)
    noise = mask._array()
    kind = noise.dtype.type
    shift = ((noise - kind(1)) * kind(SATURATION * a) + kind(SATURATION * a * p)).astype(noise.dtype)
    return pointwise.add(pointwise.mul(input, _on((noise * kind(a)).astype(noise.dtype), input)), _on(shift, input))


@composite(forms=Form.FUNCTION)
def alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout that keeps mean and variance after SELU: dropped elements take its saturation value.

    Source: Klambauer et al., "Self-normalizing neural networks" (2017).
    """
    return _saturated(input, p, train, channels=False)


@composite(forms=Form.FUNCTION)
def feature_alpha_dropout(input: Tensor, p: float, train: bool) -> Tensor:
    """As ``alpha_dropout``, for whole channels of (N, C, ...)."""
    return _saturated(input, p, train, channels=True)


def needs_probability(p: float) -> None:
    """The check of the functional forms."""
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")
