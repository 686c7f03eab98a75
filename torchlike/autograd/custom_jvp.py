"""The derivative forwards of a user's Function: its ``jvp`` is called with the changes of the inputs, and what it returns is checked."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from .._core.dtypes import FLOAT
from .._core.fields import storage_of, version_of, view_record
from .._core.modes import modes
from .._core.tensor import Tensor, from_value
from ..engine.aval import Aval
from ..engine.value import Value
from .grad_mode import without_tangents

__all__ = ["call_jvp", "carry_by_jvp"]


class Called(Protocol):
    """The node of a call of a Function, as far as it is used here: see ``FunctionNode``."""

    is_tensor: list[bool]
    materialize_grads: bool
    in_jvp: bool
    dirty_tensors: tuple[Tensor, ...]
    non_differentiable: tuple[Tensor, ...]

    @property
    def input_avals(self) -> Sequence[Aval | None]: ...

    @property
    def avals(self) -> Sequence[Aval | None]: ...

    def share_tangents(self, outputs: Sequence[object]) -> None:
        """Says which outputs have the tangents of others."""


def call_jvp(node: Called, jvp: Callable[..., object], tangents: Sequence[Tensor | None]) -> list[Any]:
    """What the ``jvp`` returns for the tangents of the tensors among the inputs: one entry for each output.

    Raises:
        RuntimeError: it returns another number of them, or one of another shape.
    """
    arriving, given = iter(tangents), []
    for is_tensor, aval in zip(node.is_tensor, node.input_avals, strict=True):
        tangent = next(arriving) if is_tensor else None
        if tangent is None and is_tensor and node.materialize_grads and aval is not None and aval.dtype.kind in "fcV":
            tangent = from_value(Value.on_host(np.zeros(aval.shape, aval.dtype), aval.placement))
        given.append(tangent)
    node.in_jvp = True
    try:
        result = jvp(node, *given)
    finally:
        node.in_jvp = False
    results = result if isinstance(result, tuple) else (result,)
    if len(results) != len(node.avals):
        raise RuntimeError(
            f"Function's jvp returned an invalid number of forward gradients (expected {len(node.avals)} but got {len(results)})"
        )
    return list(results)


def carry_by_jvp(node: Called, jvp: Callable[..., object], inputs: Sequence[object], outputs: Sequence[object]) -> None:
    """Gives the outputs of a Function that was called with dual tensors their tangents.

    Raises:
        RuntimeError: what ``jvp`` returns is no tensor, has another shape, or lies otherwise in memory than the outputs do.
    """
    level = modes.level
    tensors = [x for x in inputs if isinstance(x, Tensor)]
    tangents = [level.tangent(tensor) for tensor in tensors]
    if all(tangent is None for tangent in tangents):
        return
    versions = [None if tangent is None else version_of(tangent) for tangent in tangents]
    with without_tangents():
        changes = call_jvp(node, jvp, tangents)
    for number, (change, output) in enumerate(zip(changes, outputs, strict=True)):
        if not isinstance(output, Tensor):
            continue
        if change is not None and not isinstance(change, Tensor):
            raise RuntimeError(f"expected Variable or None (got {type(change).__name__}) for grad output {number}.")
        if change is None:
            level.drop(output)
            continue
        if output.dtype.category < FLOAT or any(output is x for x in node.non_differentiable):
            raise RuntimeError(
                f"Function's jvp returned a gradient at position {number}, but  the corresponding forward output is not a differentiable "
                "Tensor.You should return None at that position instead."
            )
        if change.shape != output.shape:
            raise RuntimeError(
                "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not supported. "
                f"Tensor is of size {list(output.shape)} while the given forward gradient is of size {list(change.shape)}."
            )
        place = next((place for place, tensor in enumerate(tensors) if tensor is output), None)
        if place is not None and any(output is dirty for dirty in node.dirty_tensors):
            own = tangents[place]
            if own is not None and (change is not own or version_of(own) == versions[place]):
                raise RuntimeError(_NOT_IN_PLACE)
            level.put(output, change)
            continue
        _check_view(output, change, tensors, tangents)
        level.put(output, change)
    node.share_tangents(outputs)


def _check_view(output: Tensor, change: Tensor, tensors: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> None:
    """Checks that the tangent of an output that is a view of an input is a view of the input's tangent."""
    memory = storage_of(output)
    source = next((place for place, tensor in enumerate(tensors) if storage_of(tensor) is memory), None)
    tangent = None if source is None else tangents[source]
    if tangent is None:
        return
    record = view_record(change)
    if record is None or change is tangent:
        raise RuntimeError(
            "A custom Function's forward is returning a view (or an input as-is) but the jvp is not returning a view."
        )
    if storage_of(change) is not storage_of(tangent):
        own = view_record(tangent)
        of = "given" if own is None or own.base is None else "same base as the given"
        raise RuntimeError(
            f"A custom Function is returning a view but the jvp is not returning a view of the {of} grad input."
        )


_NOT_IN_PLACE = (
    "An inplace custom Function is not modifying the forward mode gradients inplace. If the forward is modifying an input inplace, then "
    "the jvp function must modify the corresponding gradient inplace."
)
