"""Muon."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, chain, decayed, running_mean, scale_by_learning_rate, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_learning_rate
from ._update import Hyperparameters, Update

__all__ = ["Muon"]


def _muon(
    dtype: np.dtype,
    first: bool,
    lr: Array,
    momentum: Array,
    a: Array,
    b: Array,
    c: Array,
    eps: Array,
    weight_decay: Array,
    *,
    nesterov: bool,
    steps: int,
    match_rms: bool,
) -> Transformation:
    parts = [_averaged(momentum, nesterov), _orthogonal(a, b, c, eps, steps, match_rms)]
    return chain(*parts, *decayed(dtype, weight_decay), scale_by_learning_rate(dtype, lr))


def _averaged(momentum: Array, nesterov: bool) -> Transformation:
    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        mean = running_mean(state["momentum_buffer"], grads, momentum)
        return (running_mean(mean, grads, momentum) if nesterov else mean), {"momentum_buffer": mean}

    return transformation("momentum_buffer", update)


def _orthogonal(a: Array, b: Array, c: Array, eps: Array, steps: int, match_rms: bool) -> Transformation:
    """As ``optax.contrib.muon``, but computed in bfloat16, as in PyTorch, and with PyTorch's factors for the shape."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        rows, columns = grads.shape
        factor = 0.2 * math.sqrt(max(rows, columns)) if match_rms else math.sqrt(max(1, rows / columns))
        return (_newton_schulz(grads, a, b, c, eps, steps) * factor).astype(params.dtype), {}

    return transformation("", update)


def _newton_schulz(matrix: Array, a: Array, b: Array, c: Array, eps: Array, steps: int) -> Array:
    """``X = a X + (b X X' + c (X X')^2) X`` again and again, which draws all singular values of ``X`` towards 1."""
    low, wide = jnp.bfloat16, jnp.float32
    a, b, c = a.astype(wide), b.astype(wide), c.astype(wide)
    x = matrix.astype(low)
    tall = x.shape[0] > x.shape[1]
    # The smaller of ``x x'`` and ``x' x`` is computed: both give the same result, and the products cost less.
    x = x.T if tall else x
    # Summed in float32 and rounded once, as PyTorch's norm of a bfloat16 tensor is.
    norm = jnp.sqrt(jnp.sum(x.astype(wide) ** 2)).astype(low)
    x = x / jnp.maximum(norm, eps.astype(low))
    for _ in range(steps):
        # PyTorch rounds each product to bfloat16. Without these roundings the digits differ from PyTorch's at once.
        gram = jnp.matmul(x, x.T, preferred_element_type=wide).astype(low)
        square = jnp.matmul(gram, gram, preferred_element_type=wide)
        mixed = (b * gram.astype(wide) + c * square).astype(low)
        x = (a * x.astype(wide) + jnp.matmul(mixed, x, preferred_element_type=wide)).astype(low)
    return (x.T if tall else x).astype(wide)


_NAMES = ("momentum_buffer",)


class Muon(OptaxOptimizer):
    """Muon: momentum whose matrix is made nearly orthogonal, for the matrices of hidden layers.

    ``m = momentum m + (1 - momentum) g``; ``u = (1 - momentum) g + momentum m`` with ``nesterov``, else ``m``;
    ``p = p - lr weight_decay p - lr f NewtonSchulz(u)``, where ``f`` is ``sqrt(max(1, rows / columns))``, or
    ``0.2 sqrt(max(rows, columns))`` for ``adjust_lr_fn="match_rms_adamw"``.

    Args:
        params: matrices, or groups of them.
        lr, weight_decay, momentum, eps: numbers; a program may change them in ``param_groups`` at any time.
        nesterov: look ahead along the momentum.
        ns_coefficients: the three of the iteration.
        ns_steps: how often it runs, less than 100.
        adjust_lr_fn: None or ``"original"``, or ``"match_rms_adamw"``.

    Raises:
        ValueError: a number is out of its range, or a parameter is no matrix.
        RuntimeError: a parameter is complex.

    >>> w = torch.nn.Parameter(torch.eye(2))
    >>> optimizer = torch.optim.Muon([w], lr=0.1, weight_decay=0.0)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w[0, 1].item()
    0.0

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.Muon.html; https://kellerjordan.github.io/posts/muon
    """

    _op = Update("Muon", _muon, interpolated=("momentum_buffer",))

    def __init__(
        self,
        params: object,
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.7750, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None:
        check_learning_rate(lr)
        for words, number in (("Learning rate", lr), ("momentum", momentum), ("weight decay", weight_decay)):
            if not number >= 0.0:
                raise ValueError(f"{words} should be >= 0 but is: {number}")
        if adjust_lr_fn not in (None, "original", "match_rms_adamw"):
            raise ValueError(f"Adjust learning rate function {adjust_lr_fn} is not supported")
        defaults = {
            "lr": lr, "weight_decay": weight_decay, "momentum": momentum, "nesterov": nesterov,
            "ns_coefficients": ns_coefficients, "eps": eps, "ns_steps": ns_steps, "adjust_lr_fn": adjust_lr_fn,
        }  # fmt: skip
        super().__init__(params, defaults)
        for group in self.param_groups:
            for param in group["params"]:
                if param.dim() != 2:
                    raise ValueError(
                        f"Muon only supports 2D parameters whereas we found a parameter with size: {param.size()}"
                    )

    def _check_params(self, params: list[Tensor]) -> None:
        if any(p.is_complex() for p in params):
            raise RuntimeError("Muon does not support complex parameters")

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Hyperparameters:
        if group["ns_steps"] >= 100:
            raise ValueError("Number of steps must be less than 100 for computational efficiency")
        if len(group["ns_coefficients"]) != 3:
            raise ValueError("Coefficients must be a tuple of exactly 3 values")
        a, b, c = group["ns_coefficients"]
        numbers = {name: group[name] for name in ("lr", "momentum", "eps", "weight_decay")} | {"a": a, "b": b, "c": c}
        flags = {
            "nesterov": group["nesterov"],
            "steps": group["ns_steps"],
            "match_rms": group["adjust_lr_fn"] == "match_rms_adamw",
        }
        return Hyperparameters(numbers, flags, _NAMES, _NAMES)
