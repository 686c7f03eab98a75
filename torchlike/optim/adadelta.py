"""Adadelta."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, descent, running_square, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_learning_rate, check_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["Adadelta"]


@descent
def _adadelta(dtype: np.dtype, rho: Array, eps: Array) -> Transformation:
    """``optax.scale_by_adadelta``, but with ``1 - rho`` in float64."""
    eps = eps.astype(dtype)

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        square = running_square(state["square_avg"], grads, rho)
        delta = jnp.sqrt(state["acc_delta"] + eps) / jnp.sqrt(square + eps) * grads
        delta_square = running_square(state["acc_delta"], delta, rho)
        return delta, {"step": state["step"] + 1, "square_avg": square, "acc_delta": delta_square}

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "square_avg", "acc_delta")
_LEAVES = tuple(sorted(_SAVED))


class Adadelta(OptaxOptimizer):
    """Adadelta: steps as large as the running size of earlier steps over that of gradients.

    ``v = rho v + (1 - rho) g^2``; ``d = sqrt(u + eps) / sqrt(v + eps) g``; ``u = rho u + (1 - rho) d^2``; ``p = p - lr d``.

    Args:
        params: tensors or groups of them.
        lr, rho, eps, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adadelta([w], lr=10.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9684], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adadelta.html; https://arxiv.org/abs/1212.5701
    """

    _by_elements = True

    _op = Update("Adadelta", _adadelta)
    _capturable_devices = ("", "")
    _defaults_of_old_files = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        *,
        capturable: bool = False,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_numbers(learning_rate=lr)
        if not 0.0 <= rho <= 1.0:
            raise ValueError(f"Invalid rho value: {rho}")
        check_numbers(eps=eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay, "maximize": maximize,
            "capturable": capturable, "foreach": foreach, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "rho", "eps", "weight_decay")
        return Hyperparameters(numbers, {"maximize": group["maximize"]}, _LEAVES, _SAVED)
