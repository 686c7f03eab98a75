"""Gamma, Dirichlet, Poisson and binomial samples as NumPy arrays: PyTorch's CPU streams, one number after the other.

How many words of the stream a number takes is random itself (all four reject some), so that the elements are drawn one by one.

Sources: Marsaglia and Tsang, "A simple method for generating gamma variables" (2000); Hörmann, "The transformed rejection method for
generating Poisson random variables" (1993) and "The generation of binomial random variates" (1993).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from .rng import Generator
from .sampling import as_dtype, drawing_in_parts, require_kernel, unit64

__all__ = ["binomial", "dirichlet", "gamma", "poisson"]

_CHUNK = 256
_THIRD = float(np.float32(1 / 3))  # in double precision too


class _Stream:
    """Uniform numbers of 53 bits and normal ones, one at a time; ``close`` leaves the generator where the last one was drawn."""

    def __init__(self, generator: Generator) -> None:
        self.generator = generator
        words, position = generator.stream.save()
        self.start = words.copy(), position
        self.taken = 0
        self.uniform: Callable[[], float] = self._numbers().__next__

    def _numbers(self) -> Iterator[float]:
        for chunk in iter(lambda: unit64(self.generator, _CHUNK).tolist(), None):
            for number in chunk:
                self.taken += 1
                yield number

    def normal(self) -> float:
        """A standard normal number; the second of each pair waits in the generator."""
        generator = self.generator
        if generator.next_normal is not None:
            waiting, generator.next_normal = generator.next_normal, None
            return waiting
        angle = 2 * math.pi * self.uniform()
        radius = math.sqrt(-2 * math.log1p(-self.uniform()))
        generator.next_normal = radius * math.sin(angle)
        return radius * math.cos(angle)

    def close(self) -> None:
        self.generator.stream.load(*self.start)
        self.generator.stream.words64(self.taken)


@drawing_in_parts
def gamma(generator: Generator, shape: tuple[int, ...], dtype: np.dtype, alpha: np.ndarray) -> np.ndarray:
    """Gamma numbers of these shape parameters and rate 1, none below the dtype's smallest normal number."""
    require_kernel(dtype.kind == "f" or dtype.name == "bfloat16", "gamma_cpu", dtype)
    samples = _draw_elementwise(_gamma, generator, shape, alpha)
    return as_dtype(np.maximum(samples, _tiny(dtype)), dtype)


@drawing_in_parts
def dirichlet(generator: Generator, shape: tuple[int, ...], dtype: np.dtype, alpha: np.ndarray) -> np.ndarray:
    """Gamma numbers divided by their sum along the last dimension."""
    require_kernel(dtype.kind == "f" or dtype.name == "bfloat16", "dirichlet", dtype)
    samples = _draw_elementwise(_gamma, generator, shape, alpha)
    with np.errstate(invalid="ignore"):
        parts = as_dtype(samples / samples.sum(-1, keepdims=True), dtype)
    one = np.ones((), dtype)
    return np.clip(parts, np.asarray(_tiny(dtype), dtype), np.nextafter(one, np.zeros((), dtype)))


@drawing_in_parts
def poisson(generator: Generator, shape: tuple[int, ...], dtype: np.dtype, rate: np.ndarray) -> np.ndarray:
    """Poisson counts of these rates.

    Raises:
        RuntimeError: a rate is negative.
    """
    require_kernel(dtype.kind == "f" or dtype.name == "bfloat16", "poisson_cpu", dtype)
    if not (rate.astype(np.float64) >= 0).all():
        raise RuntimeError("invalid Poisson rate, expected rate to be non-negative")
    return as_dtype(_draw_elementwise(_poisson, generator, shape, rate), dtype)


@drawing_in_parts
def binomial(
    generator: Generator, shape: tuple[int, ...], dtype: np.dtype, count: np.ndarray, prob: np.ndarray
) -> np.ndarray:
    """How many of ``count`` trials of probability ``prob`` succeed."""
    require_kernel(dtype.kind == "f" or dtype.name == "bfloat16", "binomial_cpu", dtype)
    return as_dtype(_draw_elementwise(_binomial, generator, shape, count, prob), dtype)


def _draw_elementwise(
    draw: Callable[..., float], generator: Generator, shape: tuple[int, ...], *parameters: np.ndarray
) -> np.ndarray:
    """What ``draw`` gives for each element, in order; parameters broadcast to the shape."""
    columns = [np.broadcast_to(p, shape).astype(np.float64).ravel().tolist() for p in parameters]
    stream = _Stream(generator)
    try:
        return np.array([draw(stream, *row) for row in zip(*columns, strict=True)], np.float64).reshape(shape)
    finally:
        stream.close()


def _tiny(dtype: np.dtype) -> float:
    return float(np.finfo(dtype).tiny) if dtype.kind == "f" else float(np.finfo(np.float32).tiny)


def _gamma(stream: _Stream, alpha: float) -> float:
    if math.isnan(alpha):
        return math.nan
    scale = 1.0
    if alpha < 1:
        if alpha == 0:
            return 0.0
        scale = (1 - stream.uniform()) ** (1 / alpha)
        alpha += 1
    d = alpha - _THIRD
    c = 1 / math.sqrt(9 * d)
    while True:
        x, y = 0.0, 0.0
        while y <= 0:
            x = stream.normal()
            y = 1 + c * x
        v = y * y * y
        u = 1 - stream.uniform()
        square = x * x
        if u < 1 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def _poisson(stream: _Stream, rate: float) -> float:
    if rate == 0:
        return 0.0
    if rate < 10:  # as many factors as it takes to fall below exp(-rate)
        floor, product, count = math.exp(-rate), 1.0, 0
        while True:
            product *= stream.uniform()
            if product <= floor:
                return float(count)
            count += 1
    b = 0.931 + 2.53 * math.sqrt(rate)
    a = -0.059 + 0.02483 * b
    inverse = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = stream.uniform() - 0.5, stream.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + rate + 0.43) if us else -1
        if us >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or (us < 0.013 and v > us):
            continue
        log_ratio = _log(v) + math.log(inverse) - math.log(a / (us * us) + b)
        if log_ratio <= -rate + k * math.log(rate) - math.lgamma(k + 1):
            return float(k)


def _log(x: float) -> float:
    return math.log(x) if x else -math.inf


def _binomial(stream: _Stream, count: float, prob: float) -> float:
    if count <= 0 or prob <= 0:
        return 0.0
    if prob >= 1:
        return count
    if math.isnan(prob) or math.isnan(count):
        return math.nan
    if prob > 0.5:
        return count - _at_most_half(stream, count, 1 - prob)
    return _at_most_half(stream, count, prob)


def _at_most_half(stream: _Stream, count: float, prob: float) -> float:
    return (_binomial_by_rejection if count * prob >= 10 else _by_gaps)(stream, count, prob)


def _by_gaps(stream: _Stream, count: float, prob: float) -> float:
    """Counts how many geometric gaps fit into the trials."""
    log_miss, trials = math.log1p(-prob), 0.0
    for successes in range(int(count) + 2):
        u = stream.uniform()
        trials += math.ceil(math.log(u) / log_miss) if u else math.inf
        if trials > count:
            return float(successes)
    return count


def _binomial_by_rejection(stream: _Stream, count: float, prob: float) -> float:
    deviation = math.sqrt(count * prob * (1 - prob))
    b = 1.15 + 2.53 * deviation
    a = -0.0873 + 0.0248 * b + 0.01 * prob
    c = count * prob + 0.5
    quick = 0.92 - 4.2 / b
    odds = prob / (1 - prob)
    alpha = (2.83 + 5.1 / b) * deviation
    m = math.floor((count + 1) * prob)
    while True:
        u, v = stream.uniform() - 0.5, stream.uniform()
        us = 0.5 - abs(u)
        k = math.floor((2 * a / us + b) * u + c) if us else -1
        if us >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or k > count:
            continue
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (count - m + 1)))
            + (count + 1) * math.log((count - m + 1) / (count - k + 1))
            + (k + 0.5) * math.log(odds * (count - k + 1) / (k + 1))
            + (_tail(m) + _tail(count - m) - _tail(k) - _tail(count - k))
        )
        if _log(v * alpha / (a / (us * us) + b)) <= bound:
            return float(k)


def _tail(k: float) -> float:
    """What Stirling's approximation of log(k!) leaves out."""
    square = (k + 1) * (k + 1)
    if k <= 9:
        return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
