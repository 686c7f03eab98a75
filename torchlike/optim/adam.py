"""Adam."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, descent, running_mean, running_square, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_adam_numbers, check_fused, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["Adam"]


@descent
def _adam(dtype: np.dtype, beta1: Array, beta2: Array, eps: Array, *, amsgrad: bool = False) -> Transformation:
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
        lr, betas, eps, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        amsgrad: divide by the largest ``v`` so far.
        maximize: increase the loss, where other steps decrease it.
        decoupled_weight_decay: shrink parameters by ``lr weight_decay``, as ``AdamW`` does, not through the gradient.
        foreach, capturable, fused: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

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

    _by_elements = True

    _instead_for_sparse = ", please consider SparseAdam instead"
    _op = Update("Adam", _adam, interpolated=("exp_avg",))
    _defaults_of_old_files = {
        "amsgrad": False, "maximize": False, "foreach": None, "capturable": False, "differentiable": False,
        "decoupled_weight_decay": False, "fused": None,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float | Tensor, float | Tensor] = (0.9, 0.999),
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
        check_fused(fused, foreach, differentiable)
        check_adam_numbers(lr, betas, eps, weight_decay=weight_decay)
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

    def _hyperparameters(self, group: dict[str, Any], params: list[Tensor]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "betas", "eps", "weight_decay")
        amsgrad = group["amsgrad"]
        flags = {"decoupled": group["decoupled_weight_decay"], "amsgrad": amsgrad, "maximize": group["maximize"]}
        return Hyperparameters(numbers, flags, _LEAVES[amsgrad], _SAVED[amsgrad])
