"""Copies of modules and arguments for exports and traces: they share the elements, since a copy is made when one is written to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

from ..._core.fields import set_requires_grad
from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ...autograd.grad_mode import enable_grad
from ...utils._pytree import tree_leaves
from ..modules.module import Module

__all__ = ["constants_of", "copied", "snapshot"]


def constants_of(module: Module) -> Iterator[tuple[str | None, Tensor]]:
    """The tensors that a module has as plain attributes, by name, and those in lists and the like, without one."""
    for prefix, part in module.named_modules():
        for name, value in vars(part).items():
            if name in ("_parameters", "_buffers", "_modules"):
                continue
            if isinstance(value, Tensor):
                yield f"{prefix}.{name}" if prefix else name, value
            elif isinstance(value, (list, tuple, dict)):
                yield from ((None, leaf) for leaf in tree_leaves(value) if isinstance(leaf, Tensor))


def copied(
    module: Module, kept: dict[int, object] | None = None, arguments: object = ()
) -> tuple[Module, Any, dict[int, object]]:
    """Copies of a module and of arguments, which share the elements.

    Args:
        kept: what stands for objects, by their identities.

    Returns:
        The two copies, and all copies by the identities of what they are copies of.
    """
    kept = dict(kept or {})
    for leaf in tree_leaves(arguments):
        if isinstance(leaf, Tensor) and leaf.grad_fn is not None and id(leaf) not in kept:
            kept[id(leaf)] = _copy_within_graph(leaf)
    memo = dict(kept)
    try:
        copies = copy.deepcopy((module, arguments), memo)
    except Exception:
        for part in module.modules():
            kept |= {id(value): value for value in vars(part).values() if not _can_be_copied(value)}
        memo = dict(kept)
        copies = copy.deepcopy((module, arguments), memo)
    return (*copies, memo)


def snapshot(module: Module) -> Module:
    """A copy of a module with the same tensors: what the module becomes later does not change it."""
    kept = [*module.parameters(), *module.buffers(), *[tensor for _, tensor in constants_of(module)]]
    return copied(module, {id(tensor): tensor for tensor in kept})[0]


def _copy_within_graph(tensor: Tensor) -> Tensor:
    """A copy of a tensor that is no leaf, which is none either."""
    with undispatched(), enable_grad():
        leaf: Any = tensor.detach()
        set_requires_grad(leaf, True)
        return leaf.clone()


def _can_be_copied(value: object) -> bool:
    """Whether an attribute of a module can be copied. Locks, files and the like are shared."""
    if isinstance(value, (Module, Tensor, dict)):
        return True
    try:
        copy.deepcopy(value)
    except Exception:
        return False
    return True
