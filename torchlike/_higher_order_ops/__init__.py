"""torch.cond and torch.while_loop: control flow by tensors, as functions. The engine records what runs, so they run as Python does."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .._core.tensor import Tensor
from ..utils import _pytree as pytree

__all__ = ["cond", "while_loop"]


def cond(
    pred: bool | int | float | Tensor,
    true_fn: Callable[..., object],
    false_fn: Callable[..., object],
    operands: tuple[object, ...] | Sequence[object] = (),
) -> Any:
    """``true_fn(*operands)`` if ``pred`` is true, else ``false_fn(*operands)``.

    Args:
        pred: a number, or a tensor of one element. It is read: what is recorded runs first.
        operands: tensors, or tuples, lists and dictionaries of them.

    Raises:
        RuntimeError: ``pred`` is neither.

    >>> torch.cond(torch.tensor(True), lambda x: x + 1, lambda x: x - 1, (torch.ones(1),))
    tensor([2.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.cond.html
    """
    if not isinstance(pred, (bool, int, float, Tensor)):
        raise RuntimeError(f"Expected pred to be bool or tensor, but got {pred}.")
    if isinstance(pred, Tensor) and pred.numel() != 1:
        raise RuntimeError(f"Expected pred to be bool or single-element tensor, but got {pred}.")
    for function in (true_fn, false_fn):
        if not callable(function):
            raise TypeError(f"'{type(function).__name__}' object is not callable")
    return (true_fn if pred else false_fn)(*operands)


def while_loop(
    cond_fn: Callable[..., bool | Tensor], body_fn: Callable[..., object], carried_inputs: Sequence[object]
) -> tuple[Any, ...]:
    """Applies ``body_fn`` to what it returned, beginning with ``carried_inputs``, while ``cond_fn`` of it is true.

    Args:
        cond_fn: from the carried values to a tensor of one bool.
        body_fn: from the carried values to values of the same structure.

    Raises:
        RuntimeError: the body returns another structure than it takes, or ``carried_inputs`` is no tuple or list.

    >>> torch.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (torch.tensor(0), torch.ones(1)))
    (tensor(3), tensor([8.]))
    """
    if not isinstance(carried_inputs, (tuple, list)):
        raise RuntimeError(f"Expect carried_inputs to be a tuple or list but got {type(carried_inputs)}.")
    carried: tuple[Any, ...] = tuple(carried_inputs)
    structure = pytree.tree_structure(carried)
    while cond_fn(*carried):
        result = body_fn(*carried)
        carried = tuple(result) if isinstance(result, (tuple, list)) else (result,)
        if pytree.tree_structure(carried) != structure:
            raise RuntimeError(
                f"Expect body_fn to return values of the structure of carried_inputs ({structure}) but got "
                f"{pytree.tree_structure(carried)}."
            )
    return carried
