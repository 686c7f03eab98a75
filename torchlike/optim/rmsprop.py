"""RMSprop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from .._core.tensor import Tensor
from ._chain import Array, State, Transformation, chain, descent, running_mean, running_square, trace, transformation
from ._optax_optimizer import OptaxOptimizer
from ._options import check_learning_rate, check_numbers, numbers_of
from ._update import Hyperparameters, Update

__all__ = ["RMSprop"]


@descent
def _rmsprop(
    dtype: np.dtype, alpha: Array, eps: Array, *, momentum: Array | None = None, centered: bool
) -> Transformation:
    scale = _scale_by_rms(alpha, eps.astype(dtype), centered)
    return scale if momentum is None else chain(scale, trace(momentum.astype(dtype)))


def _scale_by_rms(alpha: Array, eps: Array, centered: bool) -> Transformation:
    """``optax.scale_by_rms`` and ``optax.scale_by_stddev``, but with ``1 - alpha`` in float64."""

    def update(grads: Array, state: State, params: Array) -> tuple[Array, State]:
        square = running_square(state["square_avg"], grads, alpha)
        new = {"step": state["step"] + 1, "square_avg": square}
        if centered:
            mean = new["grad_avg"] = running_mean(state["grad_avg"], grads, alpha)
            square = square - mean * mean
        return grads / (jnp.sqrt(square) + eps), new

    return transformation("step square_avg" + " grad_avg" * centered, update)


class RMSprop(OptaxOptimizer):
    """RMSprop: gradients over the root of their running mean square.

    ``v = alpha v + (1 - alpha) g^2``; with ``centered`` ``a = alpha a + (1 - alpha) g`` and ``v - a^2`` in place of ``v``;
    ``b = momentum b + g / (sqrt(v) + eps)``; ``p = p - lr b``.

    Args:
        params: tensors or groups of them.
        lr, alpha, eps, weight_decay, momentum: numbers; a program may change them in ``param_groups`` at any time.
        centered: divide by the standard deviation.
        maximize: increase the loss, where other steps decrease it.
        foreach, capturable: choose between PyTorch's kernels. They have no effect here.
        differentiable: let gradients flow through ``step``. The parameters must not be leaves then.

    Raises:
        ValueError: a number is out of its range.

    >>> w = torch.nn.Parameter(torch.tensor([1.0]))
    >>> optimizer = torch.optim.RMSprop([w], lr=0.01)
    >>> (w * w).sum().backward()
    >>> optimizer.step()
    >>> w
    Parameter containing:
    tensor([0.9000], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.RMSprop.html;
    https://www.cs.toronto.edu/~tijmen/csc321/slides/lecture_slides_lec6.pdf
    """

    _by_elements = True

    _op = Update("RMSprop", _rmsprop, interpolated=("grad_avg",))
    _capturable_devices = ("xla", "xla")
    _defaults_of_old_files = {
        "momentum": 0, "centered": False, "foreach": None, "maximize": False, "differentiable": False, "capturable": False,
    }  # fmt: skip

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-2,
        alpha: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0,
        momentum: float = 0,
        centered: bool = False,
        capturable: bool = False,
        foreach: bool | None = None,
        maximize: bool = False,
        differentiable: bool = False,
    ) -> None:
        check_learning_rate(lr)
        check_numbers(learning_rate=lr, eps=eps, momentum=momentum, weight_decay=weight_decay, alpha=alpha)
        defaults = {
            "lr": lr, "momentum": momentum, "alpha": alpha, "eps": eps, "centered": centered, "weight_decay": weight_decay,
            "capturable": capturable, "foreach": foreach, "maximize": maximize, "differentiable": differentiable,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _hyperparameters(self, group: dict[str, Any], params: Sequence[object]) -> Hyperparameters:
        numbers = numbers_of(group, "lr", "alpha", "eps", "weight_decay")
        centered = group["centered"]
        momentum_buffer: tuple[str, ...] = ()
        if group["momentum"] > 0:
            numbers["momentum"] = group["momentum"]
            momentum_buffer = ("momentum_buffer",)
        grad_avg = ("grad_avg",) if centered else ()
        leaves = (*grad_avg, "square_avg", "step", *momentum_buffer)
        saved = ("step", "square_avg", *momentum_buffer, *grad_avg)
        return Hyperparameters(numbers, {"centered": centered, "maximize": group["maximize"]}, leaves, saved)
