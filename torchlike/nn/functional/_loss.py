"""Losses of regression, classification and distributions."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..._core import dtypes
from ..._core.modes import modes
from ..._core.tensor import Tensor
from ...dispatch.arguments import check_call, check_flags, check_value
from ...dispatch.autocast import under_autocast
from ...dispatch.register import Autocast
from ...ops.linalg.matmul import linear
from ...ops.nn import ctc as _ctc, distance as _distance, linear_cross_entropy as _chunks, loss as _loss

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cross_entropy", "ctc_loss", "gaussian_nll_loss", "huber_loss",
    "kl_div", "l1_loss", "linear_cross_entropy", "mse_loss", "nll_loss", "poisson_nll_loss", "smooth_l1_loss",
]  # fmt: skip


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """The negative log-probability of the target classes under ``softmax(input)``.

    Args:
        input: shape (N, C), (C) or (N, C, d1, ...): unnormalised scores.
        target: class numbers of shape (N), () or (N, d1, ...); or probabilities of the input's shape.
        weight: shape (C), of each class.
        ignore_index: targets with this number do not count.
        label_smoothing: the share of the target that is spread over all classes.

    >>> F.cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor(0.6931)

    Raises:
        IndexError: a target is no class. ValueError, RuntimeError: shapes and dtypes that do not go together.
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    try:
        return _loss.cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing)
    # Arguments are looked at only after a failure: this is called at each step, and checking types first would cost every call.
    except AttributeError:
        arguments = input, target, weight, reduction, ignore_index, label_smoothing
        check_call("cross_entropy_loss", _loss.cross_entropy, arguments, {})
        raise
    except TypeError as error:
        if isinstance(label_smoothing, str):
            check_value("cross_entropy_loss", "label_smoothing", 6, "float", label_smoothing)
        error.args = (str(error).replace("nll_loss()", "cross_entropy_loss()", 1),)
        raise


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-input`` at the target classes: the loss of log-probabilities; arguments as of ``cross_entropy``.

    >>> F.nll_loss(torch.tensor([[0.1, 0.9], [0.8, 0.2]]).log(), torch.tensor([1, 0]))
    tensor(0.1643)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    try:
        return _loss.nll_loss(input, target, weight, reduction, ignore_index)
    except TypeError as error:
        if "argument 'ignore_index'" in str(error):
            error.args = (str(error).replace("nll_loss()", "nll_loss_nd()", 1),)
        raise


def _same_sizes(input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(loss: object, input: Tensor, weight: Tensor, reduction: str) -> Tensor:
    """A loss of each element, weighted and reduced: the mean is divided by the sum of weights."""
    if tuple(weight.shape) != tuple(input.shape):
        raise ValueError("Weights and input must have the same size.")
    loss = loss * weight
    if reduction == "none":
        return loss
    return loss.sum() if reduction == "sum" else loss.sum() / weight.sum()


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of ``(input - target) ** 2``.

    >>> F.mse_loss(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 4.0]))
    tensor(2.)
    """
    _same_sizes(input, target)
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(_loss.mse_loss(input, target, "none"), input, weight, reduction)
    return _loss.mse_loss(input, target, reduction)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """The mean of ``|input - target|``.

    >>> F.l1_loss(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(2.)
    """
    _same_sizes(input, target)
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if weight is not None:
        return _weighted(_loss.l1_loss(input, target, "none"), input, weight, reduction)
    return _loss.l1_loss(input, target, reduction)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """``l1_loss`` whose corner is a parabola within ``beta`` of the target.

    >>> F.smooth_l1_loss(torch.zeros(2), torch.tensor([0.5, 3.0]))
    tensor(1.3125)
    """
    _same_sizes(input, target)
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    # With ``beta`` 0 the formula would divide by zero. Its limit is the L1 loss, which PyTorch takes too.
    return _loss.smooth_l1_loss(input, target, reduction, beta) if beta else _loss.l1_loss(input, target, reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """A parabola within ``delta`` of the target, lines of slope ``delta`` beyond.

    >>> F.huber_loss(torch.zeros(2), torch.tensor([1.0, 3.0]), delta=2.0)
    tensor(2.2500)
    """
    _same_sizes(input, target)
    _loss.check_reduction(reduction)
    if delta <= 0:
        raise RuntimeError("huber_loss does not support non-positive values for delta.")
    if weight is not None:
        return _weighted(_loss.huber_loss(input, target, "none", delta), input, weight, reduction)
    return _loss.huber_loss(input, target, reduction, delta)


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-(target * log(input) + (1 - target) * log(1 - input))`` of probabilities.

    Raises:
        ValueError: shapes that differ. RuntimeError: elements that are no probabilities.

    >>> F.binary_cross_entropy(torch.tensor([0.9, 0.2]), torch.tensor([1.0, 0.0]))
    tensor(0.1643)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}) is deprecated. Please ensure they "
            "have the same size."
        )
    return _loss.binary_cross_entropy(input, target, weight, reduction)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """``binary_cross_entropy`` of ``sigmoid(input)``, computed without overflow.

    Args:
        pos_weight: what the loss of positive examples is multiplied by.

    >>> F.binary_cross_entropy_with_logits(torch.tensor([2.0, -1.0]), torch.tensor([1.0, 0.0]))
    tensor(0.2201)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
    for name, factor in (("weight", weight), ("pos_weight", pos_weight)):
        if factor is not None and factor.requires_grad and modes.grad_enabled:
            raise RuntimeError(
                f"The function 'binary_cross_entropy_with_logits' is not differentiable with respect to argument '{name}'. This input "
                "cannot have requires_grad True."
            )
    return _loss.binary_cross_entropy_with_logits(input, target, weight, pos_weight, reduction)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """``target * (log(target) - input)``: the divergence of log-probabilities from a target distribution.

    Args:
        reduction: "batchmean" divides the sum by the batch size, which is the divergence's definition.

    >>> F.kl_div(torch.tensor([[0.25, 0.75]]).log(), torch.tensor([[0.5, 0.5]]), reduction="batchmean")
    tensor(0.1438)
    """
    if reduction != "batchmean":
        reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch "
            "size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
            stacklevel=2,
        )
    check_flags("kl_div", log_target=(None, log_target))
    if reduction == "batchmean":
        total = _loss.kl_div(input, target, "sum", log_target)
        # A scalar has no batch to divide by.
        return total / input.shape[0] if input.dim() else total
    return _loss.kl_div(input, target, reduction, log_target)


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-08,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-likelihood of counts under Poisson distributions with rate ``exp(input)``, or ``input``.

    Args:
        full: whether Stirling's approximation of the constant term is added.

    >>> F.poisson_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]))
    tensor(1.)
    """
    reduction = _loss.legacy_reduction(size_average, reduce, reduction)
    check_flags("poisson_nll_loss", log_input=(3, log_input), full=(4, full))
    check_value("poisson_nll_loss", "eps", 5, "float", eps)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        # Stirling's approximation holds for counts above 1. For the others PyTorch adds nothing, and ``log`` would give -inf at 0.
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _distance.reduced(loss, reduction)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of targets under normal distributions of mean ``input`` and variance ``var``.

    Args:
        full: whether the constant term is added.

    >>> F.gaussian_nll_loss(torch.zeros(2), torch.tensor([1.0, 2.0]), torch.ones(2))
    tensor(1.2500)
    """
    if not isinstance(var, Tensor):
        if var < 0:
            raise ValueError("var has negative entry/entries")
        var = var * input.new_ones(input.shape)
    elif bool((var < 0).any()):
        raise ValueError("var has negative entry/entries")
    if tuple(var.shape) != tuple(input.shape):
        if tuple(input.shape[:-1]) == tuple(var.shape):
            var = var.unsqueeze(-1)
        elif input.dim() != var.dim() or [v for n, v in zip(input.shape, var.shape, strict=True) if n != v] != [1]:
            raise ValueError("var is of incorrect size")  # ``var`` may broadcast along one dimension at most
    _loss.check_reduction(reduction)
    bounded = var.clone()
    # PyTorch bounds the variance outside of the graph, so the gradient is that of the variance without the bound.
    bounded = bounded + (bounded.clamp_min(eps) - bounded).detach()
    loss = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _distance.reduced(loss, reduction)


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor,
    target_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """``-log`` of the probability that a sequence of distributions spells its target, over all alignments.

    Args:
        log_probs: shape (T, N, C) or (T, C): logarithms of probabilities, as ``log_softmax`` gives them.
        targets: shape (N, S), or all targets one after the other in one dimension.
        input_lengths, target_lengths: of each sequence: tensors of shape (N), or numbers.
        blank: the label of "no symbol".
        reduction: "mean" divides each loss by its target's length first.
        zero_infinity: whether the loss is 0 where no alignment exists.

    Source: Graves et al., "Connectionist temporal classification" (2006).
    """
    _loss.check_reduction(reduction)
    number = ("none", "mean", "sum").index(reduction)
    return _ctc.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, number, zero_infinity)


def linear_cross_entropy(
    input: Any,
    linear_weight: Any,
    target: Tensor,
    *,
    linear_bias: Any = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: object = None,
) -> Tensor:
    """``cross_entropy(linear(input, linear_weight, linear_bias), target)``.

    Args:
        input: shape (N, in_features) or (in_features).
        linear_weight: shape (C, in_features), or (C, d1, ..., in_features) for losses over several dimensions.
        target: class numbers (N), (N, d1, ...), or probabilities of the logits' shape.
        linear_bias: shape (C) or (C, d1, ...).
        weight, reduction, label_smoothing: as of ``cross_entropy``.
        ignore_index: targets with this number do not count; None: -100.
        options: ``nn.LinearCrossEntropyOptions``: take the batch in chunks, so that not all logits are there at once.

    Raises:
        RuntimeError: shapes that do not go together. IndexError: a target is no class.
    """
    if input.dim() not in (1, 2):
        raise RuntimeError(f"expected input with dimensionality 1 or 2, got {input.dim()}")
    if linear_weight.dim() < 2:
        raise RuntimeError(f"expected linear_weight with dimensionality at least 2, got {linear_weight.dim()}")
    if input.shape[-1] != linear_weight.shape[-1]:
        raise RuntimeError(
            "expected equal input and linear_weight last dimensions (in_features), got "
            f"{input.shape[-1]} and {linear_weight.shape[-1]}, respectively"
        )
    classes, *places, features = linear_weight.shape
    if linear_bias is not None and tuple(linear_bias.shape) != (classes, *places):
        raise RuntimeError(f"expected linear_bias shape {(classes, *places)}, got {tuple(linear_bias.shape)}")
    if places and input.dim() == 1:
        raise RuntimeError(
            f"K-dimensional loss defined by linear_weight shape {tuple(linear_weight.shape)} requires batched input, (N, {features}), "
            f"got unbatched input with shape {tuple(input.shape)}"
        )
    shape = (*input.shape[:-1], classes, *places)
    if tuple(target.shape) == shape and ignore_index is not None:
        raise RuntimeError("ignore_index cannot be specified when target contains probabilities")
    _loss.check_reduction(reduction)
    ignored = -100 if ignore_index is None else ignore_index
    if options is not None:
        if not places and not label_smoothing and target.dtype is dtypes.int64:
            return _in_chunks(input, linear_weight, target, linear_bias, weight, reduction, ignored, options)
        warnings.warn(
            "linear_cross_entropy: ``options`` ignored; chunked path needs reduction in {'mean','sum','none'}, label_smoothing == 0, "
            f"target.dtype == int64, out_features == (). Got reduction={reduction!r}, label_smoothing={label_smoothing}, "
            f"target.dtype={target.dtype}, out_features={tuple(places)}, tracing=False, linear_bias.shape="
            f"{tuple(linear_bias.shape) if linear_bias is not None else None}.",
            stacklevel=2,
        )
    if places:
        linear_weight = linear_weight.reshape(classes * math.prod(places), features)
        linear_bias = None if linear_bias is None else linear_bias.reshape(-1)
    logits = linear(input, linear_weight, linear_bias)
    return cross_entropy(
        logits.reshape(shape),
        target,
        weight=weight,
        reduction=reduction,
        ignore_index=ignored,
        label_smoothing=label_smoothing,
    )


def _in_chunks(
    input: Tensor,
    linear_weight: Any,
    target: Tensor,
    bias: Tensor | None,
    weight: Tensor | None,
    reduction: str,
    ignored: int,
    options: object,
) -> Tensor:
    single = input.dim() == 1
    rows, targets = (input.unsqueeze(0), target.unsqueeze(0)) if single else (input, target)
    size = _chunk_size(options, rows.shape[0], rows.shape[1], linear_weight.shape[0])
    result = _chunks.in_chunks(rows, linear_weight, targets, bias, weight, reduction, ignored, size)
    return result.squeeze(0) if single and reduction == "none" else result


def _chunk_size(options: Any, batch: int, in_features: int, num_classes: int) -> int:
    """The number of rows in a chunk."""
    if options.batch_chunk_size is not None:
        return max(min(options.batch_chunk_size, batch), 1)
    if options.chunking_method is None:
        return max(batch, 1)
    # "aspect_ratio:K": a chunk's logits have about K times as many elements as the whole input
    ratio = 1 if options.chunking_method == "auto" else int(options.chunking_method.partition(":")[2])
    return max(1, min(batch, -(-batch * in_features * ratio // max(num_classes, 1))))
