"""Dropout: elements, or whole channels, set to 0 at random, with PyTorch's CPU streams."""

from __future__ import annotations

import math

import numpy as np

from ..._core.meta import on_meta
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ..._core.vmapped import check_same, drawn
from ...dispatch.options import memory_order
from ...dispatch.register import Form, composite
from ...engine.value import Value
from ...random_streams import rng, sampling
from ..elementwise import pointwise

# scale * alpha of SELU. Its negative, SELU's limit on the left, replaces what alpha dropout drops.
SATURATION = 1.7580993408473766


def _keep_mask(input: Tensor, p: float, channels: bool) -> np.ndarray:
    """1 where an element (or a channel) is kept, else 0, in the input's dtype."""
    check_same()
    if on_meta(input):  # nothing is drawn, and one number has the shape of every mask
        return np.ones((), input.dtype.numpy)
    shape, order = tuple(input.shape), None
    if channels:
        if len(shape) < 2:
            raise RuntimeError("Feature dropout requires at least 2 dimensions in the input")
        shape = shape[:2] + (1,) * (len(shape) - 2)
    else:
        order = memory_order(input)
    if order is None:
        return sampling.bernoulli(rng.current_generator(), shape, input.dtype.numpy, 1 - p)
    mask = sampling.bernoulli(rng.current_generator(), tuple(shape[d] for d in order), input.dtype.numpy, 1 - p)
    return np.ascontiguousarray(mask.transpose(np.argsort(order)))


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
    if modes.vmaps and not channels:

        def draw(generator: rng.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
            return _scaled(sampling.bernoulli(generator, shape, dtype, 1 - p), p)

        noise = drawn(draw, rng.current_generator(), tuple(input.shape), input.dtype.numpy, input._aval.placement)
        return pointwise.mul(input, from_value(noise))
    return pointwise.mul(input, _on(_scaled(_keep_mask(input, p, channels), p), input))


def _scaled(noise: np.ndarray, p: float) -> np.ndarray:
    return (noise / noise.dtype.type(1 - p)).astype(noise.dtype, copy=False)


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
    noise = _keep_mask(input, p, channels)
    kind = noise.dtype.type
    a = 1 / math.sqrt((SATURATION**2 * p + 1) * (1 - p))
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
