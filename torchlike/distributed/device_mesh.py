"""DeviceMesh: processes, or the devices of one process, laid out in a grid. Its rows and columns are groups."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax
import numpy as np

from .._core import devices
from .._core.tensor import Tensor
from ..ops.creation.filled import zeros
from .distributed_c10d import ProcessGroup, get_rank, get_world_size, is_initialized, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


_active: list[DeviceMesh] = []


class Grid(NamedTuple):
    """The devices of one process as a mesh of JAX, and the axes of that mesh which this grid uses."""

    mesh: jax.sharding.Mesh
    axes: tuple[str, ...]

    @staticmethod
    def of(device_type: str, numbers: np.ndarray, names: tuple[str, ...]) -> Grid:
        available = devices.devices_of(device_type)
        return Grid(
            jax.sharding.Mesh(np.array([available[n] for n in numbers.flat]).reshape(numbers.shape), names), names
        )

    def along(self, dimensions: list[int]) -> Grid:
        """Returns the grid of some of its axes."""
        return Grid(self.mesh, tuple(self.axes[n] for n in dimensions))


class DeviceMesh:
    """A grid of processes with a name for each dimension. If there is one process, a grid of its devices.

    Args:
        device_type: the type without a number, such as "cpu" or "cuda".
        mesh: the numbers of the processes, or of the devices.
        mesh_dim_names: the names of the dimensions.

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.DeviceMesh
    """

    def __init__(
        self,
        device_type: str,
        mesh: object,
        *,
        mesh_dim_names: tuple[str, ...] | None = None,
        _groups: list[ProcessGroup | None] | None = None,
        _grid: Grid | None = None,
    ) -> None:
        from .._core import dtypes
        from ..ops.creation.from_data import as_tensor

        self.mesh: Tensor = (mesh if isinstance(mesh, Tensor) else as_tensor(mesh)).to(dtypes.int32)  # pyright: ignore[reportAttributeAccessIssue]
        size = get_world_size() if is_initialized() else 1
        alone = size == 1
        if alone and self.mesh.numel() > 1:
            size = len(devices.devices_of(device_type))
        if self.mesh.numel() > size:
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {size}, but found {self.mesh.numel()} ranks!"
            )
        self.device_type = device_type
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._ranks = np.array(self.mesh.tolist(), np.int64).reshape(self.shape)
        self._groups: list[ProcessGroup | None] = []
        self._grid = _grid
        self._root: DeviceMesh = self  # the mesh of which this is a slice, and the dimensions
        self._root_dims: tuple[int, ...] = tuple(range(self.ndim))
        if alone and _grid is None:
            names = self.mesh_dim_names or tuple(f"dim_{number}" for number in range(self.ndim))
            self._grid = Grid.of(device_type, self._ranks, names)
        if _groups is not None:
            self._groups = _groups
        elif is_initialized() and (not alone or self._ranks.size == 1):
            self._groups = [_group_along(self._ranks, dimension) for dimension in range(self.ndim)]

    @staticmethod
    def from_group(
        group: Any, device_type: str, mesh: object = None, *, mesh_dim_names: tuple[str, ...] | None = None
    ) -> DeviceMesh:
        """Makes the mesh of a group, or of several groups, one for each dimension."""
        if not isinstance(group, list):
            return DeviceMesh(device_type, list(group.ranks), mesh_dim_names=mesh_dim_names, _groups=[group])
        if mesh is None:
            if any(axis_group.size() > 1 for axis_group in group):
                raise ValueError("Must pass mesh if passing multiple ProcessGroups")
            mesh = zeros(*[1] * len(group))
        return DeviceMesh(device_type, mesh, mesh_dim_names=mesh_dim_names, _groups=list(group))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.mesh.shape)

    @property
    def ndim(self) -> int:
        return self.mesh.dim()

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of processes, in all or along a dimension."""
        return math.prod(self.shape) if mesh_dim is None else self.shape[mesh_dim]

    def get_rank(self) -> int:
        """This process's number in the world."""
        return get_rank() if is_initialized() else 0

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """This process's number along a dimension."""
        dimension, coordinate = self._dimension(mesh_dim), self.get_coordinate()
        if coordinate is None:
            raise RuntimeError("this process is not in the mesh")
        return coordinate[dimension]

    def get_coordinate(self) -> tuple[int, ...] | None:
        """This process's coordinates in the mesh; None if it is not in it."""
        places = np.argwhere(self._ranks == self.get_rank())
        return tuple(map(int, places[0])) if len(places) else None

    def get_group(self, mesh_dim: int | str | None = None) -> ProcessGroup:
        """Returns the group of this process along a dimension. A mesh of several dimensions requires the name of one."""
        number = self._dimension(mesh_dim)
        if not self._groups and self._ranks.size > 1:
            raise NotImplementedError("torchlike does not support process groups of the devices of one process yet")
        if not self._groups:
            raise RuntimeError("DeviceMesh process groups not initialized!")
        group = self._groups[number]
        if group is None:
            raise RuntimeError("this process is not in the mesh")
        return group

    def get_all_groups(self) -> list[ProcessGroup]:
        """The groups of this process, one for each dimension."""
        return [self.get_group(number) for number in range(self.ndim)]

    def _dimension(self, dimension: int | str | None) -> int:
        if dimension is None:
            if self.ndim > 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions",
                    "Optional kwarg `mesh_dim` needs to be specified when device_mesh.ndim > 1.",
                    "If you want to get the list of all the ProcessGroups in the DeviceMesh,please use `get_all_groups()` instead.",
                )
            return 0
        return self._named((dimension,))[0] if isinstance(dimension, str) else dimension

    def _named(self, names: tuple[str, ...]) -> list[int]:
        known_names = list(self.mesh_dim_names or ())
        if any(name not in known_names for name in names):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Valid mesh_dim_names are {known_names}.")
        return [known_names.index(name) for name in names]

    def __getitem__(self, mesh_dim_names: str | tuple[str, ...]) -> DeviceMesh:
        if self.mesh_dim_names is None:
            raise RuntimeError("Cannot slice a DeviceMesh without mesh_dim_names!")
        names = (mesh_dim_names,) if isinstance(mesh_dim_names, str) else tuple(mesh_dim_names)
        dimensions = self._named(names)
        if dimensions != sorted(set(dimensions)):
            raise KeyError(f"Invalid mesh_dim_names {names} specified. Mesh dim indices should be in ascending order.")
        here = self.get_coordinate() or (0,) * self.ndim
        part = self._ranks[tuple(slice(None) if n in dimensions else here[n] for n in range(self.ndim))]
        groups = [self._groups[n] for n in dimensions] if self._groups else None
        grid = None if self._grid is None else self._grid.along(dimensions)
        sliced = DeviceMesh(self.device_type, part.tolist(), mesh_dim_names=names, _groups=groups, _grid=grid)
        sliced._root, sliced._root_dims = self._root, tuple(self._root_dims[n] for n in dimensions)
        return sliced

    def joined_with(self, other: DeviceMesh) -> DeviceMesh:
        """The slice of the root mesh that has the dimensions of this mesh, and then those of the other one.

        Raises:
            ValueError: they are not slices of one mesh.
        """
        root = self._root
        dims = [*self._root_dims, *other._root_dims]
        if root is not other._root or root is self or dims != sorted(set(dims)) or root.mesh_dim_names is None:
            raise ValueError(
                "FSDP requires the DP and model parallel TP/EP mesh to have the same parent mesh but got: \n"
                f"DP's global mesh: {root}\nTP/EP's global mesh: {other._root}"
            )
        return root[tuple(root.mesh_dim_names[n] for n in dims)]

    @property
    def over_processes(self) -> bool:
        """Whether this is a mesh of several processes, and not of the devices of one."""
        return self._grid is None

    @property
    def grid(self) -> Grid:
        """The devices behind the mesh.

        Raises:
            NotImplementedError: the mesh is one of several processes.
        """
        if self._grid is None:
            raise NotImplementedError("torchlike does not support tensors that are spread over several processes yet")
        return self._grid

    @staticmethod
    def current() -> DeviceMesh:
        """The mesh of the innermost ``with`` statement.

        Raises:
            RuntimeError: no ``with`` statement is active.
        """
        if not _active:
            raise RuntimeError("No device mesh is currently active!")
        return _active[-1]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (self.device_type, self._ranks.tolist(), self.mesh_dim_names) == (
            other.device_type,
            other._ranks.tolist(),
            other.mesh_dim_names,
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.shape, self.mesh_dim_names))

    def __enter__(self) -> DeviceMesh:
        _active.append(self)
        return self

    def __exit__(self, *exc: object) -> None:
        _active.pop()

    def __repr__(self) -> str:
        shape = self.shape
        if self.mesh_dim_names is not None:
            shape = (
                "(" + ", ".join(f"{name}={size}" for name, size in zip(self.mesh_dim_names, shape, strict=True)) + ")"
            )
        if self._ranks.size == 1:
            strides: tuple[Any, ...] = ((),) * self.ndim
        else:
            strides = tuple(
                () if n == 1 else int(np.take(self._ranks, 1, axis).flat[0] - self._ranks.flat[0])
                for axis, n in enumerate(self.shape)
            )
        return f"DeviceMesh({shape}, '{self.device_type}', stride={strides})"


def init_device_mesh(
    device_type: str, mesh_shape: tuple[int, ...], *, mesh_dim_names: tuple[str, ...] | None = None, **options: object
) -> DeviceMesh:
    """Makes a grid of all processes.

    Raises:
        RuntimeError: the grid is larger than the number of processes, names are repeated or their number is wrong, or the device type
            has a number.

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.device_mesh.init_device_mesh
    """
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                "Each mesh_dim_name must be unique.", f"Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_shape) != len(mesh_dim_names):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length!",
                f"Found len(mesh_dim_names): {len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}.",
            )
    if not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. ",
            "If you maintained a 'torch.device' object, it's recommended to pass in 'device.type'.",
        )
    ranks = np.arange(math.prod(mesh_shape)).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks.tolist(), mesh_dim_names=mesh_dim_names)


def _group_along(ranks: np.ndarray, dimension: int) -> ProcessGroup | None:
    """This process's group along a dimension. All processes make all groups, in the same order."""
    own_group = None
    for line in np.moveaxis(ranks, dimension, -1).reshape(-1, ranks.shape[dimension]).tolist():
        group = new_group(line)
        own_group = group if isinstance(group, ProcessGroup) else own_group
    return own_group
