"""Adagrad."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp

from .._core.tensor import Tensor, from_value
from ..ops.creation.filled import full_like
from ._chain import (
    Array,
    State,
    Transformation,
    chain,
    scale_by_learning_rate,
    towards_the_minimum,
    transformation,
)
from ._update import Update
from .optimizer import OptaxOptimizer, check_flags, check_numbers, count

__all__ = ["Adagrad"]


def _adagrad(
    dtype: Any,
    first: bool,
    lr: Array,
    lr_decay: Array,
    eps: Array,
    *,
    weight_decay: Array | None = None,
    maximize: bool,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, weight_decay)
    return chain(*parts, _scale_by_adagrad(dtype, lr_decay, eps.astype(dtype)), scale_by_learning_rate(dtype, lr))


def _scale_by_adagrad(dtype: Any, lr_decay: Array, eps: Array) -> Transformation:
    """Unlike ``optax.scale_by_rss`` with ``eps`` outside of the root, and with a rate that falls."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        total = state["sum"] + grads * grads
        rate = 1 / (1 + state["step"].astype(jnp.float64) * lr_decay)
        return rate.astype(dtype) * grads / (jnp.sqrt(total) + eps), {"step": state["step"] + 1, "sum": total}

    return transformation("step sum", update)


_NAMES = ("step", "sum")


class Adagrad(OptaxOptimizer):
    """Adagrad: each element's rate falls with the sum of its squared gradients.

    ``s = s + g^2``; ``p = p - lr / (1 + (t - 1) lr_decay) g / (sqrt(s) + eps)``.

    Args:
        params: tensors or groups of them.
        lr, lr_decay, weight_decay, eps: numbers; may be changed in ``param_groups`` at any time.
        initial_accumulator_value: what ``s`` starts from.
        maximize: go up the gradient.
        foreach, fused: choose between PyTorch's kernels; without effect here.
        differentiable: let gradients flow through ``step``; its parameters are then no leaves.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adagrad([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adagrad.html;
    https://jmlr.org/papers/v12/duchi11a.html
    """

    _op = Update("Adagrad", _adagrad)
    _lacking = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        lr_decay: float = 0,
        weight_decay: float = 0,
        initial_accumulator_value: float = 0,
        eps: float = 1e-10,
        foreach: bool | None = None,
        *,
        maximize: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        check_flags(lr, foreach, fused, differentiable)
        check_numbers(
            learning_rate=lr,
            lr_decay=lr_decay,
            weight_decay=weight_decay,
            initial_accumulator_value=initial_accumulator_value,
            eps=eps,
        )
        defaults = {
            "lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay,
            "initial_accumulator_value": initial_accumulator_value, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "fused": fused,
        }  # fmt: skip
        super().__init__(params, defaults)
        # PyTorch's has its state from the start. Parameters of one device share the count, see `step_group`.
        steps = {}
        for group in self.param_groups:
            for param in group["params"]:
                own = self._initial(group, param)
                shared = steps.setdefault(param.device, own["step"]._value())
                self.state[param] = own | {"step": from_value(shared)}

    def _initial(self, group: Mapping[str, object], param: Any) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]  # PyTorch's asks no group either
        start = complex(start, start) if param.is_complex() else start
        return {"step": count(0, param), "sum": full_like(param.detach(), start)}

    def share_memory(self) -> None:
        """Moves the state to where other processes see it: ``Tensor.share_memory_``."""
        for own in self.state.values():
            own["sum"].share_memory_()

    def _hyperparameters(self, group: Mapping[str, object], params: Sequence[object]) -> Any:
        numbers = {name: group[name] for name in ("lr", "lr_decay", "eps")}
        if group["weight_decay"] != 0:
            numbers["weight_decay"] = group["weight_decay"]
        return numbers, {"maximize": group["maximize"]}, _NAMES, _NAMES
