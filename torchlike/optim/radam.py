"""RAdam."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

from .._core.tensor import Tensor
from ._chain import (
    Array,
    State,
    Transformation,
    chain,
    decayed,
    running_mean,
    running_square,
    scale_by_learning_rate,
    towards_the_minimum,
    transformation,
)
from ._update import Update
from .optimizer import OptaxOptimizer, check_betas, check_flags, check_numbers

__all__ = ["RAdam"]


def _radam(
    dtype: Any,
    first: bool,
    lr: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    *,
    weight_decay: Array | None = None,
    decoupled: bool,
    maximize: bool,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, None if decoupled else weight_decay)
    parts.append(_scale_by_radam(dtype, beta1, beta2, eps.astype(dtype)))
    parts += decayed(dtype, weight_decay) if decoupled else []
    return chain(*parts, scale_by_learning_rate(dtype, lr))


def _scale_by_radam(dtype: Any, beta1: Array, beta2: Array, eps: Array) -> Transformation:
    """``optax.scale_by_radam``, but with ``eps`` beside the uncorrected root, and its rectification in float64."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        mean = running_mean(state["exp_avg"], grads, beta1)
        square = running_square(state["exp_avg_sq"], grads, beta2)
        count = step.astype(jnp.float64)
        left = 1 - beta2**count
        longest = 2 / (1 - beta2) - 1
        length = longest - 2 * count * beta2**count / left  # of the average that v is
        known = length > 5  # only then has v a variance to speak of
        rectified = (length - 4) * (length - 2) * longest / ((longest - 4) * (longest - 2) * length)
        factor = (jnp.sqrt(jnp.where(known, rectified, 1) * left)).astype(dtype)
        step_by = jnp.where(known, factor / (jnp.sqrt(square) + eps), 1)
        new = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        return mean * (1 / (1 - beta1**count)).astype(dtype) * step_by, new

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "exp_avg", "exp_avg_sq")
_LEAVES = tuple(sorted(_SAVED))


class RAdam(OptaxOptimizer):
    """RAdam: Adam that trusts its mean square only once enough gradients have entered it.

    ``m`` and ``v`` as Adam's; ``n = 2 / (1 - b2) - 1``, ``n_t = n - 2 t b2^t / (1 - b2^t)``; where ``n_t > 5``,
    ``r = sqrt((n_t - 4) (n_t - 2) n / ((n - 4) (n - 2) n_t))`` and
    ``p = p - lr m / (1 - b1^t) r sqrt(1 - b2^t) / (sqrt(v) + eps)``, else ``p = p - lr m / (1 - b1^t)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay: numbers; may be changed in ``param_groups`` at any time.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, not through the gradient.
        maximize: go up the gradient.
        foreach, capturable: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.RAdam.html; https://arxiv.org/abs/1908.03265
    """

    _op = Update("RAdam", _radam)
    _lacking = {
        "foreach": None, "maximize": False, "differentiable": False, "decoupled_weight_decay": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_flags(lr, differentiable=differentiable)
        check_numbers(learning_rate=lr, eps=eps)
        check_betas(betas)
        check_numbers(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Any:
        beta1, beta2 = group["betas"]
        numbers = {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        flags = {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
        return numbers, flags, _LEAVES, _SAVED
