"""Moves tensors from device to device, to meshes of several devices, and from layout to layout on a mesh."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array, lax

from .._core.fields import node_of, requires_grad_flag, storage_of, view_record
from .._core.modes import carries, modes
from .._core.node import Node, node_class
from .._core.sparse import FORMS, is_sparse
from .._core.tensor import Tensor, from_value
from ..engine.aval import CPU, META, Aval, Meshed, Placement
from ..engine.jax_settings import with_64_bits
from ..engine.memory.transfer import put
from ..engine.meshes import lay_out
from ..engine.recorder import hand_over
from ..engine.threads import state
from ..engine.value import NO_DATA, Value, no_data
from .apply import OffMesh, apply, internal_dispatcher

__all__ = ["Hint", "hinted", "move", "moved_value", "on_one_mesh", "put_on_mesh", "redistribute"]


class _Moved:
    """The rule of a node that brings gradients back to the device a tensor came from. Segments run on one, so none records it."""

    name = "ToCopyBackward0"
    used_once = False

    def __init__(self, source: Placement) -> None:
        self.source = source

    def step(self, node: Node, cotangents: dict[int, Any], create: bool) -> list[Any]:
        cotangent = cotangents.get(0)
        if cotangent is None:
            return [None]
        return [move(cotangent, self.source) if create else moved_value(cotangent, self.source)]


# Arrays of so many bytes begin their way to a device at once where the caller does not wait for it. Smaller ones go with the program that
# needs them, which takes less time for each.
SENT_AHEAD = 2**16
INDICES = ("int32", "int64")


def moved_value(value: Value, placement: Placement, ahead: bool = False) -> Value:
    """The value on another device; what is pending for it is run first.

    Args:
        ahead: an array of the host begins its way now, while the device still computes, and not with the program that needs it. Not one
            that may be an index: on the host it is checked when an operation is called with it.
    """
    aval = value.aval
    there = Aval(aval.shape, aval.dtype, placement.decided)
    if placement is META:  # what is pending need not run
        return Value.without_data(there)
    array = value.finish()
    if array is NO_DATA:
        raise no_data()
    if isinstance(array, np.ndarray):
        travels = ahead and placement is not CPU and array.nbytes >= SENT_AHEAD and array.dtype.name not in INDICES
        if travels and not isinstance(placement, Meshed) and not state.by_numpy_alone:
            hand_over()  # the device computes while the array travels
            return Value.over(there, put(array, there.placement))
        return Value.over(there, array)  # it has not left the host yet
    # A copy, because on the CPU the array that NumPy sees would share the memory of the source.
    if placement is CPU:
        return Value.on_host(np.array(value.numpy()))
    if isinstance(aval.placement, Meshed) or isinstance(placement, Meshed) or there.placement.described:
        return Value.over(there, np.array(value.numpy()))  # it goes to the devices with the program that needs it
    return Value.over(there, with_64_bits(jax.device_put)(array, there.placement.sharding))


def move(self: Tensor, placement: Placement, ahead: bool = False) -> Tensor:
    """A copy on another device, ``ahead`` as in `moved_value`. A backward pass moves its gradient back to the device of the original."""
    if is_sparse(self):
        return FORMS["move"](self, placement)
    if isinstance(placement, Meshed) and self._aval.placement.home is placement.home:
        return self if placement in (placement.home, self._aval.placement) else redistribute(self, placement)
    result = from_value(moved_value(self._value(), placement, ahead))
    if carries(self):
        modes.level.put(result, move(modes.level.tangent(self), placement))
    if modes.grad_enabled and requires_grad_flag(self):
        result._set_history(
            node_class(_Moved.name).create(_Moved(self._aval.placement), (self._edge(),), (), (), (result._aval,))
        )
    return result


# ---- meshes


def _laid_out(input: Array, where: Any, before: Any) -> Array:
    @jax.custom_vjp
    def constrained(x: Array) -> Array:
        return lay_out(x if before is None else lay_out(x, before), where)

    # JAX's own derivative would give the gradient the layout of the result. It must have that of the input: see ``pullback.py``.
    constrained.defvjp(lambda x: (constrained(x), None), lambda _, cotangent: (cotangent,))
    return constrained(input)


_REDISTRIBUTE = internal_dispatcher(_laid_out, "redistribute")


def redistribute(tensor: Tensor, where: Meshed, before: Meshed | None = None) -> Tensor:
    """The tensor in another layout on its mesh. XLA exchanges what the devices need of each other.

    Args:
        before: the layout that it has until then, where XLA would choose one. The gradient's layout remains XLA's choice.
    """
    return apply(_REDISTRIBUTE, (tensor, where.fitting(tuple(tensor.shape)), before))


@dataclass(frozen=True)
class Hint:
    """A layout on a mesh in which some dimensions may be left open."""

    mesh: jax.sharding.Mesh
    entries: tuple[Any, ...]


def _constrained(input: Array, hint: Any) -> Array:
    spec = jax.sharding.PartitionSpec(*hint.entries)
    return lax.with_sharding_constraint(input, jax.sharding.NamedSharding(hint.mesh, spec))


_HINT = internal_dispatcher(_constrained, "hinted")


def hinted(tensor: Tensor, hint: Hint) -> Tensor:
    """The tensor in a layout that ``hint`` describes; XLA chooses the layout of the dimensions that the hint leaves open."""
    return apply(_HINT, (tensor, hint))


def put_on_mesh(tensor: Tensor, where: Placement) -> None:
    """Moves a tensor onto a mesh in place: everything that refers to it finds it there. Its elements stay the same."""
    value = tensor._value()
    if view_record(tensor) is not None:
        tensor.data = from_value(moved_value(value, where))
        return
    storage_of(tensor).value = moved_value(value, where)


def on_one_mesh(args: Sequence[object]) -> tuple[Any, ...]:
    """The arguments of an op of which some tensors lie on a mesh: the others are copied to each of its devices.

    A leaf that requires a gradient is moved to the mesh for good, so that its gradients, and the state that an optimizer keeps for it,
    lie on the mesh too.

    Raises:
        RuntimeError: tensors of several meshes.
    """
    tensors = [t for arg in args for t in (arg if isinstance(arg, (list, tuple)) else (arg,)) if isinstance(t, Tensor)]
    homes = list(dict.fromkeys(t._aval.placement.home for t in tensors if isinstance(t._aval.placement, Meshed)))
    if len(homes) > 1:
        raise RuntimeError(
            f"All operands must have the same mesh, but found tensors on the meshes {', '.join(map(repr, homes))}"
        )
    (home,) = homes

    def on_mesh(arg: object) -> Any:
        if isinstance(arg, (list, tuple)) and any(isinstance(element, Tensor) for element in arg):
            return [on_mesh(element) for element in arg]
        if not isinstance(arg, Tensor) or isinstance(arg._aval.placement, Meshed):
            return arg
        if requires_grad_flag(arg) and node_of(arg) is None and view_record(arg) is None:
            put_on_mesh(arg, home)
            return arg
        return move(arg, home)

    return tuple(map(on_mesh, args))


OffMesh.bring = staticmethod(on_one_mesh)
