"""Runs the hooks of nodes and tensors in the backward pass, and raises PyTorch's errors for what they return."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .._core.fields import post_accumulate_hooks_of
from .._core.node import Node
from .._core.tensor import Tensor, alias, from_value

__all__ = ["post_accumulate_hooks", "post_hooks", "pre_hooks", "tensor_hooks"]


def tensor_hooks(node: Node, cotangents: dict[int, object], create: bool) -> None:
    """Runs the hooks of the tensors that the node made. What they return replaces the gradient.

    The hooks of a tensor that has no gradient while another output of its node has one, or a Function gave none, see None.
    """
    assert node.tensor_hooks is not None
    for number, hooks in node.tensor_hooks.items():
        gradient = _tensor(cotangents[number], create) if number in cotangents else None
        result = _call_hooks(hooks, gradient)[0]
        if result is not None:
            cotangents[number] = _gradient_tensor(result, create)


def pre_hooks(node: Node, cotangents: dict[int, object], create: bool) -> None:
    """Runs the hooks that see the node's cotangents before the node runs. An output without one shows as None."""
    assert node.pre_hooks is not None
    for hook in list(node.pre_hooks.values()):
        grad_outputs = tuple(
            _tensor(cotangents[n], create) if n in cotangents else None for n in range(len(node.avals))
        )
        for number, tensor in enumerate(_checked_tuple(grad_outputs, hook(grad_outputs), hook)):
            if tensor is not None:
                cotangents[number] = _gradient_tensor(tensor, create)
            else:
                cotangents.pop(number, None)


def post_hooks(
    node: Node, grads: Sequence[object], cotangents: Mapping[int, object], create: bool, first: Tensor | None = None
) -> Sequence[Any]:
    """Runs the hooks that see the node's gradients after it has run. An input that wants no gradient shows as None.

    Args:
        first: a leaf's gradient that this pass has made of what arrived: hooks see the same memory.
    """
    assert node.post_hooks is not None
    grad_outputs = tuple(_tensor(cotangents[n], create) if n in cotangents else None for n in range(len(node.avals)))
    if first is not None:
        grad_outputs = (alias(first),)
    grad_inputs = node.spread([None if g is None else _tensor(g, create) for g in grads], None)
    for hook in list(node.post_hooks.values()):
        grad_inputs = _checked_tuple(grad_inputs, hook(grad_inputs, grad_outputs), hook)
    return [
        None if grad_inputs[place] is None else _gradient_tensor(grad_inputs[place], create) for place in node.places
    ]


def post_accumulate_hooks(leaf: Tensor) -> None:
    """Runs the hooks of a leaf that has got its gradient.

    Raises:
        RuntimeError: one of them returned another tensor. The ones after it have seen that tensor in place of the leaf.
    """
    hooks = post_accumulate_hooks_of(leaf)
    if hooks and _call_hooks(hooks, leaf)[1]:
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")


def _call_hooks(hooks: dict[int, Callable[..., Any]], tensor: Tensor | None) -> tuple[Tensor | None, bool]:
    """Calls hooks one after the other. Returns what the last one left, and whether any of them returned another tensor."""
    replaced = False
    for hook in list(hooks.values()):
        result = hook(tensor)
        if result is not None:
            _check(tensor, result, hook)
            tensor, replaced = result, replaced or result is not tensor
    return tensor, replaced


def _checked_tuple(before: tuple[Any, ...], result: object, hook: object) -> tuple[Any, ...]:
    """The gradients after a hook: its result, or the gradients before it if it returned None."""
    if result is None:
        return before
    if not isinstance(result, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(result).__name__}'")
    if len(result) != len(before):
        raise RuntimeError(
            f"hook '{_name(hook)}' has returned an incorrect number of values (got {len(result)}, but expected {len(before)})"
        )
    for old, new in zip(before, result, strict=True):
        if new is not None:
            _check(old, new, hook)
    return result


def _check(before: Tensor | None, result: object, hook: object) -> None:
    """Raises unless ``result`` may take the place of a gradient."""
    if not isinstance(result, Tensor):
        raise TypeError(f"expected Variable, but hook returned '{type(result).__name__}'")
    if before is None:
        raise RuntimeError("can't replace a None gradient with a non-None value")
    if result.dtype is not before.dtype or result.device.type != before.device.type:
        type_before, type_after = (tensor.type() for tensor in (before, result))  # pyright: ignore[reportAttributeAccessIssue]
        raise RuntimeError(f"hook '{_name(hook)}' has changed the type of value (was {type_before} got {type_after})")
    if result.shape != before.shape:
        raise RuntimeError(f"hook '{_name(hook)}' has changed the size of value")


def _name(hook: object) -> str:
    return getattr(hook, "__name__", "<unknown>")


def _tensor(cotangent: Any, create: bool) -> Tensor:
    return cotangent if create else from_value(cotangent)


def _gradient_tensor(tensor: Tensor, create: bool) -> Any:
    """A gradient as the backward pass carries it: with its history where the pass itself is recorded."""
    return tensor if create else tensor._value()
