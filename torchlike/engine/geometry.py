"""The sizes of a convolution: all that a function which computes it or its gradients needs to know besides the arrays."""

from __future__ import annotations

from math import prod
from typing import NamedTuple


class Geometry(NamedTuple):
    """``y = x * w``: the cross-correlation of images ``x`` (N, C, ...) and kernels ``w`` (O, C / groups, ...).

    ``result`` names the array that is computed, from the other two in the order x, w, y: "y" is the convolution itself. The product
    of ``y`` with its cotangent is linear in each of the three, so "x" and "w" are the gradients, and the derivative of each of the
    three is again one of them. ``before``: the padding at the lower end.
    """

    result: str
    x: tuple[int, ...]
    w: tuple[int, ...]
    y: tuple[int, ...]
    stride: tuple[int, ...]
    before: tuple[int, ...]
    dilation: tuple[int, ...]
    groups: int

    @property
    def operands(self) -> tuple[str, str]:
        first, second = (name for name in "xwy" if name != self.result)
        return first, second

    def shape(self, name: str) -> tuple[int, ...]:
        return {"x": self.x, "w": self.w, "y": self.y}[name]

    @property
    def after(self) -> tuple[int, ...]:
        """The padding at the upper end with which the sizes are exact. It is negative where the last elements of ``x`` are not met."""
        sizes = zip(self.x[2:], self.w[2:], self.y[2:], self.stride, self.before, self.dilation, strict=True)
        return tuple((m - 1) * s + d * (k - 1) + 1 - n - p for n, k, m, s, p, d in sizes)

    @property
    def products(self) -> int:
        """The number of multiplications and additions."""
        return prod(self.w) * prod((self.y[0], *self.y[2:]))
