"""Adamax."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, descent, running_mean, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_adam_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["Adamax"]


@descent
def _adamax(dtype: np.dtype, beta1: Array, beta2: Array, eps: Array) -> Transformation:
    """``optax.scale_by_adamax``, but with ``1 - beta1`` and the bias correction in float64."""
    beta2, eps = beta2.astype(dtype), eps.astype(dtype)

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
        lr, betas, eps, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

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

    _by_elements = True

    _op = Update("Adamax", _adamax, interpolated=("exp_avg",))
    _defaults_of_old_files = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

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
        check_adam_numbers(lr, betas, eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "foreach": foreach, "maximize": maximize,
            "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "betas", "eps", "weight_decay")
        return Hyperparameters(numbers, {"maximize": group["maximize"]}, _LEAVES, _SAVED)
