"""How the pieces of a tensor lie on the devices of a mesh, dimension by dimension of the mesh."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Partial", "Placement", "Replicate", "Shard"]


class Placement:
    """The base class of placements."""

    def is_shard(self, dim: int | None = None) -> bool:
        """Whether each device holds a piece, along ``dim`` if that is given."""
        return isinstance(self, Shard) and dim in (None, self.dim)

    def is_replicate(self) -> bool:
        """Whether each device holds all of it."""
        return isinstance(self, Replicate)

    def is_partial(self, reduce_op: str | None = None) -> bool:
        """Whether the devices hold terms that are not combined yet, by ``reduce_op`` if that is given."""
        return isinstance(self, Partial) and reduce_op in (None, self.reduce_op)


@dataclass(frozen=True)
class Shard(Placement):
    """Each device holds a piece along one dimension of the tensor.

    >>> from torchlike.distributed.tensor import Shard
    >>> Shard(0), str(Shard(0)), Shard(0).is_shard(1)
    (Shard(dim=0), 'S(0)', False)

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html
    """

    dim: int

    def __str__(self) -> str:
        return f"S({self.dim})"


@dataclass(frozen=True)
class Replicate(Placement):
    """Each device holds all of the tensor."""

    def __str__(self) -> str:
        return "R"


@dataclass(frozen=True, repr=False)
class Partial(Placement):
    """Each device holds one term of the tensor; the tensor is their sum, or their reduction by ``reduce_op``."""

    reduce_op: str = "sum"

    def __repr__(self) -> str:
        return f"Partial({self.reduce_op})"

    def __str__(self) -> str:
        return f"P({self.reduce_op})"


@dataclass(frozen=True, repr=False)
class _StridedShard(Placement):
    """A piece along a dimension that another dimension of the mesh, which comes later, has cut into ``split_factor`` parts before."""

    dim: int
    split_factor: int

    def __repr__(self) -> str:
        return f"_StridedShard(dim={self.dim}, sf={self.split_factor})"

    def __str__(self) -> str:
        return f"_S({self.dim}, {self.split_factor})"
