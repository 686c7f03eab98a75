"""How a tensor is spread over processes: which elements of the whole each process keeps."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

from ..device_mesh import DeviceMesh
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["Spec", "of_gradient"]


class Spec(NamedTuple):
    """The mesh, the placement along each of its dimensions, and the shape of the whole.

    A piece is stored with zeros at its end where the whole does not divide, so that all processes run the same programs.
    """

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: tuple[int, ...]

    def cut(self) -> list[tuple[int, int]]:
        """The dimensions of the tensor that are cut, each with the dimension of the mesh, in the order of cutting."""
        plain = [(placement.dim, n) for n, placement in enumerate(self.placements) if isinstance(placement, Shard)]
        later = [(each.dim, n) for n, each in enumerate(self.placements) if isinstance(each, _StridedShard)]
        return plain + later

    def partial(self) -> list[int]:
        """The dimensions of the mesh along which processes have terms that are not combined yet."""
        return [n for n, placement in enumerate(self.placements) if isinstance(placement, Partial)]

    def checked(self) -> Spec:
        """The same, if it is supported.

        Raises:
            NotImplementedError: a dimension that is cut twice and does not divide.
        """
        dims = [dim for dim, _ in self.cut()]
        for dim in set(dims):
            if dims.count(dim) > 1 and self.shape[dim] % self.parts(dim):
                raise NotImplementedError(
                    "torchlike does not support tensors over several processes of which two dimensions of the mesh cut the same dimension "
                    f"into unequal parts yet: {self.shape[dim]} into {self.parts(dim)}"
                )
        return self

    def parts(self, dim: int) -> int:
        """Into how many pieces a dimension is cut."""
        return prod(self.mesh.size(n) for cut, n in self.cut() if cut == dim)

    def stored(self, dim: int) -> int:
        """The length of the piece that a process keeps along a dimension."""
        return -(-self.shape[dim] // self.parts(dim))

    def begin(self, dim: int) -> int:
        """Where this process's piece begins along a dimension."""
        begin, length = 0, self.shape[dim]
        for cut, n in self.cut():
            if cut == dim:
                length = -(-length // self.mesh.size(n))
                begin += length * self.mesh.get_local_rank(n)
        return begin

    def own(self, dim: int) -> int:
        """The length of this process's piece without the zeros."""
        return max(0, min(self.stored(dim), self.shape[dim] - self.begin(dim)))

    def local_shape(self) -> tuple[int, ...]:
        """The shape of this process's piece without the zeros."""
        return tuple(self.own(dim) for dim in range(len(self.shape)))

    def stored_shape(self) -> tuple[int, ...]:
        """The shape of what each process keeps."""
        return tuple(self.stored(dim) for dim in range(len(self.shape)))

    def even(self) -> bool:
        """Whether all pieces have the same shape."""
        return all(self.shape[dim] % self.parts(dim) == 0 for dim, _ in self.cut())

    def replaced(self, placements: Sequence[Placement]) -> Spec:
        """The same tensor with other placements."""
        return Spec(self.mesh, tuple(placements), self.shape)


def of_gradient(spec: Spec, terms: frozenset[int] = frozenset()) -> Spec:
    """How the gradient of a process's piece is spread: like the piece, but it is whole where the piece is a term.

    Args:
        terms: the dimensions of the mesh along which processes have terms of the gradient of what each of them has.
    """
    return spec.replaced(
        [
            Partial() if n in terms else Replicate() if isinstance(placement, Partial) else placement
            for n, placement in enumerate(spec.placements)
        ]
    )
