"""Stochastic gradient descent."""

from __future__ import annotations

from typing import Any

from ._chain import sgd
from ._update import Update
from .optimizer import Chained, check_flags, check_number

__all__ = ["SGD"]


class SGD(Chained):
    """Gradient descent, with momentum if wanted.

    ``g = grad + weight_decay p``; ``b = momentum b + (1 - dampening) g`` (at the first step ``b = g``); ``p = p - lr b``, or
    ``p - lr (g + momentum b)`` with ``nesterov``.

    Args:
        params: tensors or groups of them.
        lr, momentum, dampening, weight_decay: numbers; may be changed in ``param_groups`` at any time.
        nesterov: look ahead along the momentum.
        maximize: go up the gradient.
        foreach, fused: choose between PyTorch's kernels; without effect here.
        differentiable: not supported.

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

    _op = Update("SGD", sgd)

    def __init__(
        self,
        params: Any,
        lr: Any = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: Any = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_flags(lr, foreach, fused, differentiable)
        check_number(lr >= 0.0, f"Invalid learning rate: {lr}")
        check_number(momentum >= 0.0, f"Invalid momentum value: {momentum}")
        check_number(weight_decay >= 0.0, f"Invalid weight_decay value: {weight_decay}")
        check_number(
            not nesterov or (momentum > 0 and dampening == 0), "Nesterov momentum requires a momentum and zero dampening"
        )
        defaults = {
            "lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay, "nesterov": nesterov,
            "maximize": maximize, "foreach": foreach, "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, default in (("nesterov", False), ("maximize", False), ("foreach", None), ("differentiable", False), ("fused", False)):  # fmt: skip  # noqa: E501
                group.setdefault(name, default)

    def _recipe(self, group: dict[str, Any]) -> Any:
        numbers = {"lr": group["lr"]}
        names: tuple[str, ...] = ()
        if group["momentum"] != 0:
            numbers["momentum"] = group["momentum"]
            names = ("momentum_buffer",)
            if group["dampening"] != 0:
                numbers["dampening"] = group["dampening"]
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        return numbers, {"nesterov": group["nesterov"], "maximize": group["maximize"]}, names, names
