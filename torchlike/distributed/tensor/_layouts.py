"""Converts between PyTorch's placements of a tensor on a mesh and the engine's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax

from ..._core import devices
from ..._core.tensor import Tensor
from ...engine.aval import Meshed, Placement as Home
from ..device_mesh import DeviceMesh, Grid
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["is_on_mesh", "mesh_of", "normalized", "placements_of", "plain_home", "where"]


def is_on_mesh(tensor: object) -> bool:
    """Whether this is a tensor that lies on a mesh."""
    return isinstance(tensor, Tensor) and isinstance(tensor._aval.placement, Meshed)


def normalized(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> tuple[Placement, ...]:
    """Returns the placements with non-negative dimensions, after a check that there is one for each dimension of the mesh.

    Raises:
        ValueError: their number is wrong. IndexError: the tensor does not have such a dimension.
    """
    if placements is None:
        return (Replicate(),) * mesh.ndim
    if len(placements) != mesh.ndim:
        raise ValueError(
            f"`placements` must have the same length as `device_mesh.ndim`! Found placements length: {len(placements)}, and "
            f"device_mesh.ndim: {mesh.ndim}."
        )
    return tuple(_from_front(placement, ndim) for placement in placements)


def _from_front(placement: Placement, ndim: int) -> Placement:
    if not isinstance(placement, Shard):
        return placement
    if not -ndim <= placement.dim < ndim:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-max(ndim, 1)}, {max(ndim, 1) - 1}], but got {placement.dim})"
        )
    return Shard(placement.dim % ndim)


def where(mesh: DeviceMesh, placements: Sequence[Placement], before: Meshed | None = None) -> Meshed:
    """Returns the engine's placement for normalized placements.

    Args:
        before: how the tensor lies along the other axes of the mesh. Its pieces are cut further.
    """
    grid = mesh.grid
    cuts: dict[int, list[str]] = {}
    if before is not None and before.spec is not None:
        for dim, entry in enumerate(before.spec):
            axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
            cuts[dim] = [axis for axis in axes if axis not in grid.axes]
    for axis, placement in zip(grid.axes, placements, strict=True):
        if isinstance(placement, Partial):
            raise NotImplementedError(f"torchlike does not support tensors with the placement {placement!r} yet")
        if isinstance(placement, Shard):
            cuts.setdefault(placement.dim, []).append(axis)
    entries = [tuple(cuts.get(dim, ())) or None for dim in range(max(cuts, default=-1) + 1)]
    return Meshed(grid.mesh, jax.sharding.PartitionSpec(*entries))


def mesh_of(placement: Meshed) -> DeviceMesh:
    """The mesh with all its axes."""
    mesh = placement.mesh
    all_devices = devices.devices_of(type_of := devices.of_placement(placement).type)
    ids = [[known_device.id for known_device in all_devices].index(device.id) for device in mesh.devices.flat]
    names = tuple(map(str, mesh.axis_names))
    dim_names = None if names == tuple(f"dim_{n}" for n in range(len(names))) else names
    numbers = _nested(ids, mesh.devices.shape)
    return DeviceMesh(type_of, numbers, mesh_dim_names=dim_names, _grid=Grid(mesh, names))


def _nested(numbers: list[int], shape: tuple[int, ...]) -> Any:
    if len(shape) == 1:
        return numbers
    size = len(numbers) // shape[0]
    return [_nested(numbers[n * size : (n + 1) * size], shape[1:]) for n in range(shape[0])]


def placements_of(tensor: Tensor) -> tuple[Placement, ...]:
    """Returns the placement of a tensor along each dimension of its whole mesh. It runs pending operations, since XLA chooses layouts."""
    value = tensor._value()
    placement: Any = value.aval.placement
    if placement.spec is None:
        value.finish()
        placement = value.aval.placement
    cuts = {}
    for dim, entry in enumerate(placement.spec or ()):
        for axis in entry if isinstance(entry, tuple) else (entry,):
            cuts[axis] = Shard(dim)
    return tuple(cuts.get(axis, Replicate()) for axis in placement.mesh.axis_names)


def plain_home(placement: Meshed) -> Home:
    """Returns the device to which a tensor moves when it leaves its mesh: the first one."""
    return Home(placement.platform, 0)
