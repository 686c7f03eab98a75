"""Draws random numbers for a tensor: on the host for the CPU, as a part of the program for an accelerator."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Hashable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ..._core.vmapped import drawn, examples, levels_of, mapped_at, same_for_all, that_differ
from ...dispatch.register import Category, Form, Indices, Promote, Saves, op
from ...engine.aval import META, Aval, Placement
from ...engine.value import Value
from ...numerics import philox
from ...random_streams import rng, sampling, sampling_integers
from ...random_streams.by_device import generator_for, generator_on_host

Draw = Callable[..., np.ndarray]  # of ``random_streams``: generator, shape, dtype, arguments


def draw(
    kind: Draw, generator: object, shape: tuple[int, ...], dtype: np.dtype, placement: Placement, *args: object
) -> Tensor:
    """Random numbers of this shape and dtype.

    Args:
        kind: the function that draws them on the host.
        generator: the one that a program has given, or None.
        args: of ``kind``.

    Raises:
        What ``kind`` raises, and what ``generator_for`` raises.
    """
    source = generator_for(placement, generator)
    if not isinstance(source, rng.CounterGenerator):
        return from_value(drawn(kind, source, shape, dtype, placement, *args))
    on_device = ON_DEVICE.get(kind)
    plain = type(placement) is Placement and not modes.vmaps and all(isinstance(a, Hashable) for a in args)
    if on_device is None or not plain:
        return from_value(drawn(kind, source.on_host(), shape, dtype, placement, *args))
    _check(kind, dtype, args)
    return from_state(source, placement, lambda state: sampled(state, on_device, shape, dtype, args))


def for_each_example(function: Callable[..., Tensor], *tensors: Tensor) -> Tensor:
    """What a random function makes of tensors. Within ``vmap`` it sees all examples at once, and each gets numbers of its own."""
    if not modes.vmaps:
        return function(*tensors)
    levels, rank, whole = that_differ(), max(tensor.dim() for tensor in tensors), []
    for tensor in tensors:
        if not set(levels_of(tensor._aval)) <= set(levels):
            raise RuntimeError(
                "Vmap does not currently support same randomness with a batched tensor input. Please file an issue with functorch"
            )
        each = from_value(examples(same_for_all(tensor._value(), levels)))
        sizes = tuple(each.shape)
        spread = (*sizes[: len(levels)], *[1] * (rank - tensor.dim()), *sizes[len(levels) :])
        whole.append(each.reshape(spread))  # pyright: ignore[reportAttributeAccessIssue]
    outer, modes.vmaps = modes.vmaps, ()
    try:
        result = function(*whole)
    finally:
        modes.vmaps = outer
    return from_value(mapped_at(levels, result._value()))


def of_all_examples(tensor: Tensor) -> Tensor:
    """The tensor outside of every ``vmap``, without a history: the examples along further dimensions."""
    return from_value(examples(tensor._value()))


def from_state(
    generator: rng.CounterGenerator, placement: Placement, compute: Callable[[Tensor], tuple[Tensor, Tensor]]
) -> Tensor:
    """What ``compute`` makes of the generator's state on the device. It returns the next state as well.

    A program takes the state from the one before it, so nothing is sent to the device unless a program has set the generator.
    """
    with generator.lock:
        now = generator.next()
        kept: Any = generator.kept
        # What is kept may be of another time: ``set_state`` and ``manual_seed`` know nothing of it.
        if kept is None or kept[0] != (now, placement):
            words = np.array([now], "<u8").view("<u4")[0].astype(np.uint32)
            state = from_value(Value.on_host(words, placement))
        else:
            state = kept[1]
        result, following = compute(state)
        generator.kept = ((now[0], generator.get_offset()), placement), following
    return result


def keep(input: Tensor, shape: tuple[int, ...], p: float) -> Tensor:
    """Dropout's factors in the input's dtype: 0 with probability ``p``, else 1 / (1 - p)."""
    placement, dtype = input._aval.placement, input.dtype.numpy
    return draw(kept, None, shape, dtype, placement, 1 - p)


def kept(generator: rng.Generator, shape: tuple[int, ...], dtype: np.dtype, q: float) -> np.ndarray:
    """``keep`` on the host."""
    if not q or dtype not in sampling.FLOATS:
        noise = sampling.bernoulli(generator, shape, dtype, q)
        return np.asarray((noise / noise.dtype.type(q)).astype(dtype, copy=False))
    return sampling.bernoulli(generator, shape, dtype, q, dtype.type(1) / dtype.type(q))


@functools.cache
def _check(kind: Draw, dtype: np.dtype, args: tuple[Hashable, ...]) -> None:
    """Raises what drawing on the host would: the errors depend on nothing but these."""
    kind(rng.Generator().manual_seed(0), (1,), dtype, *args)


# ---- in a program


@op(
    name="_sampled",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    constant=("state",),
    samples=[],
)
def sampled(state: Indices, kind: Any, shape: tuple[int, ...], dtype: Any, args: Any) -> tuple[Array, Array]:
    """Numbers of a law, and the state for the next ones."""
    return kind(philox.words(state, shape), dtype, *args), philox.advanced(state)


HALVES = ("float16", "bfloat16")
TINY = float(np.finfo(np.float64).tiny)


def _units(words: philox.Words, dtype: np.dtype) -> Array:
    """Uniform on [0, 1), with the digits of the dtype or of float32."""
    return philox.unit64(words[0], words[1]) if dtype == np.float64 else philox.unit(words[0])


def _inner(words: philox.Words, dtype: np.dtype) -> Array:
    """Uniform on (0, 1)."""
    return philox.inner64(words[0], words[1]) if dtype == np.float64 else philox.inner(words[0])


def _uniform(words: philox.Words, dtype: np.dtype, low: float = 0.0, high: float = 1.0) -> Array:
    if dtype.kind == "c":
        part = np.finfo(dtype).dtype
        real, imaginary = _units(words, part), _units((words[2], words[3], words[0], words[1]), part)
        return lax.complex(real * (high - low) + low, imaginary * (high - low) + low)
    u = _units(words, dtype)
    u = u if (low, high) == (0, 1) else u * u.dtype.type(high - low) + u.dtype.type(low)
    # Rounding may reach the upper bound, which does not belong to the range.
    out = u.astype(dtype)
    return jnp.where(out >= dtype.type(high), dtype.type(low), out) if high > low else out


def _normal(words: philox.Words, dtype: np.dtype, mean: float = 0.0, std: float = 1.0) -> Array:
    """By Box and Muller's method: a radius and an angle."""
    part = np.finfo(dtype).dtype if dtype.kind == "c" else dtype
    wide = part == np.float64
    u = philox.inner64(words[0], words[1]) if wide else philox.inner(words[0])
    turn = philox.unit64(words[2], words[3]) if wide else philox.unit(words[1])
    radius, angle = jnp.sqrt(-2 * jnp.log(u)), 2 * math.pi * turn
    if dtype.kind == "c":
        std = std / math.sqrt(2)
        return lax.complex(radius * jnp.cos(angle) * std + mean, radius * jnp.sin(angle) * std)
    return (radius * jnp.cos(angle) * std + mean).astype(dtype)


def _log_normal(words: philox.Words, dtype: np.dtype, mean: float = 1.0, std: float = 2.0) -> Array:
    return jnp.exp(_normal(words, _at_least_float32(dtype), mean, std)).astype(dtype)


def _exponential(words: philox.Words, dtype: np.dtype, rate: float = 1.0) -> Array:
    return (-jnp.log(_inner(words, dtype)) / rate).astype(dtype)


def _cauchy(words: philox.Words, dtype: np.dtype, median: float = 0.0, sigma: float = 1.0) -> Array:
    return (median + sigma * jnp.tan(math.pi * (_inner(words, dtype) - 0.5))).astype(dtype)


def _geometric(words: philox.Words, dtype: np.dtype, p: float) -> Array:
    u = _inner(words, dtype)
    trials = jnp.ones_like(u) if p == 1 else jnp.ceil(jnp.log(u) / math.log1p(-p))
    return trials.astype(dtype)


def _bernoulli(words: philox.Words, dtype: np.dtype, p: float = 0.5) -> Array:
    return (philox.unit(words[0]) < np.float32(p)).astype(dtype)


def _keep(words: philox.Words, dtype: np.dtype, q: float) -> Array:
    factor = np.dtype(dtype).type(1) / np.dtype(dtype).type(q)
    return jnp.where(philox.unit(words[0]) < np.float32(q), factor, np.dtype(dtype).type(0)).astype(dtype)


def _random(words: philox.Words, dtype: np.dtype) -> Array:
    return _integers(words, dtype, 0, sampling_integers.largest(dtype) + 1)


def _randint(words: philox.Words, dtype: np.dtype, low: int, high: int | None) -> Array:
    if high is None and low == sampling_integers.LEAST:  # all integers of 64 bits
        return _integers(words, dtype, low, 2**63)
    return _integers(words, dtype, *sampling_integers.bounds(dtype, low, high))


def _integers(words: philox.Words, dtype: np.dtype, low: int, high: int) -> Array:
    """low to high - 1, by the remainder of a word; of two words where the range is large."""
    width = high - low
    if width < 2**28:
        return (low + (words[0] % np.uint32(width)).astype(np.int64)).astype(dtype)
    whole = (words[0].astype(np.uint64) << np.uint64(32)) | words[1].astype(np.uint64)
    part = whole if width == 2**64 else whole % np.uint64(width)
    return (part + np.uint64(low % 2**64)).astype(np.int64).astype(dtype)


def _at_least_float32(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32) if dtype.name in HALVES else dtype


@op(name="_permutation", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, saves=Saves.NOTHING, samples=[])
def permutation(state: Indices, n: int, dtype: Any) -> tuple[Array, Array]:
    """The numbers from 0 to n - 1 in random order, and the state for the next ones."""
    first, second, *_ = philox.words(state, (n,))
    *_, order = lax.sort((first, second, lax.iota(np.int64, n)), num_keys=2)
    return order.astype(dtype), philox.advanced(state)


# How a program draws what these functions draw on the host. What has none is drawn on the host, from the device's seed and offset.
ON_DEVICE: dict[Draw, Callable[..., Array]] = {
    sampling.uniform: _uniform,
    sampling.normal: _normal,
    sampling.scattered_normal: _normal,
    sampling.log_normal: _log_normal,
    sampling.exponential: _exponential,
    sampling.cauchy: _cauchy,
    sampling.geometric: _geometric,
    sampling.bernoulli: _bernoulli,
    sampling_integers.random: _random,
    sampling_integers.randint: _randint,
    kept: _keep,
}


def permuted(n: int, dtype: np.dtype, placement: Placement, generator: object) -> Tensor:
    """The numbers from 0 to n - 1 in random order."""
    source = generator_for(placement, generator)
    if placement is META:
        return from_value(Value.without_data(Aval((n,), dtype, META)))
    if isinstance(source, rng.CounterGenerator) and type(placement) is Placement and not modes.vmaps:
        sampling_integers.check_permutation(dtype, n)
        return from_state(source, placement, lambda state: permutation(state, n, dtype))
    source = generator_on_host(placement, generator)
    return from_value(drawn(_permutations, source, (n,), dtype, placement))


def _permutations(generator: rng.Generator, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """One along the last dimension for each place of the others, of which PyTorch's innermost loop is over the first."""
    orders = [sampling_integers.randperm(generator, shape[-1], dtype) for _ in range(math.prod(shape[:-1]))]
    return np.moveaxis(np.array(orders, dtype).reshape(*shape[-2::-1], shape[-1]).T, 0, -1)
