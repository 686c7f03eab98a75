"""torch.utils.module_tracker: tells which modules are running, in the forward and in the backward pass."""

from __future__ import annotations

import logging
import weakref
from collections.abc import Callable
from typing import Any

from .._core.modes import modes
from .._core.tensor import Tensor
from ..autograd.graph import register_multi_grad_hook
from . import _pytree as pytree
from .hooks import HookHandle, everywhere

__all__ = ["ModuleTracker"]

_log = logging.getLogger(__name__)


class ModuleTracker:
    """A context in which ``parents`` is the set of names of the running modules, and "Global".

    The backward pass of a module lasts from the gradients of its outputs to those of its inputs.

    >>> from torchlike.utils.module_tracker import ModuleTracker
    >>> model = torch.nn.Sequential(torch.nn.Linear(2, 2))
    >>> seen = []
    >>> with ModuleTracker() as tracker:
    ...     handle = model[0].register_forward_pre_hook(lambda *_: seen.append(sorted(tracker.parents)))
    ...     y = model(torch.ones(1, 2))
    >>> seen
    [['Global', 'Sequential', 'Sequential.0']]

    Source: https://docs.pytorch.org/docs/stable/module_tracker.html
    """

    def __init__(self) -> None:
        self._parents = {"Global"}
        self._names: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
        self._handles: list[Any] = []
        self._backward_pass: object = None  # the backward pass that was running when ``parents`` was last read

    @property
    def parents(self) -> set[str]:
        """The names of the running modules."""
        if self._backward_pass is not modes.backward_pass:
            # The backward pass has ended. Modules whose inputs need no gradient have no hook that reports their end.
            if self._backward_pass is not None:
                self._parents = {"Global"}
            self._backward_pass = modes.backward_pass
        return self._parents

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass is running."""
        return modes.backward_pass is not None

    def _name_of(self, module: Any) -> str:
        name = self._names.get(module)
        if name is None:
            name = self._names[module] = type(module).__name__
        waiting = [(module, name)]
        while waiting:
            parent, prefix = waiting.pop()
            for child_name, child in parent.named_children():
                if child not in self._names:
                    self._names[child] = f"{prefix}.{child_name}"
                    waiting.append((child, self._names[child]))
        return name

    def _enter(self, name: str) -> None:
        if name in self.parents:
            _log.info("The module hierarchy tracking seems to be broken as this Module was already entered. %s", name)
        self.parents.add(name)

    def _leave(self, name: str) -> None:
        if name not in self.parents:
            _log.info(
                "The Module hierarchy tracking is confused as we're exiting a Module that was never entered. %s", name
            )
        self.parents.discard(name)

    def _before_forward(self, module: object, inputs: object) -> None:
        name = self._name_of(module)
        self._enter(name)
        self._at_gradients(inputs, lambda _: self._leave(name), "all")

    def _after_forward(self, module: object, inputs: object, outputs: object) -> None:
        name = self._name_of(module)
        self._leave(name)
        self._at_gradients(outputs, lambda _: self._enter(name), "any")

    def _at_gradients(self, tree: object, call: Callable[[object], None], mode: str) -> None:
        leaves = pytree.tree_leaves(tree)
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor) and leaf.requires_grad]
        if modes.grad_enabled and tensors and not self.is_bw:
            self._handles.append(register_multi_grad_hook(tensors, call, mode=mode))

    def __enter__(self) -> ModuleTracker:
        self._handles = [
            HookHandle(everywhere.forward_pre, self._before_forward),
            HookHandle(everywhere.forward, self._after_forward, marks=(everywhere.forward_always,)),
        ]
        return self

    def __exit__(self, *exception: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._backward_pass = None
