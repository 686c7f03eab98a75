"""Calls a module that has hooks: they run around ``forward`` in PyTorch's order."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from ..._core.tensor import Tensor
from ._hooks import BackwardHooks, everywhere, warn_about_plain_hook

__all__ = ["call_with_hooks"]


def call_with_hooks(module: Any, /, *args: object, **kwargs: object) -> Any:
    """Calls a module and its hooks. Without hooks, Module calls ``forward`` directly."""
    hooks_run: set[int] = set()
    result = None
    try:
        args, kwargs = _run_forward_pre_hooks(module, args, kwargs)
        backward = _backward_hooks_of_call(module)
        if backward is not None:
            args = backward.enter(args)
        result = module.forward(*args, **kwargs)
        for number, hook, with_kwargs, _ in _forward_hooks_of_call(module):
            hooks_run.add(number)
            replaced = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
            result = result if replaced is None else replaced
        if backward is not None:
            result = backward.leave(result)
        _attach_plain_backward_hooks(module, args, result)
        return result
    except Exception:
        # After an error, hooks with ``always_call`` still run, with None if there is no result. Then the error is raised again.
        for number, hook, with_kwargs, always in _forward_hooks_of_call(module):
            if always and number not in hooks_run:
                try:
                    replaced = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
                    result = result if replaced is None else replaced
                except Exception as error:
                    warnings.warn(
                        "module forward hook with ``always_call=True`` raised an exception that was silenced as another error was raised "
                        f"in forward: {error}",
                        stacklevel=2,
                    )
        raise


def _forward_hooks_of_call(module: Any) -> list[tuple[int, Callable[..., object], bool, bool]]:
    """The forward hooks: number, hook, whether it takes keywords, whether it has ``always_call``."""
    common = [(everywhere.forward, everywhere.forward_with_kwargs, everywhere.forward_always)]
    tables = [(module._forward_hooks, module._forward_hooks_with_kwargs, module._forward_hooks_always_called)]
    return [(i, h, i in kwargs, i in always) for hooks, kwargs, always in common + tables for i, h in hooks.items()]


def _run_forward_pre_hooks(
    module: Any, args: tuple[object, ...], kwargs: dict[str, object]
) -> tuple[tuple[object, ...], dict[str, object]]:
    for hook in list(everywhere.forward_pre.values()):
        replaced = hook(module, args)
        if replaced is not None:
            args = replaced if isinstance(replaced, tuple) else (replaced,)
    # A copy of the table, because a hook may remove itself.
    for number, hook in list(module._forward_pre_hooks.items()):
        if number in module._forward_pre_hooks_with_kwargs:
            replaced = hook(module, args, kwargs)
            if replaced is None:
                continue
            if not isinstance(replaced, tuple) or len(replaced) != 2:
                raise RuntimeError(
                    f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {replaced}."
                )
            args, kwargs = replaced
        else:
            replaced = hook(module, args)
            if replaced is not None:
                args = replaced if isinstance(replaced, tuple) else (replaced,)
    return args, kwargs


def _backward_hooks_of_call(module: Any) -> BackwardHooks | None:
    hooks = list(everywhere.backward.values()) if everywhere.full_backward is True else []
    if module._is_full_backward_hook is True:
        hooks += module._backward_hooks.values()
    pre = [*everywhere.backward_pre.values(), *module._backward_pre_hooks.values()]
    return BackwardHooks(module, hooks, pre) if hooks or pre else None


def _attach_plain_backward_hooks(module: Any, args: tuple[object, ...], result: object) -> None:
    hooks = list(everywhere.backward.values()) if everywhere.full_backward is False else []
    if module._is_full_backward_hook is False:
        hooks += module._backward_hooks.values()
    if not hooks:
        return
    first: Any = result
    # PyTorch attaches the deprecated kind of hook to the node of the first tensor alone.
    while not isinstance(first, Tensor):
        first = (
            next((v for v in first.values() if isinstance(v, Tensor)), None) if isinstance(first, dict) else first[0]
        )
    node = first.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(lambda grad_inputs, grad_outputs, hook=hook: hook(module, grad_inputs, grad_outputs))
    warn_about_plain_hook(args, result, node)
