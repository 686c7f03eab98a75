"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import (
    Array,
    State,
    Transformation,
    chain,
    scale_by_learning_rate,
    towards_the_minimum,
    trace,
    transformation,
)
from ._optax_optimizer import OptaxOptimizer
from ._options import check_fused, check_learning_rate, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["SGD"]


def _sgd(
    dtype: np.dtype,
    first: bool,
    lr: Array,
    *,
    momentum: Array | None = None,
    dampening: Array | None = None,
    weight_decay: Array | None = None,
    nesterov: bool = False,
    maximize: bool = False,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, weight_decay)
    if momentum is not None:
        if dampening is None and not first:
            parts.append(trace(momentum.astype(dtype), nesterov))
        else:
            share = jnp.ones((), dtype) if dampening is None else (1 - dampening).astype(dtype)
            parts.append(_dampened_trace(momentum.astype(dtype), share, nesterov, first))
    return chain(*parts, scale_by_learning_rate(dtype, lr))


def _dampened_trace(decay: Array, share: Array, nesterov: bool, first: bool) -> Transformation:
    """``optax.trace`` where a gradient after the first enters with a share of less than one."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        # PyTorch detaches the first trace from the gradient, which matters for a differentiable step.
        trace = jax.lax.stop_gradient(grads) if first else decay * state["momentum_buffer"] + share * grads
        return (grads + decay * trace if nesterov else trace), {"momentum_buffer": trace}

    return transformation("momentum_buffer", update)


class SGD(OptaxOptimizer):
    """Gradient descent, with momentum if wanted.

    ``g = grad + weight_decay p``; ``b = momentum b + (1 - dampening) g`` (at the first step ``b = g``); ``p = p - lr b``, or
    ``p - lr (g + momentum b)`` with ``nesterov``.

    Args:
        params: tensors or groups of them.
        lr, momentum, dampening, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        nesterov: look ahead along the momentum.
        maximize: increase the loss, where other steps decrease it.
        foreach, fused: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.SGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.SGD.html
    """

    _by_elements = True

    _op = Update("SGD", _sgd)
    _foreach_is_differentiable = True
    _defaults_of_old_files = {
        "nesterov": False,
        "maximize": False,
        "foreach": None,
        "differentiable": False,
        "fused": False,
    }

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: int = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_fused(fused, foreach, differentiable)
        check_learning_rate(lr)
        if lr < 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if momentum < 0.0:
            raise ValueError(f"Invalid momentum value: {momentum}")
        if weight_decay < 0.0:
            raise ValueError(f"Invalid weight_decay value: {weight_decay}")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _step_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """As for a dense gradient. The momentum is sparse too, and is zero where no gradient has been yet."""
        grad = -grad if group["maximize"] else grad
        if group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        momentum, rate = group["momentum"], float(group["lr"])
        if momentum != 0:
            own = self.state[param]
            buffer = own.get("momentum_buffer")
            if buffer is None:
                buffer = own["momentum_buffer"] = grad.clone()
            else:
                buffer.mul_(momentum).add_(grad, alpha=1 - group["dampening"])
            if not buffer.is_coalesced():  # or it would grow with each step
                buffer.copy_(buffer.coalesce())
            grad = grad.add(buffer, alpha=momentum) if group["nesterov"] else buffer
        param.add_(grad, alpha=-rate)

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "weight_decay")
        names: tuple[str, ...] = ()
        momentum, dampening = group["momentum"], group["dampening"]
        if momentum != 0:
            numbers["momentum"] = momentum
            names = ("momentum_buffer",)
            if dampening != 0:
                numbers["dampening"] = dampening
        flags = {"nesterov": group["nesterov"], "maximize": group["maximize"]}
        return Hyperparameters(numbers, flags, names, names)
