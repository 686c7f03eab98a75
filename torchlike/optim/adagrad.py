"""Adagrad."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor, from_value
from ..ops.creation.filled import full_like
from ..sparse._construction import sparse_coo_tensor
from ._chain import Array, State, Transformation, descent, transformation
from ._optax_optimizer import OptaxOptimizer, scalar_state
from ._options import check_fused, check_learning_rate, check_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["Adagrad"]


@descent
def _adagrad(dtype: np.dtype, lr_decay: Array, eps: Array) -> Transformation:
    """As ``optax.scale_by_rss``, but ``eps`` is added to the root, and the rate falls."""
    eps = eps.astype(dtype)

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
        lr, lr_decay, weight_decay, eps: numbers; a program may change them in ``param_groups`` at any time.
        initial_accumulator_value: the first value of ``s``.
        maximize: increase the loss, where other steps decrease it.
        foreach, fused: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

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

    _by_elements = True

    _op = Update("Adagrad", _adagrad)
    _defaults_of_old_files = {"foreach": None, "maximize": False, "differentiable": False, "fused": None}

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
        check_fused(fused, foreach, differentiable)
        check_learning_rate(lr)
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
        # In PyTorch, Adagrad has its state from the start. The parameters of a device share one counter, which ``step_group`` looks for.
        steps: dict[Any, Any] = {}
        for group in self.param_groups:
            for param in group["params"]:
                own = self._initial_state(group, param)
                shared = steps.setdefault(param.device, own["step"]._value())
                self.state[param] = own | {"step": from_value(shared)}

    def _initial_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        start = self.defaults["initial_accumulator_value"]  # PyTorch too ignores the group's value
        start = complex(start, start) if param.is_complex() else start
        return {"step": scalar_state(0, param), "sum": full_like(param.detach(), start)}

    def share_memory(self) -> None:
        """Moves the state to where other processes see it: ``Tensor.share_memory_``."""
        for own in self.state.values():
            own["sum"].share_memory_()

    def _step_sparse(self, group: dict[str, Any], param: Tensor, grad: Tensor) -> None:
        """The step of the rows that have a gradient."""
        if group["weight_decay"] != 0:
            raise RuntimeError("weight_decay option is not compatible with sparse gradients")
        own = self.state[param]
        own["step"].add_(1)
        rate = float(group["lr"]) / (1 + (own["step"].item() - 1) * group["lr_decay"])
        grad = (-grad if group["maximize"] else grad).coalesce()
        own["sum"].add_(grad * grad)
        roots = own["sum"].sparse_mask(grad).values().sqrt().add_(group["eps"])
        step = sparse_coo_tensor(grad.indices(), grad.values() / roots, grad.shape, is_coalesced=True)
        param.add_(step, alpha=-rate)

    def _hyperparameters(self, group: dict[str, object], params: list[Tensor]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "lr_decay", "eps", "weight_decay")
        return Hyperparameters(numbers, {"maximize": group["maximize"]}, _NAMES, _NAMES)
