"""DTensor: a tensor that is spread over the devices of a mesh. One process computes with it as a whole.

Over several processes it is of another kind: see ``_pieces.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any, NoReturn

from ..._core.fields import requires_grad_flag, set_requires_grad
from ..._core.size import Size
from ..._core.sparse import sparse_form
from ..._core.tensor import Tensor, from_value
from ..._core.torch_function import know_plain
from ...dispatch.moving import move, moved_value, put_on_mesh, redistribute as redistributed
from ...engine.aval import Meshed
from ...ops import add, cat, maximum, minimum, mul, narrow
from ..device_mesh import DeviceMesh
from ._layouts import is_on_mesh, mesh_of, normalized, placements_of, plain_home, where
from ._pieces import PieceOfDTensor, distributed, from_piece, replicate_in_processes
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["DTensor", "distribute_module", "distribute_tensor", "replicate_rest"]

_COMBINED_BY = {"sum": add, "avg": add, "product": mul, "min": minimum, "max": maximum}


class _DTensorKind(type):
    """The metaclass of DTensor: an object of it is a tensor that lies on a mesh, whatever made it."""

    def __instancecheck__(cls, instance: object) -> bool:
        return is_on_mesh(instance) or isinstance(instance, PieceOfDTensor)


class DTensor(Tensor, metaclass=_DTensorKind):
    """A tensor that is spread over the devices of a mesh.

    Operations compute with the whole tensor, and ``shape`` is the shape of the whole. XLA divides operations among the devices, and
    exchanges the data that they need from each other. If one operand of an operation lies on a mesh, other operands are copied to each
    device, and the result lies on the mesh too, in a layout that XLA chooses.

    >>> from torchlike.distributed.tensor import DTensor, Shard, distribute_tensor, init_device_mesh
    >>> mesh = init_device_mesh("cpu", (1,))
    >>> x = distribute_tensor(torch.arange(3), mesh, [Shard(0)])
    >>> x
    DTensor(local_tensor=tensor([0, 1, 2]), device_mesh=DeviceMesh((1,), 'cpu', stride=((),)), placements=(Shard(dim=0),))
    >>> isinstance(x * 2, DTensor), (x * 2).full_tensor()
    (True, tensor([0, 2, 4]))

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html
    """

    # Defined below for all tensors that lie on a mesh.
    device_mesh: DeviceMesh
    placements: tuple[Placement, ...]
    to_local: Callable[..., Tensor]
    full_tensor: Callable[..., Tensor]
    redistribute: Callable[..., Tensor]

    def __new__(cls, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedError(
            "torchlike does not support DTensor(...) itself: distribute_tensor and DTensor.from_local make one"
        )

    @staticmethod
    def from_local(
        local_tensor: Any,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        run_check: bool = False,
        shape: Size | None = None,
        stride: tuple[int, ...] | None = None,
        grad_placements: Sequence[Placement] | None = None,
    ) -> Tensor:
        """Makes a tensor from its pieces.

        Args:
            local_tensor: this process's piece. In one process a tensor that is the same on each device, or a list with the tensor of
                each device of a mesh of one dimension.
            placements: how the pieces form the tensor; by default each is a copy of the whole.

        Raises:
            NotImplementedError: one tensor is given where devices have different pieces, which only several processes could know.
        """
        mesh = device_mesh or DeviceMesh.current()
        if (shape is None) != (stride is None):
            raise RuntimeError(
                f"Found shape:{shape}, stride:{stride}.", "Please pass both shape and stride at the same time."
            )
        if mesh.over_processes:
            normal = normalized(placements, mesh, local_tensor.dim())
            return from_piece(local_tensor, mesh, normal, shape, grad_placements)
        if isinstance(local_tensor, (list, tuple)):
            return _from_pieces(local_tensor, mesh, placements)
        normal = normalized(placements, mesh, local_tensor.dim())
        for number, placement in enumerate(normal):
            if not isinstance(placement, Replicate) and mesh.size(number) > 1:
                raise NotImplementedError(
                    f"torchlike does not support DTensor.from_local of one tensor with the placement {placement!r} on {mesh.size(number)} "
                    "devices of one process: pass a list with the tensor of each device, or the whole to distribute_tensor"
                )
        layouts = [Replicate() if isinstance(placement, Partial) else placement for placement in normal]
        return move(local_tensor, where(mesh, layouts))


def _from_pieces(pieces: Sequence[Tensor], mesh: DeviceMesh, placements: Sequence[Placement] | None) -> Tensor:
    if mesh.ndim != 1 or len(pieces) != mesh.size():
        raise ValueError(
            f"expected the tensors of the {mesh.size()} devices of a mesh of one dimension, got {len(pieces)}"
        )
    (placement,) = normalized(placements, mesh, pieces[0].dim())
    if isinstance(placement, Shard):
        return move(cat(list(pieces), placement.dim), where(mesh, [placement]))
    combined = pieces[0]
    if isinstance(placement, Partial):
        combined = reduce(_COMBINED_BY[placement.reduce_op], pieces)
        combined = combined / len(pieces) if placement.reduce_op == "avg" else combined
    return move(combined, where(mesh, [Replicate()]))


# ---- attributes of tensors on a mesh


class _OnMesh:
    """An attribute of tensors that lie on a mesh. Others do not have it."""

    def __init__(self, function: Callable[..., object], is_property: bool) -> None:
        self.function, self.is_property = function, is_property
        self.__doc__ = function.__doc__

    def __get__(self, tensor: object, kind: type) -> Any:
        if tensor is None and issubclass(kind, DTensor):
            return self if self.is_property else self.function
        name = self.function.__name__
        if tensor is None:
            raise AttributeError(f"type object {kind.__name__!r} has no attribute {name!r}", name=name, obj=kind)
        if not is_on_mesh(tensor):
            raise AttributeError(f"{type(tensor).__name__!r} object has no attribute {name!r}", name=name, obj=tensor)
        return self.function(tensor) if self.is_property else self.function.__get__(tensor)


def device_mesh(self: Tensor) -> DeviceMesh:
    """The mesh, with all its dimensions."""
    placement: Any = self._aval.placement
    return mesh_of(placement)


def placements(self: Tensor) -> tuple[Placement, ...]:
    """The placement of the tensor along each dimension of the mesh."""
    return placements_of(self)


def to_local(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """Returns the piece on the first device of the mesh, which is the piece of the first process in PyTorch. Gradients flow back."""
    placement, layout = self._aval.placement, placements_of(self)
    assert isinstance(placement, Meshed)
    sizes = placement.mesh.devices.shape
    piece = self
    for dim in range(self.dim()):
        parts = 1
        for size, dimension in zip(sizes, layout, strict=True):
            parts *= size if dimension == Shard(dim) else 1
        if parts > 1:
            piece = narrow(piece, dim, 0, -(-self.shape[dim] // parts))
    return move(piece, plain_home(placement))


def full_tensor(self: Tensor, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
    """Returns the whole tensor on one device. Gradients flow back."""
    placement = self._aval.placement
    assert isinstance(placement, Meshed)
    return move(self, plain_home(placement))


def redistribute(
    self: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    async_op: bool = False,
    forward_dtype: object = None,
    backward_dtype: object = None,
) -> Tensor:
    """Returns the tensor with other placements. Gradients flow back.

    Raises:
        RuntimeError: no placements, or partial ones. NotImplementedError: another mesh, or other dtypes on the way.
    """
    here = self._aval.placement
    assert isinstance(here, Meshed)
    if placements is None:
        raise RuntimeError("placements is needed for redistribute!")
    mesh = mesh_of(here) if device_mesh is None else device_mesh
    if mesh.grid.mesh != here.mesh:
        raise NotImplementedError("Cross device mesh comm not supported yet!")
    if forward_dtype is not None or backward_dtype is not None:
        raise NotImplementedError("torchlike does not support redistribute(forward_dtype=..., backward_dtype=...) yet")
    normal = normalized(placements, mesh, self.dim())
    for number, target in enumerate(normal):
        if isinstance(target, Partial):
            raise RuntimeError(
                f"Can not redistribute from {placements_of(self)[number]} to {target}, redistributing to Partial is for internal use only!"
            )
    return redistributed(self, where(mesh, normal, here))


@sparse_form("on a mesh")
def _text(self: Tensor) -> str:
    local = to_local(self.detach())  # pyright: ignore[reportAttributeAccessIssue]
    return f"DTensor(local_tensor={local!r}, device_mesh={device_mesh(self)!r}, placements={placements_of(self)!r})"


def _attach() -> None:
    for function in (to_local, full_tensor, redistribute):
        setattr(Tensor, function.__name__, _OnMesh(function, False))
    for function in (device_mesh, placements):
        setattr(Tensor, function.__name__, _OnMesh(function, True))


_attach()
know_plain(DTensor)


# ---- functions that make them


def distribute_tensor(
    tensor: Tensor,
    device_mesh: DeviceMesh | None = None,
    placements: Sequence[Placement] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Tensor:
    """Spreads a tensor over a mesh: a leaf, which requires a gradient if the tensor does.

    Args:
        placements: the placement along each dimension of the mesh. By default each device has the whole tensor.

    Raises:
        RuntimeError: the tensor is not a leaf, or no mesh is given and none is active. ValueError: the number of placements is wrong,
            or it is spread already, in another way. NotImplementedError: a partial placement.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html#torch.distributed.tensor.distribute_tensor
    """
    mesh = device_mesh or DeviceMesh.current()
    if not tensor.is_leaf:
        raise RuntimeError("`distribute_tensor` should be used to distribute leaf tensors! but found non-leaf tensor!")
    normal = normalized(placements, mesh, tensor.dim())
    if isinstance(tensor, DTensor):
        local: Any = tensor
        if local.device_mesh != mesh:
            raise ValueError(
                f"Cannot distribute a DTensor with device mesh {local.device_mesh} to a different device mesh {mesh}."
            )
        if local.placements != normal:
            raise ValueError(
                f"Cannot distribute a DTensor with placements {local.placements} to a different placements {list(normal)}. do you want to "
                "call `redistribute` instead?"
            )
        return tensor
    if mesh.over_processes:
        return distributed(tensor, mesh, normal, src_data_rank)
    result = from_value(moved_value(tensor._value(), where(mesh, normal)))
    set_requires_grad(result, requires_grad_flag(tensor))
    return result


# ---- modules


def distribute_module(
    module: Any,
    device_mesh: DeviceMesh | None = None,
    partition_fn: Callable[[str, Any, DeviceMesh], None] | None = None,
    input_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
    output_fn: Callable[[Any, Any, DeviceMesh], Any] | None = None,
) -> Any:
    """Spreads the parameters and buffers of a module over a mesh, in place. Returns the module.

    Args:
        partition_fn: called with the name of each submodule, the submodule and the mesh; it may distribute parameters. Each device gets a
            copy of those that it does not distribute.
        input_fn: called with the module, its inputs and the mesh before each forward pass; what it returns are the inputs.
        output_fn: the same for the outputs, after the forward pass.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.html#torch.distributed.tensor.distribute_module
    """
    mesh = device_mesh or DeviceMesh.current()
    if partition_fn is not None:
        for name, submodule in module.named_modules():
            partition_fn(name, submodule, mesh)
    replicate_rest(module, mesh)
    if input_fn is not None:
        function = input_fn
        module.register_forward_pre_hook(lambda owner, inputs: function(owner, inputs, mesh))
    if output_fn is not None:
        after = output_fn
        module.register_forward_hook(lambda owner, inputs, outputs: after(owner, outputs, mesh))
    return module


def replicate_rest(module: Any, mesh: DeviceMesh) -> None:
    """Copies the parameters and buffers of a module that lie on one device to each device of a mesh."""
    if mesh.over_processes:
        for owner in module.modules():
            replicate_in_processes(owner, mesh)
        return
    everywhere = where(mesh, (Replicate(),) * mesh.ndim)
    for tensor in [*module.parameters(), *module.buffers()]:
        if not is_on_mesh(tensor):
            put_on_mesh(tensor, everywhere)
