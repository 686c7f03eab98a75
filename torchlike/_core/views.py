"""Views: a chain of steps from a storage. Reading applies the steps, writing undoes them in reverse order."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from ..engine.aval import Aval
from ..engine.recorder import recorder
from ..engine.value import Value
from .storage import HostMemory, Storage, same_bits
from .strided import Strided, whole

# How a view was made decides whether it may be written to where gradients are recorded (PyTorch's rules).
DEFAULT, IN_NO_GRAD, ONE_OF_SEVERAL, IN_INFERENCE, IN_FUNCTION = range(5)
# So many layouts of views are kept with one layout at most. When there are more, they are dropped and computed anew.
MAX_AFTER = 64


class ViewStep:
    """One view operation with its arguments: what to record to read through it.

    ``starts``: the value that says where a slice begins, if that is an input of the program instead of a part of it. ``last``: the layout
    that was asked for last, and that of the parent.
    """

    __slots__ = ("op", "static", "args", "number", "starts", "last")

    def __init__(
        self, op: Any, static: tuple[object, ...], args: tuple[object, ...], number: int, starts: tuple[Value, ...] = ()
    ) -> None:
        self.op, self.static, self.args = op, static, args
        self.number = number  # which of the op's outputs
        self.starts = starts
        self.last: tuple[Strided, Strided] | None = None

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal for steps that the same program can compute."""
        return self.op, self.static, self.number

    @property
    def place(self) -> tuple[Any, ...]:
        """Equal for steps that lead to the same elements."""
        return (*self.key, *[value.numpy().tobytes() for value in self.starts])

    @property
    def computes(self) -> bool:
        """Whether it shows other values than the elements in memory: conjugates, real or imaginary parts, or bits as another dtype."""
        return self.op.computes

    def read(self, value: Value) -> Value:
        return recorder().record(self.op, self.static, (value, *self.starts), self.args)[1][self.number]

    def layout(self, parent: Strided) -> Strided:
        """The layout of what the step shows of its parent. It is kept with the parent's: a loop makes the same views in each round."""
        last = self.last
        if last is not None and last[1] is parent:  # nothing changes a layout
            return last[0]
        place = self.place if self.starts else (self.op, self.static, self.number)
        after = parent.after
        found = None if after is None else after.get(place)
        if found is None:
            args = (*self.args[:-1], self.starts[0].numpy()) if self.starts else self.args
            result = self.op.layout(parent, args)
            found = result if isinstance(result, Strided) else result[self.number]
            if after is None or len(after) >= MAX_AFTER:
                after = parent.after = {}
            after[place] = found
        self.last = found, parent
        return found


class View:
    """Where a tensor lies in its storage.

    ``content_version`` is the storage's when ``value`` was read; ``base`` is the tensor whose gradient history this one follows, if any.
    ``version`` is the storage's when the view got its history: after any write, recorded or not, it gets another one, as in PyTorch.
    ``refused`` says why the view has no history any more. ``has_node``: whether PyTorch's
    view has a node. It gets one where it is made, written to, or used in an operation with a gradient; asking for it makes one as well.
    ``known``: its geometry once somebody has asked for it, after the shape of the storage that it holds for; ``above``: the same of the
    view that it is a view of, one step before.
    """

    __slots__ = (
        "steps",
        "value",
        "content_version",
        "base",
        "origin",
        "version",
        "refused",
        "has_node",
        "above",
        "known",
    )

    def __init__(
        self, steps: tuple[ViewStep, ...], value: Value, content_version: int, base: Any, origin: int, version: int
    ) -> None:
        self.steps = steps
        self.value = value
        self.content_version = content_version
        self.base = base
        self.origin = origin
        self.version = version
        self.refused: str | None = None
        self.has_node = False
        self.above: tuple[tuple[int, ...], Strided] | None = None
        self.known: tuple[tuple[int, ...], Strided] | None = None

    def rebased(self, base: object, origin: int | None = None) -> View:
        """The same view, following the history of another base (None: of none). ``origin``: another one than its own."""
        if base is None:
            origin = DEFAULT
        origin = self.origin if origin is None else origin
        view = View(self.steps, self.value, self.content_version, base, origin, self.version)
        view.has_node, view.above, view.known = self.has_node, self.above, self.known
        return view

    def read(self, storage: Storage) -> Value:
        """The view's value as of now."""
        host = storage.host
        if host is None:
            if self.content_version == storage.content_version:
                return self.value
        elif host.shared and self.in_memory(host):
            return self._read_on_host(host.array, storage)
        value = storage.read()  # first, since it notices what NumPy wrote
        if self.content_version != storage.content_version:
            for step in self.steps:
                value = step.read(value)
            self.value, self.content_version = value, storage.content_version
        return self.value

    @property
    def computes(self) -> bool:
        """Whether a step shows other values than the elements in memory."""
        return any(step.computes for step in self.steps)

    def window(self, storage: Storage) -> np.ndarray:
        """The view's elements in the memory of a storage whose value is a contiguous NumPy array."""
        return self.geometry(storage).window(storage.value.array)

    def in_memory(self, host: HostMemory) -> bool:
        """Whether the view's elements can be read at the places in this memory that its geometry names."""
        return host.counts_in(self.value.aval.dtype) and not self.computes

    def _read_on_host(self, memory: np.ndarray, storage: Storage) -> Value:
        """Reads only the view's own elements from memory that NumPy shares, since the storage may be a whole dataset."""
        window, value = self.geometry(storage).window(memory), self.value
        # Where the operation that made the view is still pending, the elements are copied: to compare them would run what was recorded.
        if value.array is None or not same_bits(window, value.numpy()):
            self.value = Value.on_host(window.copy(), value.aval.placement)
        self.content_version = -1  # the storage has not counted the write that was noticed here
        return self.value

    def geometry(self, storage: Storage) -> Strided:
        """Shape, strides and offset in the storage."""
        shape, known, above = storage.value.aval.shape, self.known, self.above
        if known is not None and known[0] == shape:
            return known[1]
        if above is not None and above[0] == shape:
            # So each view of a long chain takes one step, where all of them from the storage on would take ever longer.
            geometry = self.steps[-1].layout(above[1])
        else:
            geometry = whole(shape)
            for step in self.steps:
                geometry = step.layout(geometry)
        self.known = (shape, geometry)
        return geometry

    def overlaps(self, storage: Storage) -> bool:
        """Whether two of its elements lie in one place of the storage."""
        return self.geometry(storage).overlaps


# A step that is not made yet: what makes it, which elements of the parent it shows (a basic index), and the parent's shape.
LaterStep = tuple[Callable[[Any, tuple[int, ...]], ViewStep], Any, tuple[int, ...]]


class HostView(View):
    """A view that was read from host memory at once. Most of these are dropped soon, so its steps are made when somebody asks for them.

    Args:
        before: the steps from the storage that are made already.
        later: the steps after them.
    """

    __slots__ = ("_before", "_later", "_steps")

    def __init__(
        self,
        before: tuple[ViewStep, ...],
        later: tuple[LaterStep, ...],
        value: Value,
        storage: Storage,
        base: object,
        origin: int,
    ) -> None:
        # As ``View`` does, without the call: each element that a loop over a tensor gives is made here.
        self._steps: tuple[ViewStep, ...] = ()
        self.value = value
        self.content_version, self.version = storage.content_version, storage.version
        self.base = base
        self.origin = origin
        self.refused = None
        self.has_node = False
        self.above = self.known = None
        self._before, self._later = before, later

    @classmethod
    def of(
        cls, parent: View | None, step: LaterStep, value: Value, storage: Storage, base: object, origin: int
    ) -> Self:
        """A view one step further than the parent (None: the whole storage)."""
        if parent is None:
            return cls((), (step,), value, storage, base, origin)
        if isinstance(parent, HostView):
            return cls(parent._before, (*parent._later, step), value, storage, base, origin)
        return cls(parent.steps, (step,), value, storage, base, origin)

    @property
    def steps(self) -> tuple[ViewStep, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        if not self._steps:
            self._steps = (*self._before, *[make(place, shape) for make, place, shape in self._later])
        return self._steps

    @steps.setter
    def steps(self, steps: tuple[ViewStep, ...]) -> None:
        self._steps = steps

    def overlaps(self, storage: Storage) -> bool:
        # Where basic indices alone lead here from the storage, no two elements share a place.
        return bool(self._before) and View.overlaps(self, storage)

    @property
    def computes(self) -> bool:
        return any(step.computes for step in self._before)

    def is_at(self, place: object, storage: Storage) -> bool:
        """Whether these are the elements that this basic index selects from the whole storage."""
        (_, own, shape), *others = self._later
        if self._before or others:
            return False
        return own.__class__ is place.__class__ and own == place and shape == storage.value.aval.shape

    def window(self, storage: Storage) -> np.ndarray:
        (_, place, shape), *others = self._later
        if self._before or others or shape != storage.value.aval.shape:
            return View.window(self, storage)
        return storage.value.array[with_dots(place)]


def with_dots(index: Any) -> tuple[Any, ...]:
    """A basic index, for which NumPy gives an array even of a single element."""
    return (*index, ...) if index.__class__ is tuple else (index, ...)


# ---- memory in another order than that of the dimensions, as PyTorch gives the copy of a transposed matrix

# A value always lies in the order of its dimensions. So the memory of such a tensor is another value, which is made when somebody looks at
# it: most programs never do, and then the order costs nothing.


class LaidOutStorage(Storage):
    """The memory of a tensor in another order.

    Attributes:
        shown: what the tensor shows, as long as nobody has looked at the memory.
        into: the step that leads from there to the order in memory.
    """

    __slots__ = ("shown", "into", "made")

    def __init__(self, shown: Value, into: ViewStep) -> None:
        self.shown: Value | None = shown
        self.into = into
        self.made: Value | None = None

    def _get(self) -> Value:
        if self.made is None:
            assert self.shown is not None
            self.made = self.into.read(self.shown)
        return self.made

    def _set(self, value: Value) -> None:
        self.made, self.shown = value, None

    value: Any = property(_get, _set)  # pyright: ignore[reportIncompatibleVariableOverride]

    def show(self, value: Value) -> None:
        """Replaces the contents by what the tensor is to show."""
        self.shown, self.made = value, None
        self.version += 1
        self.content_version += 1


class LaidOutView(View):
    """How the tensor shows all of such a memory."""

    __slots__ = ("layout",)

    layout: Strided

    def read(self, storage: Storage) -> Value:
        if storage.__class__ is LaidOutStorage and storage.made is None and storage.host is None:  # pyright: ignore[reportAttributeAccessIssue]
            self.value, self.content_version = storage.shown, storage.content_version  # pyright: ignore[reportAttributeAccessIssue]
            return self.value
        return View.read(self, storage)

    def geometry(self, storage: Storage) -> Strided:
        if storage.__class__ is LaidOutStorage and storage.made is None:  # pyright: ignore[reportAttributeAccessIssue]
            return self.layout
        return View.geometry(self, storage)

    def rebased(self, base: object, origin: int | None = None) -> View:
        plain = View.rebased(self, base, origin)
        view = LaidOutView(plain.steps, plain.value, plain.content_version, plain.base, plain.origin, plain.version)
        view.has_node, view.above, view.known, view.layout = plain.has_node, plain.above, plain.known, self.layout
        return view


def laid_out(
    value: Value, order: tuple[int, ...], into: ViewStep, back: ViewStep
) -> tuple[LaidOutStorage, LaidOutView] | None:
    """The memory for what a tensor shows, and the view of it; None for a value that has no memory of its own.

    Args:
        order: the tensor's dimensions, in the order in which they follow each other in memory.
        into, back: the steps from the tensor's order to the memory's and back.
    """
    if value.aval.__class__ is not Aval:
        return None
    storage = LaidOutStorage(value, into)
    view = LaidOutView((back,), value, storage.content_version, None, DEFAULT, storage.version)
    view.layout = _layout_of(value.aval.shape, order, back)
    return storage, view


@functools.lru_cache(1024)
def _layout_of(shape: tuple[int, ...], order: tuple[int, ...], back: ViewStep) -> Strided:
    return back.layout(Strided([shape[d] for d in order]))
