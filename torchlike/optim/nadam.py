"""NAdam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, descent, running_mean, running_square, transformation
from ._optax_optimizer import OptaxOptimizer, scalar_state
from ._options import check_adam_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["NAdam"]


@descent
def _nadam(dtype: np.dtype, beta1: Array, beta2: Array, eps: Array, momentum_decay: Array) -> Transformation:
    """As ``optax.nadam``, but with the paper's schedule for the momentum; the product of all momenta is part of the state."""
    eps = eps.astype(dtype)

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        count = step.astype(jnp.float64)
        momentum = beta1 * (1 - 0.5 * 0.96 ** (count * momentum_decay))
        next_momentum = beta1 * (1 - 0.5 * 0.96 ** ((count + 1) * momentum_decay))
        product = state["mu_product"] * momentum.astype(state["mu_product"].dtype)
        mean = running_mean(state["exp_avg"], grads, beta1)
        square = running_square(state["exp_avg_sq"], grads, beta2)
        root = jnp.sqrt(square / (1 - beta2**count).astype(dtype)) + eps
        product64 = product.astype(jnp.float64)
        grad_factor = ((1 - momentum) / (1 - product64)).astype(dtype)
        mean_factor = (next_momentum / (1 - product64 * next_momentum)).astype(dtype)
        new = {"step": step, "mu_product": product, "exp_avg": mean, "exp_avg_sq": square}
        return (grad_factor * grads + mean_factor * mean) / root, new

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "mu_product", "exp_avg", "exp_avg_sq")
_LEAVES = tuple(sorted(_SAVED))


class NAdam(OptaxOptimizer):
    """NAdam: Adam that looks ahead along its momentum, as Nesterov does.

    ``m`` and ``v`` as Adam's; ``c_t = b1 (1 - 0.96^(t momentum_decay) / 2)``, ``C`` the product of ``c`` so far;
    ``p = p - lr ((1 - c_t) g / (1 - C) + c_(t+1) m / (1 - C c_(t+1))) / (sqrt(v / (1 - b2^t)) + eps)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay, momentum_decay: numbers; a program may change them in ``param_groups`` at any time.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, not through the gradient.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

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

    _by_elements = True

    _op = Update("NAdam", _nadam, interpolated=("exp_avg",))
    _capturable_words = "params, mu_products and state_steps"
    _capturable_words_foreach = "params, mu_products, and state_steps"
    _defaults_of_old_files = {
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
        check_adam_numbers(lr, betas, eps, weight_decay=weight_decay, momentum_decay=momentum_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "momentum_decay": momentum_decay,
            "decoupled_weight_decay": decoupled_weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _initial_state(self, group: Mapping[str, object], param: Tensor) -> dict[str, Any]:
        return {"step": None, "mu_product": scalar_state(1, param), "exp_avg": None, "exp_avg_sq": None}

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "betas", "eps", "momentum_decay", "weight_decay")
        flags = {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
        return Hyperparameters(numbers, flags, _LEAVES, _SAVED)
