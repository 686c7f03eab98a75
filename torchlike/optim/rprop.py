"""Rprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ..ops.creation.filled import full_like
from ._chain import Array, State, Transformation, chain, towards_the_minimum, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_learning_rate, check_numbers
from ._update import Hyperparameters, Update

__all__ = ["Rprop"]


def _rprop(
    dtype: np.dtype, first: bool, shrink: Array, grow: Array, smallest: Array, largest: Array, *, maximize: bool
) -> Transformation:
    numbers = [number.astype(dtype) for number in (shrink, grow, smallest, largest)]
    return chain(*towards_the_minimum(dtype, maximize), _signed_steps(*numbers))


def _signed_steps(shrink: Array, grow: Array, smallest: Array, largest: Array) -> Transformation:
    """As ``optax.scale_by_rprop``, but the state has the last gradient, where optax's has the last step."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        agreement = jnp.sign(grads * state["prev"])  # 1 where the gradient keeps its sign, -1 where the sign changes
        factor = jnp.where(agreement > 0, grow, jnp.where(agreement < 0, shrink, jnp.ones_like(agreement)))
        size = jnp.clip(state["step_size"] * factor, smallest, largest)
        active = jnp.where(agreement < 0, jnp.zeros_like(grads), grads)
        return -size * jnp.sign(active), {"step": state["step"] + 1, "prev": active, "step_size": size}

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "prev", "step_size")
_LEAVES = tuple(sorted(_SAVED))


class Rprop(OptaxOptimizer):
    """Rprop: the size of a step depends only on whether the gradient keeps its sign.

    Where ``g`` has the sign of the last one, ``s = s etas[1]``; where it has the other, ``s = s etas[0]`` and ``g = 0``;
    ``s`` is kept within ``step_sizes``; ``p = p - s sign(g)``.

    Args:
        params: tensors or groups of them.
        lr: the size of the first step.
        etas, step_sizes: pairs of numbers; a program may change them in ``param_groups`` at any time.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

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

    _by_elements = True

    _op = Update("Rprop", _rprop)
    _capturable_devices = ("xla", "xla")
    _defaults_of_old_files = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

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
        check_learning_rate(lr)
        check_numbers(learning_rate=lr)
        if not 0.0 < etas[0] < 1.0 < etas[1]:
            raise ValueError(f"Invalid eta values: {etas[0]}, {etas[1]}")
        defaults = {
            "lr": lr, "etas": etas, "step_sizes": step_sizes, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        size = float(group["lr"])
        start = complex(size, size) if param.is_complex() else size
        return {"step": None, "prev": None, "step_size": full_like(param.detach(), start)}

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Hyperparameters:
        (shrink, grow), (smallest, largest) = group["etas"], group["step_sizes"]
        numbers = {"shrink": shrink, "grow": grow, "smallest": smallest, "largest": largest}
        return Hyperparameters(numbers, {"maximize": group["maximize"]}, _LEAVES, _SAVED)
