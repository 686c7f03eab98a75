"""Adam and AdamW."""

from __future__ import annotations

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

__all__ = ["Adam", "AdamW"]


def _adam(
    dtype: Any,
    first: bool,
    lr: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    *,
    weight_decay: Array | None = None,
    decoupled: bool = False,
    amsgrad: bool = False,
    maximize: bool = False,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, None if decoupled else weight_decay)
    parts.append(_scale_by_adam(dtype, beta1, beta2, eps, amsgrad))
    parts += decayed(dtype, weight_decay) if decoupled else []
    return chain(*parts, scale_by_learning_rate(dtype, lr))


def _scale_by_adam(dtype: Any, beta1: Array, beta2: Array, eps: Array, amsgrad: bool) -> Transformation:
    """``optax.scale_by_adam``, but with ``1 - beta`` and bias corrections in float64."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        mean = running_mean(state["exp_avg"], grads, beta1)
        square = running_square(state["exp_avg_sq"], grads, beta2)
        new = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        if amsgrad:
            square = new["max_exp_avg_sq"] = jnp.maximum(state["max_exp_avg_sq"], square)
        count = step.astype(jnp.float64)
        root = jnp.sqrt(1 - beta2**count).astype(dtype)
        scale = (1 / (1 - beta1**count)).astype(dtype)
        return mean * scale / (jnp.sqrt(square) / root + eps.astype(dtype)), new

    return transformation(" ".join(_SAVED[amsgrad]), update)


_SAVED = {
    amsgrad: ("step", "exp_avg", "exp_avg_sq") + (("max_exp_avg_sq",) if amsgrad else ()) for amsgrad in (False, True)
}
_LEAVES = {amsgrad: tuple(sorted(names)) for amsgrad, names in _SAVED.items()}


class Adam(OptaxOptimizer):
    """Adam: steps scaled by running means of the gradient and of its square.

    ``m = b1 m + (1 - b1) g``; ``v = b2 v + (1 - b2) g^2``; ``p = p - lr (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + eps)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay: numbers; may be changed in ``param_groups`` at any time.
        amsgrad: divide by the largest ``v`` so far.
        maximize: go up the gradient.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, as ``AdamW`` does, not through the gradient.
        foreach, capturable, fused: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html; https://arxiv.org/abs/1412.6980
    """

    _op = Update("Adam", _adam)
    _lacking = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        if isinstance(lr, Tensor) and foreach and not capturable:
            raise ValueError("lr as a Tensor is not supported for capturable=False and foreach=True")
        check_flags(lr, foreach, fused, differentiable)
        check_numbers(learning_rate=lr, eps=eps)
        check_betas(betas)
        check_numbers(weight_decay=weight_decay)
        if isinstance(betas[0], Tensor) != isinstance(betas[1], Tensor):
            raise ValueError("betas must be either both floats or both Tensors")
        for i, beta in enumerate(betas):
            if isinstance(beta, Tensor) and foreach and not capturable:
                raise ValueError(f"betas[{i}] as a Tensor is not supported for capturable=False and foreach=True")
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "amsgrad": amsgrad, "maximize": maximize,
            "foreach": foreach, "capturable": capturable, "differentiable": differentiable, "fused": fused,
            "decoupled_weight_decay": decoupled_weight_decay,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, Any], params: list[Any]) -> Any:
        beta1, beta2 = group["betas"]
        numbers = {"lr": group["lr"], "beta1": beta1, "beta2": beta2, "eps": group["eps"]}
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        amsgrad = group["amsgrad"]
        flags = {"decoupled": group["decoupled_weight_decay"], "amsgrad": amsgrad, "maximize": group["maximize"]}
        return numbers, flags, _LEAVES[amsgrad], _SAVED[amsgrad]


class AdamW(Adam):
    """``Adam`` whose weight decay shrinks the parameters themselves and stays out of the running means.

    Args: as for ``Adam``; ``weight_decay`` is 0.01 unless said otherwise.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.AdamW([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8990], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.AdamW.html; https://arxiv.org/abs/1711.05101
    """

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[Any, Any] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        super().__init__(
            params,
            lr,
            betas,
            eps,
            weight_decay,
            amsgrad,
            foreach=foreach,
            maximize=maximize,
            capturable=capturable,
            differentiable=differentiable,
            fused=fused,
            decoupled_weight_decay=True,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            group["decoupled_weight_decay"] = True
