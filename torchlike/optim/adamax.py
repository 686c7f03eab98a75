"""Adamax."""

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
    running_mean,
    scale_by_learning_rate,
    towards_the_minimum,
    transformation,
)
from ._update import Update
from .optimizer import OptaxOptimizer, check_betas, check_flags, check_numbers

__all__ = ["Adamax"]


def _adamax(
    dtype: Any,
    first: bool,
    lr: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    *,
    weight_decay: Array | None = None,
    maximize: bool,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, weight_decay)
    return chain(
        *parts,
        _scale_by_adamax(dtype, beta1, beta2.astype(dtype), eps.astype(dtype)),
        scale_by_learning_rate(dtype, lr),
    )


def _scale_by_adamax(dtype: Any, beta1: Array, beta2: Array, eps: Array) -> Transformation:
    """``optax.scale_by_adamax``, but with ``1 - beta1`` and the bias correction in float64."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        mean = running_mean(state["exp_avg"], grads, beta1)
        largest = jnp.maximum(state["exp_inf"] * beta2, jnp.abs(grads) + eps)
        scale = (1 / (1 - beta1 ** step.astype(jnp.float64))).astype(dtype)
        return mean * scale / largest, {"step": step, "exp_avg": mean, "exp_inf": largest}

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "exp_avg", "exp_inf")
_LEAVES = tuple(sorted(_SAVED))


class Adamax(OptaxOptimizer):
    """Adamax: Adam with the largest recent gradient in place of the mean square.

    ``m = b1 m + (1 - b1) g``; ``u = max(b2 u, |g| + eps)``; ``p = p - lr / (1 - b1^t) m / u``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay: numbers; may be changed in ``param_groups`` at any time.
        maximize: go up the gradient.
        foreach, capturable: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adamax([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adamax.html; https://arxiv.org/abs/1412.6980
    """

    _op = Update("Adamax", _adamax)
    _lacking = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_flags(lr, differentiable=differentiable)
        check_numbers(learning_rate=lr, eps=eps)
        check_betas(betas)
        check_numbers(weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Any:
        beta1, beta2 = group["betas"]
        numbers = {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        return numbers, {"maximize": group["maximize"]}, _LEAVES, _SAVED
