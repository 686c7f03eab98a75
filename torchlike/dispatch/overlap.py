"""Writes where elements lie in one place of memory: which PyTorch refuses, and what the others leave there."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from .._core.fields import storage_of
from .._core.modes import modes
from .._core.sparse import SparseAval
from .._core.strided import Strided
from .._core.tensor import Tensor, from_value
from ..engine.value import Value
from .apply import apply, internal_dispatcher
from .opdef import INDICES, Composite, Inner, Op, Reading
from .warned import warn_once

__all__ = [
    "Inner",
    "Reading",
    "reading",
    "reading_in_place",
    "refuse_inner_overlap",
    "refuse_overlap",
    "refuse_overlap_with_out",
]


INNER_OVERLAP = (
    "unsupported operation: more than one element of the written-to tensor refers to a single memory location. Please clone() the "
    "tensor before performing the operation."
)


def refuse_inner_overlap(geometry: Strided, allowed: Inner) -> None:
    """Raises PyTorch's error for a write to elements that share places with each other where it does not let that pass."""
    if allowed is Inner.NOWHERE or (allowed is Inner.IN_WINDOWS and geometry.repeats):
        raise RuntimeError(INNER_OVERLAP)


def warn_of_expanded(tensor: Tensor, name: str, such_as: str) -> None:
    """Warns as PyTorch does where it lets an operation write to an expanded tensor."""
    if tensor._is_view() and tensor._geometry.repeats:
        warn_once(
            f"Use of {name} on expanded tensors is deprecated. Please clone() the tensor before performing this operation. This also "
            f"applies to advanced indexing e.g. {such_as}"
        )


def in_turn(geometry: Strided, before: Value, first: Value, again: Callable[[Tensor], Tensor]) -> Value:
    """What a view whose elements share places shows after an operation in place, which takes one element after the other.

    Args:
        before: what the view showed before.
        first: the result for that.
        again: the operation; each element of its result depends on the same element alone.
    """
    shape, strides = geometry.shape, geometry.strides
    shown, result = from_value(before), from_value(first)
    recording, modes.grad_enabled = modes.grad_enabled, False
    try:
        for turn in range(turns(shape, strides)[0]):
            if turn:
                result = again(shown)
            if result.dtype is not shown.dtype:
                result = result.to(shown.dtype)  # pyright: ignore[reportAttributeAccessIssue]
            shown = apply(_TAKE_TURN, (shown, result, shape, strides, turn))
    finally:
        modes.grad_enabled = recording
    return shown._value()


@functools.lru_cache(maxsize=256)
def turns(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, list[np.ndarray]]:
    """How many elements share a place at most, and for each turn which element each one's place has then (-1: none any more)."""
    layout = Strided(shape, strides)
    places = np.unique(layout.positions().reshape(-1), return_inverse=True)[1].reshape(-1)
    order = np.argsort(places, kind="stable")
    starts = np.searchsorted(places[order], np.arange(places.max() + 1))
    counts = np.diff(np.append(starts, places.size))
    of_turn = []
    for turn in range(int(counts.max())):
        taken = np.where(counts > turn, order[np.minimum(starts + turn, places.size - 1)], -1)
        of_turn.append(taken[places])
    return len(of_turn), of_turn


def _take_turn(shown: Array, result: Array, shape: tuple[int, ...], strides: tuple[int, ...], turn: int) -> Array:
    """What the view shows after the turn-th element at each place was written."""
    taken = turns(shape, strides)[1][turn]
    new = result.reshape(-1).at[np.maximum(taken, 0)].get(mode="promise_in_bounds").reshape(shape)
    return jnp.where((taken >= 0).reshape(shape), new, shown)


_TAKE_TURN = internal_dispatcher(_take_turn, "take_turn", differentiable=False)


def last_of_each(tensor: Tensor) -> Tensor:
    """The tensor, whose elements share places; only the last element at each place passes its gradient on."""
    geometry = tensor._geometry
    return apply(_LAST_OF_EACH, (tensor, geometry.shape, geometry.strides))


def _last(shown: Array, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    places = Strided(shape, strides).positions().reshape(-1)
    last = np.zeros(places.size, np.bool_)
    last[places.size - 1 - np.unique(places[::-1], return_index=True)[1]] = True
    return jnp.where(last.reshape(shape), shown, lax.stop_gradient(shown))


_LAST_OF_EACH = internal_dispatcher(_last, "last_of_each", backward="AsStridedBackward0")


def reading(declared: Op | Composite) -> Reading:
    """The rule for an operation. If none is declared, PyTorch checks the operations that work element by element, and those that
    write to the places that an index names.
    """
    if declared.overlap is not None:
        return declared.overlap
    if isinstance(declared, Composite):
        return Reading.ANYWHERE
    if any(
        role == INDICES and name != "mask" for role, name in zip(declared.roles, declared.parameters.names, strict=True)
    ):
        return Reading.ELSEWHERE
    promote = declared.dtype_rule.promote
    return Reading.SAME_PLACES if callable(promote) or promote.elementwise else Reading.ANYWHERE


def reading_in_place(declared: Op | Composite) -> Reading:
    """The rule for the inputs of the in-place form besides the first one, which is what it writes to."""
    rule = reading(declared)
    return {Reading.FIRST: Reading.ANYWHERE, Reading.OTHERS_ELSEWHERE: Reading.ELSEWHERE}.get(rule, rule)


def refuse_overlap_with_out(rule: Reading, out: object, inputs: Sequence[object]) -> None:
    """As ``refuse_overlap``, for ``out=``: here the first input is only read, while an in-place form writes to it.

    It is a function of its own because in-place forms are called too often to make this distinction at each call.
    """
    if rule is Reading.FIRST or rule is Reading.OTHERS_ELSEWHERE:
        refuse_overlap(Reading.SAME_PLACES, out, inputs[:1])
        rule, inputs = (Reading.ELSEWHERE, inputs[1:]) if rule is Reading.OTHERS_ELSEWHERE else (Reading.ANYWHERE, ())
    refuse_overlap(rule, out, inputs)


_ELSEWHERE = (Reading.ELSEWHERE, Reading.NUMBERS_ASIDE)


def refuse_overlap(rule: Reading, target: object, inputs: Sequence[object]) -> None:
    """Checks the inputs of an operation that is about to write to a tensor, or to each of several.

    Raises:
        RuntimeError: an input shares memory with ``target``, otherwise than the rule allows.
    """
    if isinstance(target, (list, tuple)):
        for tensor in target:
            refuse_overlap(rule, tensor, inputs)
    if not isinstance(target, Tensor):
        return
    for read in inputs:
        if isinstance(read, (list, tuple)):
            refuse_overlap(rule, target, read)
        elif (
            isinstance(read, Tensor)
            and storage_of(read) is storage_of(target)
            and (read is not target or rule in _ELSEWHERE)
            and (read.dim() or rule is not Reading.NUMBERS_ASIDE)
            and _overlaps(target, read, rule)
        ):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _overlaps(target: Tensor, read: Tensor, rule: Reading) -> bool:
    """Whether two tensors of one storage share elements; False as well where that is hard to say: PyTorch lets these pass."""
    if target._aval.__class__ is SparseAval:  # its elements have no places
        return False
    a, b = target._geometry, read._geometry
    if not (a.size and b.size and a.dense and b.dense) or target.dtype.itemsize != read.dtype.itemsize:
        return False
    if a.offset == b.offset and a.size == b.size and a.strides == b.strides:
        return rule in _ELSEWHERE
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size
