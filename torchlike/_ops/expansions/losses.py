"""Losses: the reduction is a number in PyTorch's operators."""

from __future__ import annotations

from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS
from .table import expands, op

__all__ = ["REDUCTIONS"]

REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _broadcast(input: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    if input.shape == target.shape:
        return input, target
    shape = list(FUNCTIONS["broadcast_shapes"](input.shape, target.shape))
    return op("expand")(input, shape), op("expand")(target, shape)


@expands("F.mse_loss")
def mse_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """The operator of the same name."""
    return op("mse_loss")(*_broadcast(input, target), REDUCTIONS[reduction])


@expands("F.smooth_l1_loss")
def smooth_l1_loss(input: Tensor, target: Tensor, reduction: str, beta: float) -> Tensor:
    """The operator of the same name."""
    return op("smooth_l1_loss")(*_broadcast(input, target), REDUCTIONS[reduction], float(beta))


@expands("F.huber_loss")
def huber_loss(input: Tensor, target: Tensor, reduction: str, delta: float) -> Tensor:
    """The operator of the same name."""
    return op("huber_loss")(*_broadcast(input, target), REDUCTIONS[reduction], float(delta))


def _reduced(result: Tensor, reduction: str) -> Tensor:
    return result if reduction == "none" else op(reduction)(result)


@expands("F.l1_loss")
def l1_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """``sub``, ``abs`` and ``mean``."""
    input, target = _broadcast(input, target)
    return _reduced(op("abs")(op("sub", "Tensor")(input, target)), reduction)


@expands("F.kl_div")
def kl_div(input: Tensor, target: Tensor, reduction: str, log_target: bool) -> Tensor:
    """The formula of the loss."""
    if log_target:
        result = op("mul", "Tensor")(op("exp")(target), op("sub", "Tensor")(target, input))
    else:
        product = op("mul", "Tensor")(target, input)
        result = op("sub", "Tensor")(op("xlogy", "Tensor")(target, target), product)
    if reduction == "batchmean":
        return op("div", "Tensor")(op("sum")(result), input.shape[0])
    return _reduced(result, reduction)


@expands("F.binary_cross_entropy")
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """The operator of the same name."""
    return op("binary_cross_entropy")(input, target, weight, REDUCTIONS[reduction])


@expands("F.binary_cross_entropy_with_logits")
def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, pos_weight: Tensor | None
) -> Tensor:
    """The operator of the same name."""
    return op("binary_cross_entropy_with_logits")(input, target, weight, pos_weight, REDUCTIONS[reduction])


@expands("F.nll_loss")
def nll_loss(input: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int, reduction: str) -> Tensor:
    """``nll_loss_forward``."""
    if input.dim() > 2:
        return op("nll_loss_nd")(input, target, weight, REDUCTIONS[reduction], ignore_index)
    return op("nll_loss_forward")(input, target, weight, REDUCTIONS[reduction], ignore_index)[0]


@expands("F.cross_entropy")
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    ignore_index: int,
    reduction: str,
    label_smoothing: float,
) -> Tensor:
    """``_log_softmax`` and ``nll_loss_forward``; the function as a whole for probabilities and with smoothing."""
    if label_smoothing or target.dtype.is_floating_point or input.dim() > 2:
        whole = op("cross_entropy_loss")
        return whole(input, target, weight, REDUCTIONS[reduction], ignore_index, label_smoothing)
    logarithms = op("_log_softmax")(input, input.dim() - 1, False)
    return nll_loss(logarithms, target, weight, ignore_index, reduction)
