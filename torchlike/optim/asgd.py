"""ASGD: stochastic gradient descent with averaged parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.dtypes import float64, get_default_dtype
from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, chain, towards_the_minimum, transformation
from ._optax_optimizer import OptaxOptimizer, scalar_state
from ._options import check_learning_rate, check_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["ASGD"]


def _asgd(
    dtype: np.dtype,
    first: bool,
    lr: Array,
    lambd: Array,
    alpha: Array,
    t0: Array,
    *,
    weight_decay: Array | None = None,
    maximize: bool,
    double: bool,
) -> Transformation:
    parts = towards_the_minimum(dtype, maximize, weight_decay)
    return chain(*parts, _averaged_descent(dtype, lr, lambd, alpha, t0, jnp.float64 if double else jnp.float32))


def _averaged_descent(
    dtype: np.dtype, lr: Array, lambd: Array, alpha: Array, t0: Array, default: type
) -> Transformation:
    """Descends with the rate ``eta`` that the last step computed, and averages with ``mu``; both are rounded to the default dtype."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step, eta, mu, mean = (state[name] for name in _SAVED)
        step = step + 1
        rate = eta.astype(jnp.float64)
        move = -rate.astype(dtype) * grads - (lambd * rate).astype(dtype) * params
        mean = jnp.where(mu == 1, params + move, mean + (params + move - mean) * mu.astype(dtype))
        count = step.astype(jnp.float64)
        new = {
            "step": step,
            "eta": (lr / (1 + lambd * lr * count) ** alpha).astype(default).astype(eta.dtype),
            "mu": (1 / jnp.maximum(1, count - t0)).astype(default).astype(mu.dtype),
            "ax": mean,
        }
        return move, new

    return transformation(" ".join(_SAVED), update)


_SAVED = ("step", "eta", "mu", "ax")
_LEAVES = tuple(sorted(_SAVED))


class ASGD(OptaxOptimizer):
    """Averaged stochastic gradient descent: gradient descent, with the mean of the parameters so far in its state.

    ``p = (1 - lambd eta) p - eta g``; ``ax = ax + mu (p - ax)``; then ``eta = lr / (1 + lambd lr t)^alpha`` and
    ``mu = 1 / max(1, t - t0)``.

    Args:
        params: tensors or groups of them.
        lr, lambd, alpha, t0, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.ASGD([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.8000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.ASGD.html; https://dl.acm.org/doi/10.1137/0330046
    """

    _by_elements = True

    _op = Update("ASGD", _asgd)
    _capturable_words = "params, mus, etas, and state_steps"
    _defaults_of_old_files = {"foreach": None, "maximize": False, "differentiable": False, "capturable": False}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        lambd: float = 1e-4,
        alpha: float = 0.75,
        t0: float = 1e6,
        weight_decay: float = 0,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
        capturable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_numbers(learning_rate=lr, weight_decay=weight_decay)
        defaults = {
            "lr": lr, "lambd": lambd, "alpha": alpha, "t0": t0, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize, "differentiable": differentiable, "capturable": capturable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _initial_state(self, group: dict[str, Any], param: Tensor) -> dict[str, Any]:
        return {"step": None, "eta": scalar_state(float(group["lr"]), param), "mu": scalar_state(1, param), "ax": None}

    def _hyperparameters(self, group: dict[str, object], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "lambd", "alpha", "t0", "weight_decay")
        flags = {"maximize": group["maximize"], "double": get_default_dtype() is float64}
        return Hyperparameters(numbers, flags, _LEAVES, _SAVED)
