"""RAdam."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, descent, running_mean, running_square, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_adam_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["RAdam"]


@descent
def _radam(dtype: np.dtype, beta1: Array, beta2: Array, eps: Array) -> Transformation:
    """``optax.scale_by_radam``, but with ``eps`` added to the uncorrected root, and the rectification in float64."""
    eps = eps.astype(dtype)

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        mean = running_mean(state["exp_avg"], grads, beta1)
        square = running_square(state["exp_avg_sq"], grads, beta2)
        count = step.astype(jnp.float64)
        correction = 1 - beta2**count
        max_length = 2 / (1 - beta2) - 1
        # How many gradients the running mean square averages over.
        length = max_length - 2 * count * beta2**count / correction
        is_reliable = length > 5  # below that, the variance of v is not defined
        # Computed also in the steps that do not use it: a branch on the step would need a program for each kind of step.
        rectification = (length - 4) * (length - 2) * max_length / ((max_length - 4) * (max_length - 2) * length)
        # The inner choice keeps the root of a negative number out of the unused case, where NaN would reach gradients through the step.
        factor = (jnp.sqrt(jnp.where(is_reliable, rectification, 1) * correction)).astype(dtype)
        scale = jnp.where(is_reliable, factor / (jnp.sqrt(square) + eps), 1)
        new = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        return mean * (1 / (1 - beta1**count)).astype(dtype) * scale, new

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "exp_avg", "exp_avg_sq")
_LEAVES = tuple(sorted(_SAVED))


class RAdam(OptaxOptimizer):
    """RAdam: Adam that trusts its mean square only once enough gradients have entered it.

    ``m`` and ``v`` as Adam's; ``n = 2 / (1 - b2) - 1``, ``n_t = n - 2 t b2^t / (1 - b2^t)``; where ``n_t > 5``,
    ``r = sqrt((n_t - 4) (n_t - 2) n / ((n - 4) (n - 2) n_t))`` and
    ``p = p - lr m / (1 - b1^t) r sqrt(1 - b2^t) / (sqrt(v) + eps)``, else ``p = p - lr m / (1 - b1^t)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, not through the gradient.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RAdam([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.RAdam.html; https://arxiv.org/abs/1908.03265
    """

    _by_elements = True

    _op = Update("RAdam", _radam, interpolated=("exp_avg",))
    _defaults_of_old_files = {
        "foreach": None, "maximize": False, "differentiable": False, "decoupled_weight_decay": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        decoupled_weight_decay: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_adam_numbers(lr, betas, eps, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay, "maximize": maximize, "foreach": foreach,
            "capturable": capturable, "decoupled_weight_decay": decoupled_weight_decay, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "betas", "eps", "weight_decay")
        flags = {"decoupled": group["decoupled_weight_decay"], "maximize": group["maximize"]}
        return Hyperparameters(numbers, flags, _LEAVES, _SAVED)
