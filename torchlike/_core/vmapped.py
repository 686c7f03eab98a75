"""Mapped values: a value may hold many examples in hidden leading dimensions. Operations see one of them, and are recorded for all.

``torch.vmap`` gives its function tensors with such values. Their avals are those of one example, so shapes are checked, derivatives found
and graphs made as for one example. The recorder hands calls with such values to ``record_mapped``, which records ``jax.vmap`` of the
kernel's function on the whole arrays.

The hidden dimensions come first, one for each ``Level`` that a value is mapped at, the oldest level first.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

import jax
import jax.numpy as jnp
import numpy as np

from ..engine.aval import META, Aval, MappedAval, Placement, check_room
from ..engine.kernel import Kernel
from ..engine.recorder import Recorder, record_mapped_with, recorder
from ..engine.trace import Operation
from ..engine.value import Value
from .modes import modes

Function = Callable[..., tuple[jax.Array, ...]]

__all__ = [
    "Level", "Vmapped", "drawn", "drop", "enter", "examples", "leave", "levels_of", "mapped_at", "same_for_all", "that_differ", "within",
]  # fmt: skip

_next_serial = itertools.count().__next__


class Level:
    """One mapping: how many examples there are.

    Attributes:
        avals: those of values that are mapped at this level and at no newer one.
        kernels: those of calls with such values, see ``Kernel.mapped``.
    """

    __slots__ = ("size", "serial", "avals", "kernels")

    def __init__(self, size: int) -> None:
        self.size, self.serial = size, _next_serial()
        self.avals: dict[object, MappedAval] = {}
        self.kernels: dict[object, Kernel] = {}


class Examples:
    """Stands where the array of a mapped value would be. ``whole``: the value of all examples."""

    __slots__ = ("whole",)

    def __init__(self, whole: Value) -> None:
        self.whole = whole


def levels_of(aval: object) -> tuple[Level, ...]:
    """At which levels values of this aval are mapped, the oldest first."""
    return aval.levels if isinstance(aval, MappedAval) else ()


def examples(value: Value) -> Value:
    """The value of all examples, with the hidden dimensions as ordinary ones."""
    return value.array.whole if value.aval.__class__ is MappedAval else value


def mapped_at(levels: tuple[Level, ...], whole: Value) -> Value:
    """A value whose leading dimensions are hidden, one for each level."""
    if not levels:
        return whole
    plain = whole.aval.plain()
    shape = plain.shape[len(levels) :]
    return Value.over(MappedAval.of(Aval(shape, plain.dtype, plain.placement.home.decided), levels), Examples(whole))


def _ordered(levels: Iterable[Level]) -> tuple[Level, ...]:
    return tuple(sorted(set(levels), key=lambda level: level.serial))


class _Rearranged(Operation):
    """An operation on whole arrays that only moves, adds or sums hidden dimensions."""

    def __init__(self, name: str, fn: Callable[..., jax.Array]) -> None:
        super().__init__()
        self.name, self.fn = name, fn

    def static(self, args: tuple[object, ...]) -> tuple[object, ...]:
        return args

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        return Kernel(self.name, lambda array: (self.fn(array, *args),), avals, avals[0].placement.home)


_MOVE = _Rearranged("move_examples", jnp.moveaxis)
_SUM = _Rearranged("sum_examples", lambda array, dims: jnp.sum(array, dims, dtype=array.dtype))
_EXPAND = _Rearranged(
    "expand_examples", lambda array, dims, shape: jnp.broadcast_to(jnp.expand_dims(array, dims), shape)
)


def _rearrange(operation: _Rearranged, value: Value, *args: object) -> Value:
    return recorder().record(operation, args, (value,), args)[1][0]


def enter(value: Value, level: Level) -> Value:
    """One example of a value, whose first dimension becomes a hidden one."""
    levels, whole = levels_of(value.aval), examples(value)
    new = _ordered((*levels, level))
    place = new.index(level)
    return mapped_at(new, whole if place == len(levels) else _rearrange(_MOVE, whole, len(levels), place))


def leave(value: Value, level: Level) -> Value:
    """The examples of a value at a level as its first dimension. What is not mapped there is the same for all examples."""
    value = same_for_all(value, (level,))
    levels, whole = levels_of(value.aval), examples(value)
    place = levels.index(level)
    if place != len(levels) - 1:
        whole = _rearrange(_MOVE, whole, place, len(levels) - 1)
    return mapped_at(tuple(x for x in levels if x is not level), whole)


def same_for_all(value: Value, levels: Iterable[Level]) -> Value:
    """The value mapped at these levels too, where all examples are the same."""
    before, whole = levels_of(value.aval), examples(value)
    new = _ordered((*before, *levels))
    if len(new) == len(before):
        return value
    dims = tuple(place for place, level in enumerate(new) if level not in before)
    shape = (*[level.size for level in new], *value.aval.shape)
    return mapped_at(new, _rearrange(_EXPAND, whole, dims, shape))


def drop(value: Value, levels: Iterable[Level]) -> Value:
    """The sum over the examples at these levels. A value that is not mapped at one of them is the same for all its examples."""
    levels = tuple(levels)
    value = same_for_all(value, levels)
    before = levels_of(value.aval)
    dims = tuple(place for place, level in enumerate(before) if level in levels)
    if not dims:
        return value
    return mapped_at(tuple(x for x in before if x not in levels), _rearrange(_SUM, examples(value), dims))


class Mapped(Operation):
    """A kernel for all examples.

    Args:
        places: for each input at which of the levels it is mapped, by number.
        sizes: how many examples there are at each level.
    """

    def __init__(self, kernel: Kernel, places: tuple[tuple[int, ...], ...], sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.name = kernel.name
        self.kernel_of_one, self.places, self.sizes = kernel, places, sizes

    def static(self, args: tuple[object, ...]) -> tuple[object, ...]:
        return ()

    def lower(self, args: tuple[object, ...], avals: tuple[Aval, ...]) -> Kernel:
        one = self.kernel_of_one
        fn = one.fn
        for level in reversed(range(len(self.sizes))):
            axes = tuple(0 if level in places else None for places in self.places)
            fn = _mapped(fn, axes, self.sizes[level])
        if one.make_error is not None:
            fn = _with_one_check(fn)
        kernel = Kernel(self.name, fn, avals, [aval.placement.home for aval in one.out_avals], one.make_error)
        kernel.checked_at_once = one.checked_at_once
        return kernel


def _mapped(fn: Function, axes: tuple[int | None, ...], size: int) -> Function:
    return lambda *arrays: jax.vmap(fn, in_axes=axes, axis_size=size)(*arrays)


def _with_one_check(fn: Function) -> Function:
    """The function with one index check for all examples: that of the first example whose index is out of range."""

    def checked(*arrays: jax.Array) -> tuple[jax.Array, ...]:
        *outs, checks = fn(*arrays)
        checks = checks.reshape(-1, 2)
        return (*outs, checks[jnp.argmax(checks[:, 0] != 0)])

    return checked


def record_mapped(
    own_recorder: Recorder, op: Operation, static: tuple[object, ...], values: Sequence[Value], args: tuple[object, ...]
) -> tuple[Kernel, list[Value]]:
    """``Recorder.record`` of a call in which some values are mapped. The results are mapped at all their levels."""
    avals = tuple([value.aval.plain() for value in values])
    general = own_recorder.with_numbers(op, values, args, avals)
    if general is not None:
        return own_recorder.record(op, *general)
    one = op.kernel(static, args, avals)
    levels = _ordered(level for value in values for level in levels_of(value.aval))
    places = tuple([tuple([levels.index(level) for level in levels_of(value.aval)]) for value in values])
    sizes = tuple([level.size for level in levels])
    if one.mapped is None:
        one.mapped = {}
    operation = one.mapped.get((places, sizes))
    if operation is None:
        operation = one.mapped[places, sizes] = Mapped(one, places, sizes)
    whole = own_recorder.record(operation, (), [examples(value) for value in values], ())[1]
    outs = [mapped_at(levels, value) for value in whole]
    kept = op.kept_levels(levels)
    if kept is not None:
        outs = [drop(out, set(levels).difference(keep)) for out, keep in zip(outs, kept, strict=True)]
    in_avals = tuple([value.aval for value in values])
    known = levels[-1].kernels
    kernel = known.get((one, in_avals))
    if kernel is None:
        kernel = known[one, in_avals] = one.like(in_avals, tuple([out.aval for out in outs]))
    return kernel, outs


record_mapped_with(record_mapped)


# ---- the vmaps in progress, as random functions need to know them


class Vmapped(Level):
    """One vmap in progress.

    Attributes:
        randomness: how random functions behave.
        derivatives: how many derivatives were in progress when it began; those that began later are inside of it.
        shared: whether nothing is mapped at it while the function runs.
    """

    __slots__ = ("randomness", "derivatives", "shared")

    def __init__(self, size: int, randomness: str) -> None:
        super().__init__(size)
        self.randomness, self.derivatives, self.shared = randomness, len(modes.derivatives), False


@contextmanager
def within(level: Vmapped) -> Iterator[None]:
    """While a function runs that is mapped."""
    outer, modes.vmaps = modes.vmaps, (*modes.vmaps, level)
    try:
        yield
    finally:
        modes.vmaps = outer


def drawn(
    draw: Callable[..., np.ndarray],
    generator: object,
    shape: tuple[int, ...],
    dtype: np.dtype,
    placement: Placement,
    *args: object,
) -> Value:
    """Random numbers of this shape. In a vmap with ``randomness="different"`` they have one dimension more, one entry for each example.

    Raises:
        What ``that_differ`` raises.
    """
    if placement is META:  # nothing is drawn
        return Value.without_data(Aval(shape, np.dtype(dtype), META))
    if not modes.vmaps:
        check_room(shape, np.dtype(dtype), placement)
        return Value.on_host(draw(generator, shape, dtype, *args), placement)
    levels = that_differ()
    array = draw(generator, (*[level.size for level in levels], *shape), dtype, *args)
    return mapped_at(levels, Value.on_host(np.asarray(array), placement))


def that_differ() -> tuple[Vmapped, ...]:
    """The vmaps in progress whose examples draw numbers of their own.

    Raises:
        RuntimeError: a vmap was not told what to do with random functions.
    """
    if any(level.randomness == "error" for level in modes.vmaps):
        raise RuntimeError(
            "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags "
            "on vmap or perform the randomness operation out of vmap"
        )
    return tuple([level for level in modes.vmaps if level.randomness == "different"])
