"""fully_shard over several processes: each keeps a piece of every parameter, and computes with its own part of the batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from .._units import Owner, RowLayout, Unit
from ..device_mesh import DeviceMesh
from ..tensor._pieces import PieceOfDTensor, as_parameter, distributed, local_of, wrapped
from ..tensor._specs import Spec
from ..tensor.placement_types import Placement, Replicate, Shard, _StridedShard
from ._policies import MixedPrecisionPolicy

__all__ = ["ProcessUnits"]


class _RowUnit(Unit):
    """Parameters of one dtype, of each of which this process keeps a piece as a DTensor."""

    drops_unused = True

    def __init__(
        self,
        owners: list[list[tuple[Owner, str]]],
        leaves: list[Any],
        dims: list[int],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
    ) -> None:
        group = mesh.get_group(mesh.ndim - 1)
        # What a parameter is while the module computes: a DTensor over the other dimensions of the mesh, or a plain tensor.
        self.spread = [_without(leaf._spec, mesh.ndim) for leaf in leaves]
        shapes = [
            tuple(leaf.shape) if spec is None else spec.stored_shape()
            for leaf, spec in zip(leaves, self.spread, strict=True)
        ]
        layout = RowLayout(tuple(shapes), tuple(dims), group.size())
        floats = leaves[0].is_floating_point()
        super().__init__(
            owners,
            [leaf.requires_grad for leaf in leaves],
            group,
            mesh.get_group(0) if mesh.ndim == 2 else None,
            layout,
            leaves[0].dtype,
            policy.param_dtype if floats else None,
            policy.reduce_dtype if floats else None,
        )
        self.leaves = leaves

    def current(self) -> list[Tensor]:
        return [local_of(leaf) for leaf in self.leaves]

    def put(self, wholes: Sequence[Tensor]) -> None:
        pairs = zip(wholes, self.spread, strict=True)
        super().put([whole if spec is None else wrapped(whole, spec) for whole, spec in pairs])

    def put_back(self) -> None:
        super().put(self.leaves)

    def split_alone(self, pieces: Sequence[Tensor]) -> list[Tensor]:
        return [piece.clone() for piece in pieces]


def _without(spec: Spec, dims: int) -> Spec | None:
    """How a parameter is spread over the dimensions of its mesh that come after the first ones; None if there are none."""
    names = spec.mesh.mesh_dim_names
    if spec.mesh.ndim == dims or names is None:
        return None
    return Spec(spec.mesh[names[dims:]], spec.placements[dims:], spec.shape)


class ProcessUnits:
    """The parameters of a module to which fully_shard was applied.

    Args:
        owners: the modules that have them, with their names.
        mesh: the processes; the last dimension is the one over which parameters are cut, a first of two counts copies.
        wish: returns the placement along which a parameter is cut; None: the first dimension.
    """

    def __init__(
        self,
        owners: list[tuple[Owner, str, Any]],
        mesh: DeviceMesh,
        policy: MixedPrecisionPolicy,
        wish: Callable[[Any], Shard | None] | None,
    ) -> None:
        places: dict[int, list[tuple[Owner, str]]] = {}
        parameters = {id(parameter): parameter for _, _, parameter in owners}
        for owner, name, parameter in owners:
            places.setdefault(id(parameter), []).append((owner, name))
        self.leaves: list[Any] = []
        by_dtype: dict[object, list[tuple[list[tuple[Owner, str]], Any, int]]] = {}
        for key, parameter in parameters.items():
            dim, leaf = _spread(parameter, mesh, None if wish is None else wish(parameter))
            self.leaves.append(leaf)
            by_dtype.setdefault(parameter.dtype, []).append((places[key], leaf, dim))
            for owner, name in places[key]:
                owner._parameters[name] = leaf
        self.units = [
            _RowUnit(
                [each[0] for each in of_it], [each[1] for each in of_it], [each[2] for each in of_it], mesh, policy
            )
            for of_it in by_dtype.values()
        ]

    def gathered(self, reshard: bool) -> AbstractContextManager[object]:
        """A context in which the modules have whole parameters, through which gradients flow."""
        stack = ExitStack()
        for unit in self.units:
            stack.enter_context(unit.gathered(reshard))
        return stack

    def unshard(self) -> None:
        """Gives the modules whole parameters until ``reshard`` is called."""
        for unit in self.units:
            unit.put(unit.gather(unit.current()))

    def reshard(self) -> None:
        """Takes the whole parameters away."""
        for unit in self.units:
            unit.put_back()

    def synchronise(self, flag: bool) -> None:
        """Whether backward passes exchange gradients, or sum them up for a later one that does."""
        for unit in self.units:
            unit.synchronised = flag


def _spread(parameter: Any, mesh: DeviceMesh, wish: Shard | None) -> tuple[int, Any]:
    """The dimension along which a parameter is cut, and the DTensor of which this process keeps its piece."""
    placement: Placement = Shard(0) if wish is None else wish
    if not parameter.dim():
        raise ValueError(
            "fully_shard doesn't support scalar parameters. Change it to a 1D tensor with numel equal to 1."
        )
    assert isinstance(placement, Shard)
    dim = placement.dim % parameter.dim()
    placements = (*[Replicate()] * (mesh.ndim - 1), Shard(dim))
    if isinstance(parameter, PieceOfDTensor):
        return dim, _spread_further(parameter, mesh, placements, dim)
    return dim, as_parameter(distributed(parameter, mesh, placements, None), parameter.requires_grad)


def _spread_further(parameter: PieceOfDTensor, mesh: DeviceMesh, placements: tuple[Placement, ...], dim: int) -> Any:
    """The DTensor of a parameter that is spread over another dimension of the root mesh already: its pieces are cut."""
    before = parameter._spec
    if not before.even():
        raise NotImplementedError(
            "torchlike does not support fully_shard of DTensors with pieces of several shapes over several processes yet"
        )
    parts = before.parts(dim)
    if parts > 1:
        placements = (*placements[:-1], _StridedShard(dim, parts))
    spec = Spec(mesh.joined_with(before.mesh), (*placements, *before.placements), before.shape).checked()
    with no_grad():
        piece = distributed(local_of(parameter).detach(), mesh, (*placements[:-1], Shard(dim)), None)
    leaf = wrapped(local_of(piece), spec)
    return as_parameter(leaf, parameter.requires_grad)
