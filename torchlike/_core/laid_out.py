"""Tensors whose memory has another order of dimensions than they have themselves, as PyTorch gives the copy of a transposed matrix.

A value always lies in the order of its dimensions. So the memory of such a tensor is another value, which is made when somebody looks at
it: most programs never do, and then the order costs nothing.
"""

from __future__ import annotations

from typing import Any

from ..engine.aval import Aval
from ..engine.value import Value
from .storage import Storage
from .strided import Strided
from .views import DEFAULT, View, ViewStep

__all__ = ["LaidOutStorage", "LaidOutView", "laid_out"]


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
    shape = value.aval.shape
    view.layout = back.layout(Strided([shape[d] for d in order]))
    return storage, view
