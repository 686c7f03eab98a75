"""Adafactor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ..ops.creation.filled import zeros
from ._chain import Array, State, Transformation, chain, towards_the_minimum, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_learning_rate
from ._update import Hyperparameters, Update

__all__ = ["Adafactor"]


def _adafactor(
    dtype: np.dtype,
    first: bool,
    lr: Array,
    beta2_decay: Array,
    eps2: Array,
    d: Array,
    weight_decay: Array,
    *,
    eps1: Array | None = None,
    factored: bool,
    maximize: bool,
) -> Transformation:
    tiny = jnp.asarray(jnp.finfo(dtype).eps, jnp.float64) if eps1 is None else eps1
    descent = _factored_descent if factored else _whole_descent
    return chain(*towards_the_minimum(dtype, maximize), descent(dtype, lr, beta2_decay, tiny, eps2, d, weight_decay))


def _factored_descent(dtype: np.dtype, lr: Array, beta2_decay: Array, eps1: Array, *numbers: Array) -> Transformation:
    """As ``optax.adafactor``, but factored for matrices of any size, over the last two dimensions, and with PyTorch's rates."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        share = (step.astype(jnp.float64) ** beta2_decay).astype(dtype)
        squares = grads * grads
        rows, columns = (
            old + (jnp.mean(squares, axis, keepdims=True) - old) * share
            for old, axis in ((state["row_var"], -1), (state["col_var"], -2))
        )
        variance = rows * columns / jnp.maximum(jnp.mean(rows, -2, keepdims=True), eps1.astype(dtype))
        move = _step_by(dtype, grads, variance, params, step, lr, eps1, *numbers)
        return move, {"step": step, "row_var": rows, "col_var": columns}

    return transformation("step row_var col_var", update)


def _whole_descent(dtype: np.dtype, lr: Array, beta2_decay: Array, eps1: Array, *numbers: Array) -> Transformation:
    """As ``_factored_descent``, for a vector, whose variance is not factored."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        step = state["step"] + 1
        share = (step.astype(jnp.float64) ** beta2_decay).astype(dtype)
        variance = state["variance"] + (grads * grads - state["variance"]) * share
        move = _step_by(dtype, grads, variance, params, step, lr, eps1, *numbers)
        return move, {"step": step, "variance": variance}

    return transformation("step variance", update)


def _step_by(
    dtype: np.dtype,
    grads: Array,
    variance: Array,
    params: Array,
    step: Array,
    lr: Array,
    eps1: Array,
    eps2: Array,
    d: Array,
    weight_decay: Array,
) -> Array:
    # The rates are Python floats in PyTorch, so they are computed in float64 and rounded where they meet the parameter.
    rate = jnp.minimum(lr, 1 / jnp.sqrt(step.astype(jnp.float64)))
    alpha = jnp.maximum(eps2, _root_mean_square(params)) * rate
    direction = grads / jnp.sqrt(jnp.maximum(variance, (eps1 * eps1).astype(dtype)))
    too_large = jnp.maximum(1.0, _root_mean_square(direction) / d)
    return -(alpha / too_large).astype(dtype) * direction - (lr * weight_decay).astype(dtype) * params


def _root_mean_square(array: Array) -> Array:
    # float16 overflows when it is squared.
    at_least_float32 = array.astype(jnp.float64 if array.dtype == jnp.float64 else jnp.float32)
    # Divided in float64, as PyTorch does on the host.
    return jnp.sqrt(jnp.sum(at_least_float32 * at_least_float32)).astype(jnp.float64) / array.size**0.5


_MATRIX = ("step", "row_var", "col_var")
_VECTOR = ("step", "variance")


class Adafactor(OptaxOptimizer):
    """Adafactor: Adam's mean square kept as a row and a column, steps in proportion to the size of the parameter.

    ``b = 1 - t^beta2_decay``; ``R = b R + (1 - b) mean over columns of g^2``, ``C`` likewise over rows;
    ``V = R C / max(mean R, eps1)`` (vectors keep ``V = b V + (1 - b) g^2``); ``u = g / max(sqrt(V), eps1)``;
    ``a = max(eps2, rms(p)) min(lr, 1 / sqrt(t))``; ``p = p - lr weight_decay p - a u / max(1, rms(u) / d)``.

    Args:
        params: tensors or groups of them.
        lr, beta2_decay, d, weight_decay: numbers; a program may change them in ``param_groups`` at any time.
        eps: ``(eps1, eps2)``; None for ``eps1`` is the smallest difference from 1 that the dtype knows.
        maximize: increase the loss, where other steps decrease it.
        foreach: chooses between PyTorch's kernels. It has no effect here.

    Raises:
        ValueError: a number is out of its range.
        RuntimeError: a parameter is complex.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.Adafactor([w], lr=0.1)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adafactor.html; https://arxiv.org/abs/1804.04235
    """

    _op = Update("Adafactor", _adafactor, interpolated=("row_var", "variance"))
    _defaults_of_old_files = {"foreach": None}

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not lr >= 0.0:
            raise ValueError(f"Learning rate should be >= 0 but is: {lr}")
        if not beta2_decay <= 0.0:
            raise ValueError(f"beta2_decay should be <= 0 but is: {beta2_decay}")
        if eps[0] is not None and not eps[0] >= 0.0:
            raise ValueError(f"epsilon1 should be >= 0 but is: {eps[0]}")
        if not eps[1] >= 0.0:
            raise ValueError(f"epsilon2 should be >= 0 but is: {eps[1]}")
        if not d >= 1.0:
            raise ValueError(f"Clipping threshold d should be >= 1 but is: {d}")
        if not weight_decay >= 0.0:
            raise ValueError(f"weight_decay should be >= 0 but is: {weight_decay}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay, "foreach": foreach,
            "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _check_params(self, params: list[Tensor]) -> None:
        if any(p.is_complex() for p in params):
            raise RuntimeError("Adafactor does not support complex parameters")

    def _partition(self, params: list[Tensor]) -> list[list[Tensor]]:
        """Matrices and vectors, whose states differ."""
        return [part for part in ([p for p in params if p.dim() > 1], [p for p in params if p.dim() <= 1]) if part]

    def _initial_state(self, group: Mapping[str, object], param: Tensor) -> dict[str, Any]:
        if param.dim() <= 1:
            return {}
        shape, like = list(param.shape), {"dtype": param.dtype, "device": param.device}
        rows, columns = [*shape[:-1], 1], [*shape[:-2], 1, shape[-1]]
        return {"step": None, "row_var": zeros(rows, **like), "col_var": zeros(columns, **like)}

    def _hyperparameters(self, group: dict[str, Any], params: list[Tensor]) -> Hyperparameters:
        eps1, eps2 = group["eps"]
        numbers = {name: group[name] for name in ("lr", "beta2_decay", "d", "weight_decay")} | {"eps2": eps2}
        if eps1 is not None:
            numbers["eps1"] = eps1
        names = _MATRIX if params[0].dim() > 1 else _VECTOR
        flags = {"factored": names is _MATRIX, "maximize": group["maximize"]}
        return Hyperparameters(numbers, flags, tuple(sorted(names)), names)
