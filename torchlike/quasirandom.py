"""torch.quasirandom: Sobol' sequences, which fill the unit cube more evenly than random numbers."""

from __future__ import annotations

import os
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import numpy as np

from . import ops
from ._core.dtypes import get_default_dtype, int64
from ._core.tensor import Tensor
from .ops.creation.generators import Generator

if TYPE_CHECKING:
    from ._core.annotations import Dtype


__all__ = ["SobolEngine"]


@cache
def _direction_numbers() -> tuple[np.ndarray, np.ndarray]:
    """Joe and Kuo's primitive polynomials and first direction numbers, which SciPy brings along as a file."""
    scipy = find_spec("scipy")
    assert scipy is not None and scipy.submodule_search_locations is not None  # jaxlib needs it
    path = os.path.join(scipy.submodule_search_locations[0], "stats", "_sobol_direction_numbers.npz")
    with np.load(path) as file:
        return file["poly"], file["vinit"]


def _directions(dimension: int, bits: int) -> np.ndarray:
    """The direction numbers (dimension, bits) as integers below ``2**bits``, by the recurrence of each polynomial."""
    polynomials, first = (a[:dimension] for a in _direction_numbers())
    numbers = np.ones((dimension, bits), np.int64)
    degrees = np.frexp(polynomials.astype(np.float64))[1] - 1
    for degree in np.unique(degrees[degrees > 0]):
        rows = np.flatnonzero(degrees == degree)  # all dimensions with polynomials of this degree at once
        numbers[rows, :degree] = first[rows, :degree]
        for bit in range(degree, bits):
            new = numbers[rows, bit - degree] ^ (numbers[rows, bit - degree] << degree)
            for term in range(1, degree):
                present = polynomials[rows] >> (degree - term) & 1
                new = new ^ present * (numbers[rows, bit - term] << term)
            numbers[rows, bit] = new
    return numbers << np.arange(bits)[::-1]


def _parity(numbers: np.ndarray) -> np.ndarray:
    """Whether the number of ones in the binary form is odd."""
    for shift in (32, 16, 8, 4, 2, 1):
        numbers = numbers ^ numbers >> shift
    return numbers & 1


class SobolEngine:
    """A Sobol' sequence of points in the unit cube.

    Point ``n`` is the exclusive or of the direction numbers that the Gray code of ``n`` names, divided by ``2**30``.

    Args:
        dimension: of the points, at most ``MAXDIM``.
        scramble: multiply the direction numbers by random triangular matrices of bits and shift the points (Owen's scrambling).
        seed: of the scrambling; None: the default generator draws.

    Raises:
        ValueError: a dimension that is not supported.

    >>> torch.quasirandom.SobolEngine(2).draw(3)
    tensor([[0.0000, 0.0000],
            [0.5000, 0.5000],
            [0.7500, 0.2500]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.quasirandom.SobolEngine.html
    """

    MAXBIT = 30
    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= self.MAXDIM:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {self.MAXDIM}]")
        self.seed = seed
        self.scramble = scramble
        self.dimension = dimension
        directions = _directions(dimension, self.MAXBIT)
        shift = np.zeros(dimension, np.int64)
        if scramble:
            directions, shift = self._scrambled(directions)
        self.sobolstate = ops.tensor(directions)
        self.shift = ops.tensor(shift)
        self._directions, self._shift = directions, shift
        self.reset()

    def _scrambled(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The direction numbers and the shift after random changes, in the order in which PyTorch draws them."""
        options: dict[str, Any] = {} if self.seed is None else {"generator": Generator().manual_seed(self.seed)}
        bits = self.MAXBIT
        shift = ops.randint(2, (self.dimension, bits), **options).numpy() @ (1 << np.arange(bits))
        matrices = np.tril(ops.randint(2, (self.dimension, bits, bits), **options).numpy())
        matrices[:, np.arange(bits), np.arange(bits)] = 1
        rows = matrices @ (1 << np.arange(bits)[::-1])  # each row of bits as a number
        changed = _parity(rows[:, None, :] & directions[:, :, None])  # (dimension, direction, bit of the result)
        return changed @ (1 << np.arange(bits)[::-1]), shift

    def draw(self, n: int = 1, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next ``n`` points, of shape (n, dimension).

        Args:
            out: a tensor to hold them.
            dtype: of the result; None: the default dtype.
        """
        dtype = get_default_dtype() if dtype is None else dtype
        if n < 1:
            raise RuntimeError(f"Trying to create tensor with negative dimension {n - 1}: [{n - 1}, {self.dimension}]")
        points = self._points(n)
        result = ops.tensor(points, dtype=dtype) / 2**self.MAXBIT
        if out is None:
            return result
        out.resize_(result.shape).copy_(result)
        return out

    def _points(self, n: int) -> np.ndarray:
        """The next points as integers. The first point of the sequence is the shift itself."""
        steps = np.arange(max(self.num_generated, 1), self.num_generated + n)
        lowest = np.frexp((steps & -steps).astype(np.float64))[1] - 1  # the number of zeros at the end of each
        moves = np.concatenate([self._last[None], self._directions.T[lowest]])
        points = np.bitwise_xor.accumulate(moves, axis=0)
        if self.num_generated:
            points = points[1:]
        self._last = points[-1]
        self.num_generated += n
        return points

    @property
    def quasi(self) -> Tensor:
        """The point drawn last, as integers below ``2**30``."""
        return ops.tensor(self._last, dtype=int64)

    def draw_base2(self, m: int, out: Tensor | None = None, dtype: Dtype | None = None) -> Tensor:
        """The next ``2**m`` points.

        Raises:
            ValueError: the number of all points drawn would not be a power of 2.
        """
        n = 2**m
        total = self.num_generated + n
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(n=n, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins the sequence again."""
        self._last = self._shift.copy()
        self.num_generated = 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Skips ``n`` points."""
        code = (self.num_generated + n - 1) ^ (self.num_generated + n - 1) >> 1 if self.num_generated + n else 0
        places = [bit for bit in range(self.MAXBIT) if code >> bit & 1]
        self._last = np.bitwise_xor.reduce(self._directions[:, places], axis=1, initial=0) ^ self._shift
        self.num_generated += n
        return self

    def __repr__(self) -> str:
        fields = [f"dimension={self.dimension}"]
        if self.scramble:
            fields.append("scramble=True")
        if self.seed is not None:
            fields.append(f"seed={self.seed}")
        return f"{self.__class__.__name__}({', '.join(fields)})"
