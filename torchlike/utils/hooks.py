"""torch.utils.hooks: the handles of registered hooks; and the hooks that every module runs."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._core.node import RemovableHandle as RemovableHandle

__all__ = ["RemovableHandle"]

Hook = Callable[..., object]


class HookHandle(RemovableHandle):
    """Removes a hook from its table, and from the tables of options for calling it."""

    def __init__(
        self, hooks: Any, hook: Hook, *, prepend: bool = False, marks: tuple[dict[int, bool], ...] = ()
    ) -> None:
        super().__init__(hooks, hook)
        self._marks = marks
        for mark in marks:
            mark[self.id] = True
        if prepend:
            hooks.move_to_end(self.id, last=False)

    def remove(self) -> None:
        super().remove()
        for mark in self._marks:
            mark.pop(self.id, None)


class GlobalHooks:
    """The hooks that every module runs."""

    def __init__(self) -> None:
        self.forward: OrderedDict[int, Hook] = OrderedDict()
        self.forward_with_kwargs: dict[int, bool] = {}
        self.forward_always: dict[int, bool] = {}
        self.forward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.backward: OrderedDict[int, Hook] = OrderedDict()
        self.backward_pre: OrderedDict[int, Hook] = OrderedDict()
        self.full_backward: bool | None = None
        self.parameter_registration: OrderedDict[int, Hook] = OrderedDict()
        self.buffer_registration: OrderedDict[int, Hook] = OrderedDict()
        self.module_registration: OrderedDict[int, Hook] = OrderedDict()


everywhere = GlobalHooks()
