"""Random words for accelerators: Philox4x32-10, a function of a state and of the number of an element.

No element depends on another one. So XLA computes the words where they are used, and computes them again in a backward pass, without
keeping them in memory; and numbers are the same however a program is divided, fused or spread over devices.

Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011), https://doi.org/10.1145/2063384.2063405.
"""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.typing import ArrayLike

ROUNDS = 10
MULTIPLIERS = np.uint32(0xD2511F53), np.uint32(0xCD9E8D57)
# Added to the key in each round: the golden ratio, and the square root of 3 less 1, as fractions of 2³².
WEYL = np.uint32(0x9E3779B9), np.uint32(0xBB67AE85)

Words = tuple[Array, Array, Array, Array]


def philox(state: Array, number: Array, part: ArrayLike = 0) -> Words:
    """Four words of 32 random bits for each element.

    Args:
        state: uint32, (4,): the lower and upper half of the seed, and of the offset in its stream.
        number: uint32: which element. part: the upper half of its number, where there are more than 2³².
    """
    key0, key1 = state[0], state[1]
    x0, x1 = number, jnp.broadcast_to(jnp.asarray(part, np.uint32), number.shape)
    x2, x3 = jnp.broadcast_to(state[2], number.shape), jnp.broadcast_to(state[3], number.shape)
    for turn in range(ROUNDS):
        if turn:
            key0, key1 = key0 + WEYL[0], key1 + WEYL[1]
        high0, low0 = _product(x0, MULTIPLIERS[0])
        high1, low1 = _product(x2, MULTIPLIERS[1])
        x0, x1, x2, x3 = high1 ^ x1 ^ key0, low1, high0 ^ x3 ^ key1, low0
    return x0, x1, x2, x3


def _product(a: Array, b: np.uint32) -> tuple[Array, Array]:
    """The upper and the lower word of a product. By halves of words, since 64-bit integers are not there in every program of JAX's."""
    half, mask = np.uint32(16), np.uint32(0xFFFF)
    a1, a0 = a >> half, a & mask
    b1, b0 = b >> half, b & mask
    low, cross = a0 * b0, a1 * b0
    middle = a0 * b1 + (low >> half) + (cross & mask)
    return a1 * b1 + (cross >> half) + (middle >> half), a * b


def words(state: Array, shape: tuple[int, ...]) -> Words:
    """Four words for each element of an array of this shape, numbered in the order of its memory."""
    count = math.prod(shape)
    number = lax.iota(np.uint32, min(count, 2**32)) if count else jnp.zeros(0, np.uint32)
    if count > 2**32:
        rows = -(-count // 2**32)
        parts = philox(state, jnp.broadcast_to(number, (rows, 2**32)), lax.iota(np.uint32, rows)[:, None])
        return tuple(part.reshape(-1)[:count].reshape(shape) for part in parts)  # pyright: ignore[reportReturnType]
    return tuple(part.reshape(shape) for part in philox(state, number))  # pyright: ignore[reportReturnType]


# So many neighbours in a row share a call in ``halves``.
SHARED = 8


def halves(state: Array, matrix: Array, row: Array, column: Array, width: int) -> Array:
    """16 random bits for each element of a block of matrices, in uint32: eight neighbours in a row share a call.

    For arrays so large that computing a call for each element takes longer than to write and read its words, as XLA would not share it:
    each consumer computes what it reads, element by element. So the words are computed once, which the barrier asks for.

    Args:
        matrix: which of the matrices, (..., 1, 1). row: the numbers of the block's rows, (rows, 1).
        column: the numbers of its columns, (1, columns), which follow each other from a multiple of eight on.
        width: how many columns a whole matrix has.
    """
    groups = np.uint32(-(-width // SHARED))
    group = column[:, ::SHARED].astype(np.uint32) // np.uint32(SHARED)
    part = matrix.astype(np.uint32) * groups + group
    shape = jnp.broadcast_shapes(part.shape, row.shape)
    number = jnp.broadcast_to(row.astype(np.uint32), shape)
    four = lax.optimization_barrier(philox(state, number, part))
    pieces = [piece for word in four for piece in (word & np.uint32(0xFFFF), word >> np.uint32(16))]
    return jnp.stack(pieces, -1).reshape(*shape[:-1], -1)[..., : column.shape[-1]]


def kept_of(q: float) -> int:
    """The number below which ``halves`` lie with a probability of about ``q``."""
    return min(max(round(q * 2**16), 1), 2**16)


def factors(halves: Array, below: int) -> Array:
    """Dropout's factors, float32: 0, or the reciprocal of the probability that ``halves`` lie below this."""
    return jnp.where(halves < np.uint32(below), np.float32(2**16 / below), np.float32(0))


def unit(word: Array) -> Array:
    """Uniform on [0, 1), float32, from 24 bits of a word."""
    return (word >> np.uint32(8)).astype(np.float32) * np.float32(2.0**-24)


def inner(word: Array) -> Array:
    """Uniform on (0, 1), float32, without either end: for logarithms."""
    return ((word >> np.uint32(9)).astype(np.float32) + np.float32(0.5)) * np.float32(2.0**-23)


def unit64(high: Array, low: Array) -> Array:
    """Uniform on [0, 1), float64, from 53 bits of two words."""
    return (high >> np.uint32(5)).astype(np.float64) * 2.0**-27 + (low >> np.uint32(6)).astype(np.float64) * 2.0**-53


def inner64(high: Array, low: Array) -> Array:
    """Uniform on (0, 1), float64."""
    # 52 bits and a half: with 53 the last number would be rounded to 1.
    lower = ((low >> np.uint32(7)).astype(np.float64) + 0.5) * 2.0**-52
    return (high >> np.uint32(5)).astype(np.float64) * 2.0**-27 + lower


def advanced(state: Array, offset: int = 4) -> Array:
    """The state of the next numbers. PyTorch's offsets are multiples of 4, too."""
    low = state[2] + np.uint32(offset)
    carry = (low < np.uint32(offset)).astype(np.uint32)
    return jnp.stack([state[0], state[1], low, state[3] + carry])
