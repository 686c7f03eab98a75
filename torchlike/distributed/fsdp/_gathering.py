"""Gathers the parameters of a module for its forward pass, and again for its backward pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import jax
from jax import Array, lax

from ..._core.fields import stored_value
from ..._core.tensor import Tensor, from_value
from ...autograd.graph import saved_tensors_hooks
from ...dispatch.apply import apply, internal_dispatcher
from ...dispatch.moving import redistribute
from ...engine.aval import Meshed
from ...engine.meshes import lay_out
from ...engine.value import Value
from ._policies import MixedPrecisionPolicy

__all__ = ["Gathered", "gathered_layout", "substituted"]


def gathered_layout(stored: Meshed, axis: str) -> Meshed:
    """The layout of a parameter that is whole along an axis of its mesh."""
    entries = [entry if isinstance(entry, tuple) else (entry,) for entry in stored.spec or ()]
    remaining = [tuple(name for name in entry if name not in (axis, None)) or None for entry in entries]
    return Meshed(stored.mesh, jax.sharding.PartitionSpec(*remaining))


def _again(input: Array, where: Any, before: Any) -> Array:
    # Without this barrier XLA merges both gatherings, and keeps the whole parameter in memory from the forward to the backward pass.
    return lay_out(lax.optimization_barrier(lay_out(input, before)), where)


_GATHER_AGAIN = internal_dispatcher(_again, "gather_again", differentiable=False)


class Gathered:
    """One parameter in a forward pass: its piece, and the whole that was gathered from it."""

    def __init__(self, parameter: Any, axis: str, policy: MixedPrecisionPolicy) -> None:
        stored = parameter._aval.placement
        assert isinstance(stored, Meshed)
        self.stored, self.layout = stored, gathered_layout(stored, axis)
        self.piece: Any = parameter
        if policy.param_dtype is not None and parameter.is_floating_point():
            if policy.reduce_dtype not in (None, policy.param_dtype) and parameter.requires_grad:
                self.piece = parameter.to(policy.reduce_dtype)
            self.piece = self.piece.to(policy.param_dtype)
        # The cast is told its layout: XLA would have all of it everywhere, since it is read so, by gathering the parameter before the cast.
        # Then there would be nothing to gather again.
        self.whole = redistribute(self.piece, self.layout, stored)
        # The value of the forward pass: the parameter may be written to before the backward pass, which must read the old elements.
        self.pieces_value: Value = self.piece._value()
        self._again: Tensor | None = None

    def again(self) -> Tensor:
        """Gathers the whole parameter again from the piece's value at the forward pass."""
        again = self._again
        if again is None:
            again = self._again = apply(_GATHER_AGAIN, (from_value(self.pieces_value), self.layout, self.stored))
        return again


@contextmanager
def substituted(owners: list[tuple[Any, str, Any]], gathered: dict[int, Gathered], reshard: bool) -> Iterator[None]:
    """Puts whole parameters into the modules that own them.

    Args:
        owners: modules, names and parameters.
        gathered: by the ``id`` of the parameter.
        reshard: whether the graph keeps pieces, which are gathered again in the backward pass.
    """
    try:
        for module, name, parameter in owners:
            module._parameters[name] = gathered[id(parameter)].whole
        with _keeping_pieces(list(gathered.values())) if reshard else nullcontext():
            yield
    finally:
        for module, name, parameter in owners:
            module._parameters[name] = parameter


def _keeping_pieces(gathered: list[Gathered]) -> saved_tensors_hooks:
    # By value and not by tensor, because ``pack`` gets a new tensor for each saved value.
    by_value = {id(parameter.whole._value()): parameter for parameter in gathered}

    def pack(tensor: Any) -> object:
        return by_value.get(id(stored_value(tensor)), tensor)

    unpack: Callable[[Any], Tensor] = lambda packed: packed.again() if isinstance(packed, Gathered) else packed  # noqa: E731
    return saved_tensors_hooks(pack, unpack)
