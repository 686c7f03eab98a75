"""NAdam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from .optimizer import OptaxOptimizer, check_betas, check_flags, check_numbers, count

__all__ = ["NAdam"]


def _nadam(
    dtype: Any,
    first: bool,
    lr: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    momentum_decay: Array,
    *,
    weight_decay: Array | None = None,
    decoupled: bool,
    maximize: bool,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, None if decoupled else weight_decay)
    parts.append(_scale_by_nadam(dtype, beta1, beta2, eps.astype(dtype), momentum_decay))
    parts += decayed(dtype, weight_decay) if decoupled else []
    return chain(*parts, scale_by_learning_rate(dtype, lr))


def _scale_by_nadam(dtype: Any, beta1: Array, beta2: Array, eps: Array, momentum_decay: Array) -> Transformation:
    """Unlike ``optax.nadam`` with the momentum's schedule of the paper, whose product is part of the state."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        count = step.astype(jnp.float64)
        now = beta1 * (1 - 0.5 * 0.96 ** (count * momentum_decay))
        next_ = beta1 * (1 - 0.5 * 0.96 ** ((count + 1) * momentum_decay))
        product = state["mu_product"] * now.astype(state["mu_product"].dtype)
        mean = running_mean(state["exp_avg"], grads, beta1)
        square = running_square(state["exp_avg_sq"], grads, beta2)
        root = jnp.sqrt(square / (1 - beta2**count).astype(dtype)) + eps
        made = product.astype(jnp.float64)
        of_grads, of_mean = ((1 - now) / (1 - made)).astype(dtype), (next_ / (1 - made * next_)).astype(dtype)
        new = {"step": step, "mu_product": product, "exp_avg": mean, "exp_avg_sq": square}
        return (of_grads * grads + of_mean * mean) / root, new

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "mu_product", "exp_avg", "exp_avg_sq")
_LEAVES = tuple(sorted(_SAVED))


class NAdam(OptaxOptimizer):
    """NAdam: Adam that looks ahead along its momentum, as Nesterov does.

    ``m`` and ``v`` as Adam's; ``c_t = b1 (1 - 0.96^(t momentum_decay) / 2)``, ``C`` the product of ``c`` so far;
    ``p = p - lr ((1 - c_t) g / (1 - C) + c_(t+1) m / (1 - C c_(t+1))) / (sqrt(v / (1 - b2^t)) + eps)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay, momentum_decay: numbers; may be changed in ``param_groups`` at any time.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, not through the gradient.
        maximize: go up the gradient.
        foreach, capturable: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.NAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8944], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.NAdam.html;
    https://openreview.net/forum?id=OM0jvwB8jIp57ZJjtNEZ
    """

    _op = Update("NAdam", _nadam)
    _captured = "params, mu_products and state_steps"
    _captured_together = "params, mu_products, and state_steps"
    _lacking = {
        "maximize": False, "foreach": None, "capturable": False, "differentiable": False, "decoupled_weight_decay": False,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 2e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum_decay: float = 4e-3,
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
        check_numbers(weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _initial(self, group: Mapping[str, object], param: Tensor) -> dict[str, Any]:
        return {"step": None, "mu_product": count(1, param), "exp_avg": None, "exp_avg_sq": None}

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Any:
        beta1, beta2 = group["betas"]
        numbers = {"lr": group["lr"], "beta1": beta1, "beta2": beta2} | {n: group[n] for n in ("eps", "momentum_decay")}
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        flags = {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
        return numbers, flags, _LEAVES, _SAVED
