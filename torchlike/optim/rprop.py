"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from .._core.tensor import Tensor
from ..ops.creation.filled import full_like
from ._chain import Array, State, Transformation, chain, towards_the_minimum, transformation
from ._update import Update
from .optimizer import OptaxOptimizer, check_flags, check_numbers

__all__ = ["Rprop"]


def _rprop(
    dtype: Any, first: bool, shrink: Array, grow: Array, smallest: Array, largest: Array, *, maximize: bool
) -> Transformation:
    numbers = [number.astype(dtype) for number in (shrink, grow, smallest, largest)]
    return chain(*towards_the_minimum(dtype, maximize), _signed_steps(*numbers))


def _signed_steps(shrink: Array, grow: Array, smallest: Array, largest: Array) -> Transformation:
    """Unlike ``optax.scale_by_rprop`` with the gradient as state, where that has the step made from it."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        turn = jnp.sign(grads * state["prev"])
        factor = jnp.where(turn > 0, grow, jnp.where(turn < 0, shrink, jnp.ones_like(turn)))
        size = jnp.clip(state["step_size"] * factor, smallest, largest)
        kept = jnp.where(turn < 0, jnp.zeros_like(grads), grads)
        return -size * jnp.sign(kept), {"step": state["step"] + 1, "prev": kept, "step_size": size}

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "prev", "step_size")
_LEAVES = tuple(sorted(_SAVED))


class Rprop(OptaxOptimizer):
    """Rprop: steps whose size asks only whether gradients keep their sign.

    Where ``g`` has the sign of the last one, ``s = s etas[1]``; where it has the other, ``s = s etas[0]`` and ``g = 0``;
    ``s`` is kept within ``step_sizes``; ``p = p - s sign(g)``.

    Args:
        params: tensors or groups of them.
        lr: the size of the first step.
        etas, step_sizes: pairs of numbers; may be changed in ``param_groups`` at any time.
        maximize: go up the gradient.
        foreach, capturable: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Rprop([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Rprop.html; https://ieeexplore.ieee.org/document/298623
    """

    _op = Update("Rprop", _rprop)
    _captured_on = ("xla", "xla")
    _lacking = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        etas: tuple[float, float] = (0.5, 1.2),
        step_sizes: tuple[float, float] = (1e-6, 50),
        *,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_flags(lr, differentiable=differentiable)
        check_numbers(learning_rate=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _initial(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        size = float(group["lr"])
        start = complex(size, size) if param.is_complex() else size
        return {"step": None, "prev": None, "step_size": full_like(param.detach(), start)}

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Any:
        (shrink, grow), (smallest, largest) = group["etas"], group["step_sizes"]
        numbers = {"shrink": shrink, "grow": grow, "smallest": smallest, "largest": largest}
        return numbers, {"maximize": group["maximize"]}, _LEAVES, _SAVED
