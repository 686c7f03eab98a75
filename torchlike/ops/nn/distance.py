"""Distances between vectors, and the losses made of distances and margins."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.autocast import under_autocast
from ...dispatch.register import Autocast, Category, Form, Indices, Promote, ValueCheck, composite, op
from ...numerics.exact_math import exact_quotient
from ..elementwise import extrema, pointwise
from ..elementwise.activation import logsigmoid
from ..reduction.reduce import vector_norm
from ..shape.reshape import broadcast_tensors


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL, autocast={"cuda": Autocast.FLOAT32})
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """``sum(x1 * x2) / (max(norm(x1), eps) * max(norm(x2), eps))`` along a dimension.

    >>> torch.cosine_similarity(torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0, 0.0]]))
    tensor([1.])
    """
    for x in (x1, x2):
        if x.dtype.category != dtypes.FLOAT:
            raise RuntimeError("expected common dtype to be floating point, yet common dtype is " + x.dtype.scalar_name)
    x1, x2 = broadcast_tensors(x1, x2)  # first: the norms are those of the expanded vectors
    first = vector_norm(x1, 2, dim, True)
    second = vector_norm(x2, 2, dim, True)
    return (x1 / first.clamp_min(eps) * (x2 / second.clamp_min(eps))).sum(dim)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def pairwise_distance(x1: object, x2: object, p: float = 2, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """``norm(x1 - x2 + eps, p)`` along the last dimension.

    >>> torch.pairwise_distance(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2))
    tensor([5.0000])
    """
    return vector_norm(pointwise.add(pointwise.sub(x1, x2), eps), p, -1, keepdim)


def reduced(loss: Tensor, reduction: str) -> Tensor:
    """The loss of each element made one number, or left as it is."""
    return loss.mean() if reduction == "mean" else loss.sum() if reduction == "sum" else loss


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float, p: float, eps: float, swap: bool, reduction: str
) -> Tensor:
    """How much nearer than the negative the positive is not: ``max(0, d(a, p) - d(a, n) + margin)``."""
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = pairwise_distance(anchor, positive, p, eps), pairwise_distance(anchor, negative, p, eps)
    if swap:
        far = extrema.minimum(far, pairwise_distance(positive, negative, p, eps))
    gap = pointwise.sub(near, far)
    return reduced((gap + margin).clamp_min(0), reduction)


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float, reduction: str) -> Tensor:
    """``1 - cos`` for pairs with target 1, ``max(0, cos - margin)`` for those with -1."""
    if target.dim() not in (0, 1):
        raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
    tiny = 1e-12  # PyTorch's, inside the roots
    dim = target.dim()
    if input1.dim() != dim + 1 or input2.dim() != dim + 1:
        inputs = "1D input tensors" if dim == 0 else "2D input tensors"
        raise RuntimeError(
            f"{dim}D target tensor expects {inputs}, but found inputs with sizes {list(input1.shape)} and {list(input2.shape)}."
        )
    dots = (input1 * input2).sum(dim)
    squares = [(x * x).sum(dim) + tiny for x in (input1, input2)]
    cosine = dots / (squares[0] * squares[1]).sqrt()
    alike = pointwise.select_by(target == 1, 1 - cosine, 0)
    dissimilar = pointwise.select_by(target == -1, (cosine - margin).clamp_min(0), 0)
    return reduced(alike + dissimilar, reduction)


def multilabel_soft_margin_loss(input: Tensor, target: Tensor, weight: Tensor | None, reduction: str) -> Tensor:
    """Binary cross entropy of each class's logit, averaged over the classes."""
    loss = -(target * logsigmoid(input) + (1 - target) * logsigmoid(-input))
    if weight is not None:
        loss = loss * weight
    classes = input.dim() - 1
    return reduced(loss.sum(classes) / input.shape[classes], reduction)


@op(
    name="_multi_margin_loss",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="MultiMarginLossBackward0",
    refuse="multi_margin_loss_forward_cpu",
    check=ValueCheck(
        lambda input, target, *others: (((target < 0) | (target >= (*input.shape, 1)[len(input.shape) > 1])).any(), 0),
        lambda value, *args, avals: RuntimeError("target out of range"),
    ),
    samples=[],
    autocast=Autocast.FLOAT32,
)
def multi_margin_loss(
    input: Array, target: Indices, weight: Array | None, p: int | float, margin: float, reduction: str
) -> Array:
    """``mean over classes of max(0, margin - x[target] + x[class]) ** p``, the target class left out."""
    if p not in (1, 2):
        raise RuntimeError("only p == 1 and p == 2 supported")
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    rows = jnp.atleast_2d(input)
    if target.ndim > 1 or target.size != rows.shape[0]:
        raise RuntimeError(
            "multi_margin_loss: target tensor should be 1-D with size equal to the number of input samples (batch size). Expected target "
            f"size [{rows.shape[0]}], but got {list(target.shape)}. Input has shape {list(input.shape)}."
        )
    if weight is not None:
        if weight.size != rows.shape[1]:
            raise RuntimeError(f"inconsistent weight size, expected {rows.shape[1]} but got {list(weight.shape)}")
        if weight.dtype != input.dtype:
            names = [dtypes.from_numpy_dtype(x.dtype).scalar_name for x in (input, weight)]
            raise RuntimeError("expected scalar type {} but found {}".format(*names))
    where = target.reshape(-1, 1)
    is_target = jnp.arange(rows.shape[1], dtype=where.dtype) == where
    zero = jnp.zeros((), rows.dtype)
    picked = jnp.sum(jnp.where(is_target, rows, zero), axis=1, keepdims=True)
    loss = _above_zero(jnp.asarray(margin, rows.dtype) - picked + rows)
    loss = loss if p == 1 else loss * loss
    if weight is not None:
        loss = loss * jnp.take(weight, where, mode="clip")
    loss = jnp.sum(jnp.where(is_target, zero, loss), axis=1) / jnp.asarray(rows.shape[1], rows.dtype)
    return _finish(loss, input.ndim < 2, reduction)


def _above_zero(x: Array) -> Array:
    # Not jnp.maximum, which gives half of the gradient at 0, and NaN for NaN: PyTorch's loops add up what is above 0.
    return jnp.where(x > 0, x, jnp.zeros((), x.dtype))


def _finish(loss: Array, single: bool, reduction: str) -> Array:
    if reduction == "none":
        return loss[0] if single else loss
    total = jnp.sum(loss)
    return exact_quotient(total, jnp.asarray(loss.size, total.dtype)) if reduction == "mean" else total


@op(
    name="_multilabel_margin_loss",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="MultilabelMarginLossBackward0",
    refuse="multilabel_margin_loss_forward_out_frame",
    check=ValueCheck(
        lambda input, target, reduction: (
            ((target < -1) | (target >= (*input.shape, 1)[max(input.ndim - 1, 0)])).any(),
            0,
        ),
        lambda value, *args, avals: RuntimeError("argument #2 'target' is out of range"),
    ),
    samples=[],
    autocast=Autocast.FLOAT32,
)
def multilabel_margin_loss(input: Array, target: Indices, reduction: str) -> Array:
    """Hinge loss between each labelled and each other class; a row's labels end before its first -1."""
    if input.ndim > 2 or (input.ndim and not input.shape[-1]):
        raise RuntimeError(
            f"Expected non-empty vector or matrix with optional 0-dim batch size, but got: {list(input.shape)}"
        )
    if input.shape != target.shape:
        raise RuntimeError(f"inconsistent target size: {list(target.shape)} for input of size: {list(input.shape)}")
    rows, labels = jnp.atleast_2d(input), jnp.atleast_2d(target)
    classes = rows.shape[1]
    counted = jnp.cumsum((labels < 0).astype(np.int32), axis=1) == 0
    is_label = (labels[:, :, None] == jnp.arange(classes, dtype=labels.dtype)) & counted[:, :, None]
    zero = jnp.zeros((), rows.dtype)
    scores = jnp.sum(jnp.where(is_label, rows[:, None, :], zero), axis=2)  # of each label
    other = ~jnp.any(is_label, axis=1)
    hinge = _above_zero(jnp.ones((), rows.dtype) - scores[:, :, None] + rows[:, None, :])
    loss = jnp.sum(jnp.where(counted[:, :, None] & other[:, None, :], hinge, zero), axis=(1, 2))
    return _finish(loss / jnp.asarray(classes, rows.dtype), input.ndim < 2, reduction)
