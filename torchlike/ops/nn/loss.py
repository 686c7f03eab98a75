"""Losses: from predictions and targets to a number."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.autocast import under_autocast
from ...dispatch.register import Autocast, Category, Form, Indices, Promote, Sample, ValueCheck, op
from ...engine.aval import Aval
from ...numerics.derivatives import custom_jvp
from ...numerics.exact_math import exact_quotient, traced_platform
from ...numerics.half_precision import at_least_float32
from ...numerics.picking import first_where
from ..elementwise import elementary, pointwise
from .norm import log_softmax

REDUCTIONS = ("none", "mean", "sum")


def check_reduction(reduction: str) -> None:
    """Raises ValueError for what is no reduction."""
    if reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")


def legacy_reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, from the two old arguments if one of them is passed."""
    if size_average is None and reduce is None:
        check_reduction(reduction)
        return reduction
    keeps_elements = reduce is not None and not reduce
    name = "none" if keeps_elements else "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=3
    )
    return name


def _reduced(loss: Array, reduction: str) -> Array:
    """In the wider dtype that half types are computed in, as ``loss`` is."""
    if reduction == "none":
        return loss
    total = jnp.sum(loss)
    return exact_quotient(total, jnp.asarray(loss.size, total.dtype)) if reduction == "mean" else total


PAIR = tuple(Sample(shapes=((3, 4), (3, 4)), args=(reduction,)) for reduction in REDUCTIONS)


def _refuses(kernel: str) -> Any:
    return lambda name, dtype: NotImplementedError(f"\"{kernel}\" not implemented for '{dtype.scalar_name}'")


# ---- classes


def _class_axis(input: Array | Tensor) -> int:
    return 0 if len(input.shape) == 1 else 1


def _no_class(
    input: Array | Tensor, target: Array | np.ndarray, weight: Array | Tensor | None, reduction: str, ignore_index: int
) -> tuple[object, object]:
    """Whether some target is no class, and the first such target."""
    classes = input.shape[_class_axis(input)]
    flat = target.reshape(-1)
    if not flat.size:
        return False, 0
    wrong = ((flat < 0) | (flat >= classes)) & (flat != ignore_index)
    return wrong.any(), first_where(flat, wrong)


def _check_targets(shape: tuple[int, ...], target_shape: tuple[int, ...]) -> None:
    """Raises PyTorch's errors where scores and targets do not go together."""
    rank = len(shape)
    if rank < 1:
        raise ValueError(f"Expected 1 or more dimensions (got {rank})")
    if rank != 1 and (not target_shape or shape[0] != target_shape[0]):
        raise ValueError(
            f"Expected input batch_size ({shape[0]}) to match target batch_size ({target_shape[0] if target_shape else 0})."
        )
    if rank <= 2:
        if len(target_shape) > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if rank == 1 and target_shape not in ((), (1,)):
            raise RuntimeError(f"size mismatch (got input: {list(shape)}, target: {list(target_shape)})")
    elif rank == 4:
        if len(target_shape) != 3:
            raise RuntimeError(
                f"only batches of spatial targets supported (3D tensors) but got targets of dimension: {len(target_shape)}"
            )
        if shape[:1] + shape[2:] != target_shape:
            raise RuntimeError(f"size mismatch (got input: {list(shape)} , target: {list(target_shape)}")
    elif shape[2:] != target_shape[1:]:
        raise RuntimeError(f"Expected target size {[shape[0], *shape[2:]]}, got {list(target_shape)}")


@op(
    name="_nll_loss",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=lambda input, *others: "NllLossBackward0" if len(input.shape) <= 2 else "NllLoss2DBackward0",
    constant=("weight",),
    check=ValueCheck(_no_class, lambda value, *args, avals: IndexError(f"Target {value} is out of bounds.")),
    samples=[],
    autocast=Autocast.FLOAT32,
)
def nll_loss(input: Array, target: Indices, weight: Array | None, reduction: str, ignore_index: int) -> Array:
    """``-input`` at the target classes, weighted by class; classes lie along dimension 1, or 0 if it is the only one."""
    _check_targets(input.shape, target.shape)
    kind = dtypes.from_numpy_dtype(target.dtype)
    axis = _class_axis(input)
    classes = input.shape[axis]
    if kind.name not in ("int64", "uint8"):
        raise RuntimeError(f"expected target dtype to be Long or Byte, but got {kind.scalar_name}")
    if input.dtype.kind in "biuc":
        raise NotImplementedError(
            f"\"nll_loss_out_frame\" not implemented for '{dtypes.from_numpy_dtype(input.dtype).scalar_name}'"
        )
    if weight is not None:
        if weight.shape != (classes,):
            raise RuntimeError(
                f"weight tensor should be defined either for all {classes} classes or no classes but got weight tensor of shape: "
                f"{list(weight.shape)}"
            )
        if weight.dtype != input.dtype:
            names = [dtypes.from_numpy_dtype(d.dtype).scalar_name for d in (input, weight)]
            raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")
    target = target.reshape(input.shape[:axis] + input.shape[axis + 1 :])
    counted = target != ignore_index
    safe = jnp.where(counted, target, jnp.zeros((), target.dtype))
    loss = -_at_classes(at_least_float32(input), safe.astype(np.int64), axis)
    if weight is None:
        share = counted.astype(loss.dtype)
    else:
        share = jnp.where(counted, jnp.take(weight.astype(loss.dtype), safe, mode="clip"), jnp.zeros((), loss.dtype))
    loss = jnp.where(counted, loss * share, jnp.zeros((), loss.dtype))
    if reduction == "none":
        return loss.astype(input.dtype)
    total = jnp.sum(loss)
    return (total / jnp.sum(share) if reduction == "mean" else total).astype(input.dtype)


def _at_classes(x: Array, classes: Array, axis: int) -> Array:
    """The elements at the given positions of an axis.

    The derivative compares with a grid of positions and does not scatter: it fuses with what follows, the derivative of
    ``log_softmax``, in one pass over the rows. On a TPU the elements are found so, too: a gather reads an array in memory, which would
    be all of ``log_softmax``'s result in float32.
    """
    on_tpu = traced_platform() == "tpu"

    def marked(x: Array, where: Array, values: Array) -> Array:
        here = jax.lax.broadcasted_iota(np.int64, x.shape, axis) == jnp.expand_dims(where, axis)
        return jnp.sum(jnp.where(here, values, jnp.zeros((), x.dtype)), axis=axis)

    @custom_jvp
    def at(x: Array, where: Array) -> Array:
        if on_tpu:
            return marked(x, where, x)
        return jnp.squeeze(jnp.take_along_axis(x, jnp.expand_dims(where, axis), axis, mode="clip"), axis)

    @at.defjvp
    def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        x, where = primals
        return at(x, where), marked(x, where, tangents[0])

    return at(x, classes)


@under_autocast(cpu=Autocast.FLOAT32)
def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Tensor:
    """``nll_loss`` of ``log_softmax``, or, where targets are probabilities, ``-sum(target * log_softmax(input))``."""
    shape = input._aval.shape
    axis = 0 if len(shape) == 1 else 1
    if not 0.0 <= label_smoothing <= 1.0:
        raise RuntimeError(f"label_smoothing must be between 0.0 and 1.0. Got: {label_smoothing:g}")
    if shape == target._aval.shape:
        if target.dtype.category != dtypes.FLOAT:
            raise RuntimeError(
                f"Expected floating point type for target with class probabilities, got {target.dtype.scalar_name}"
            )
        if ignore_index >= 0:
            raise RuntimeError("ignore_index is not supported for floating point target")
        _check_weight(input, weight, axis)
        return _probability_cross_entropy(input, target, weight, reduction, axis, label_smoothing)
    logs = log_softmax(input, axis, None)
    plain = nll_loss(logs, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return plain
    even = spread_evenly(logs, target, weight, reduction, ignore_index)
    share = label_smoothing / shape[axis]
    return pointwise.add(pointwise.mul(plain, 1 - label_smoothing), pointwise.mul(even, share))


def _check_weight(input: Tensor, weight: Tensor | None, axis: int) -> None:
    if weight is not None and (weight.dim() != 1 or weight.numel() != input.shape[axis]):
        raise RuntimeError(
            f"cross_entropy: weight tensor should be defined either for all {input.shape[axis]} classes or no classes but got weight "
            f"tensor of shape: {list(weight.shape)}"
        )


@op(
    name="_smoothed",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="DivBackward1",
    samples=[],
)
def spread_evenly(logs: Array, target: Indices, weight: Array | None, reduction: str, ignore_index: int) -> Array:
    """The loss that all classes have in common where labels are smoothed: ``-sum(weight * logs)`` over the classes."""
    axis = _class_axis(logs)
    x = at_least_float32(logs)
    target = target.reshape(logs.shape[:axis] + logs.shape[axis + 1 :])
    counted = target != ignore_index
    if weight is not None:
        x = x * weight.astype(x.dtype).reshape([-1 if d == axis else 1 for d in range(x.ndim)])
    loss = jnp.where(counted, -jnp.sum(x, axis=axis), jnp.zeros((), x.dtype))
    if reduction == "none":
        return loss.astype(logs.dtype)
    total = jnp.sum(loss)
    if reduction == "mean":
        share = counted.astype(x.dtype)
        if weight is not None:
            safe = jnp.where(counted, target, jnp.zeros((), target.dtype))
            share = share * jnp.take(weight.astype(x.dtype), safe, mode="clip")
        total = total / jnp.sum(share)
    return total.astype(logs.dtype)


def _probability_cross_entropy(
    input: Tensor, target: Tensor, weight: Tensor | None, reduction: str, axis: int, label_smoothing: float
) -> Tensor:
    logs = log_softmax(input, axis)
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / input.shape[axis]
    loss = logs * target
    if weight is not None:
        loss = loss * weight.view([-1 if d == axis else 1 for d in range(input.dim())])
    if reduction == "none":
        return -loss.sum(axis)
    total = -loss.sum()
    return total / (input.numel() // input.shape[axis]) if reduction == "mean" and input.numel() else total


# ---- distances


@op(
    name="_mse_loss",
    promote=Promote.DEFAULT,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    backward="MseLossBackward0",
    refuse=_refuses("mse_cpu"),
    samples=PAIR,
    autocast=Autocast.FLOAT32,
)
def mse_loss(input: Array, target: Array, reduction: str = "mean") -> Array:
    """``(input - target) ** 2``, reduced."""
    return _reduced(jnp.square(at_least_float32(input) - at_least_float32(target)), reduction).astype(input.dtype)


@op(
    name="_smooth_l1_loss",
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="SmoothL1LossBackward0",
    zero_second=True,
    refuse=_refuses("smooth_l1_cpu"),
    samples=PAIR,
    autocast=Autocast.FLOAT32,
)
def smooth_l1_loss(input: Array, target: Array, reduction: str = "mean", beta: float = 1.0) -> Array:
    """A parabola within ``beta`` of the target, straight lines beyond."""
    away = jnp.abs(at_least_float32(input) - at_least_float32(target))
    limit = jnp.asarray(beta, away.dtype)
    half = jnp.asarray(0.5, away.dtype)
    near = jnp.where(away > limit, 0, away)  # an infinite distance has no square, whose derivative would be NaN
    loss = jnp.where(away < limit, exact_quotient(half * near * near, limit), away - half * limit)
    return _reduced(loss, reduction).astype(input.dtype)


@op(
    name="_huber_loss",
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="HuberLossBackward0",
    zero_second=True,
    refuse=_refuses("huber_cpu"),
    samples=PAIR,
    autocast=Autocast.FLOAT32,
)
def huber_loss(input: Array, target: Array, reduction: str = "mean", delta: float = 1.0) -> Array:
    """``smooth_l1_loss`` times ``delta``: its slope beyond the parabola is ``delta``."""
    away = jnp.abs(at_least_float32(input) - at_least_float32(target))
    limit = jnp.asarray(delta, away.dtype)
    half = jnp.asarray(0.5, away.dtype)
    near = jnp.where(away > limit, 0, away)  # as in ``smooth_l1_loss``
    loss = jnp.where(away <= limit, half * near * near, limit * (away - half * limit))
    return _reduced(loss, reduction).astype(input.dtype)


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def l1_loss(input: Tensor, target: Tensor, reduction: str) -> Tensor:
    """``|input - target|``, reduced."""
    loss = pointwise.sub(input, target).abs()
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


# ---- probabilities


def _no_probability(input: Array, target: Array, weight: object, reduction: str) -> tuple[object, object]:
    wrong = [(~((each >= 0) & (each <= 1))).any() for each in (input, target)]  # NaN is none either
    return wrong[0] | wrong[1], 1 - wrong[0].astype(np.int64)


def _which_is_no_probability(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    return RuntimeError(f"all elements of {'target' if value else 'input'} should be between 0 and 1")


@op(
    name="_binary_cross_entropy",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="BinaryCrossEntropyBackward0",
    constant=("weight",),
    check=ValueCheck(_no_probability, _which_is_no_probability),
    samples=[Sample(shapes=((3, 4), (3, 4)), args=(None, "mean"), low=0.1, high=0.9, dtypes=("float32", "float64"))],
    autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.UNSAFE},
)
def binary_cross_entropy(input: Array, target: Array, weight: Array | None, reduction: str) -> Array:
    """``-(target * log(input) + (1 - target) * log(1 - input))``, each logarithm at least -100."""
    for other in (target, weight):
        if other is not None and other.dtype != input.dtype:
            names = [dtypes.from_numpy_dtype(d.dtype).scalar_name for d in (other, input)]
            raise RuntimeError(f"Found dtype {names[0]} but expected {names[1]}")
    if input.dtype.kind in "biuc":
        kind = dtypes.from_numpy_dtype(input.dtype).scalar_name
        raise NotImplementedError(f"\"binary_cross_entropy\" not implemented for '{kind}'")
    x, y = at_least_float32(input), at_least_float32(target)
    loss = _bounded_entropy(x, y)
    if weight is not None:
        loss = loss * weight.astype(loss.dtype)
    return _reduced(loss, reduction).astype(input.dtype)


@custom_jvp
def _bounded_entropy(x: Array, y: Array) -> Array:
    least = jnp.asarray(-100, x.dtype)
    one = jnp.ones((), x.dtype)
    return (y - one) * jnp.maximum(jnp.log1p(-x), least) - y * jnp.maximum(jnp.log(x), least)


@_bounded_entropy.defjvp
def _bounded_entropy_derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
    # This is not the derivative of the bounded logarithms: PyTorch bounds the denominator instead, so that a gradient is left at 0 and 1.
    (x, y), (t, u) = primals, tangents
    one = jnp.ones((), x.dtype)
    slope = (x - y) / jnp.maximum((one - x) * x, jnp.asarray(1e-12, x.dtype))
    return _bounded_entropy(x, y), slope * t + (jnp.log1p(-x) - jnp.log(x)) * u


@op(
    name="_binary_cross_entropy_with_logits",
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="BinaryCrossEntropyWithLogitsBackward0",
    constant=("weight", "pos_weight"),
    samples=[
        Sample(shapes=((3, 4), (3, 4)), args=(None, None, "mean")),
        Sample(shapes=((3, 4), (3, 4), (4,), (4,)), args=("sum",)),
    ],
    autocast=Autocast.FLOAT32,
)
def binary_cross_entropy_with_logits(
    input: Array, target: Array, weight: Array | None, pos_weight: Array | None, reduction: str
) -> Array:
    """Binary cross entropy of ``sigmoid(input)``, computed without overflow.

    Args:
        pos_weight: what the loss of positive examples is multiplied by.
    """
    x, y = at_least_float32(input), at_least_float32(target)
    one = jnp.ones((), x.dtype)
    log_sigmoid = jax.nn.log_sigmoid(x)
    if pos_weight is None:
        loss = (one - y) * x - log_sigmoid
    else:
        loss = (one - y) * x - (one + (pos_weight.astype(x.dtype) - one) * y) * log_sigmoid
    if weight is not None:
        loss = loss * weight.astype(loss.dtype)
    return _reduced(loss, reduction).astype(input.dtype)


@under_autocast(cpu=Autocast.FLOAT32, cuda=Autocast.FLOAT32)
def kl_div(input: Tensor, target: Tensor, reduction: str, log_target: bool) -> Tensor:
    """``target * (log(target) - input)``, reduced; the input holds log-probabilities."""
    if log_target:
        loss = elementary.exp(target) * (target - input)
    else:
        loss = xlogx(target) - target * input
    return {"none": lambda: loss, "mean": loss.mean, "sum": loss.sum}[reduction]()


@op(
    name="_xlogx",
    promote=Promote.INT_TO_FLOAT,
    accepts=Category.REAL,
    forms=Form.NONE,
    backward="XlogyBackward0",
    samples=[Sample(values=([0.5, 1.0, 2.0],))],
)
def xlogx(input: Array) -> Array:
    """``input * log(input)``, 0 at 0, where the derivative is NaN, as PyTorch's."""
    return jnp.where(input == 0, jnp.zeros((), input.dtype), input * jnp.log(input))


@op(
    name="_soft_margin_loss",
    promote=Promote.DEFAULT,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward="SoftMarginLossBackward0",
    samples=PAIR,
    autocast=Autocast.FLOAT32,
)
def soft_margin_loss(input: Array, target: Array, reduction: str = "mean") -> Array:
    """``log(1 + exp(-target * input))``, reduced."""
    loss = jnp.log1p(jnp.exp(-at_least_float32(target) * at_least_float32(input)))
    return _reduced(loss, reduction).astype(input.dtype)
