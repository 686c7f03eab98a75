"""Softmax and related functions, and normalisations: over features, batches, groups, instances."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.fields import count_write, node_of, storage_of, version_of, view_record
from ..._core.modes import modes
from ..._core.tensor import Tensor, alias, wrap_dim
from ...dispatch.inplace import write
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from ...numerics.derivatives import custom_jvp
from ...numerics.half_precision import at_least_float32, computed_again, read_again
from ..indexing.index import masked_fill

FLOATS = ("float16", "bfloat16", "float32", "float64")
ROWS = Sample(shapes=((3, 4),), args=(1,), dtypes=FLOATS)
COLUMNS = Sample(shapes=((3, 4),), args=(0,), dtypes=FLOATS)
POINT = Sample(shapes=((),), args=(0,), dtypes=FLOATS)


def _needs_float(name: str) -> Callable[[Array, int], None]:
    """PyTorch's refusal, which names the kernel: one for the last dimension, another for the rest."""

    def check(input: Array, axis: int) -> None:
        if input.dtype.kind in "biuc":
            kind = dtypes.from_numpy_dtype(input.dtype).scalar_name
            middle = "_lastdim" if axis == max(input.ndim - 1, 0) else ""
            raise NotImplementedError(f"\"{name}{middle}_kernel_impl\" not implemented for '{kind}'")

    return check


def _keep_dims(reduced: Array, input: Array, axes: tuple[int, ...]) -> Array:
    """A result of reducing ``input``, with size 1 in the dimensions that were reduced.

    The reductions of ``jax.numpy`` do the same with ``keepdims``, and take ten times as long to trace.
    """
    shape = tuple(1 if axis in axes else n for axis, n in enumerate(input.shape))
    return lax.broadcast_in_dim(reduced, shape, [axis for axis in range(input.ndim) if axis not in axes])


def _sums(x: Array) -> Array:
    """The sum of each row, in a dimension of size 1."""
    axes = (x.ndim - 1,)
    return _keep_dims(lax.reduce_sum(x, axes), x, axes)


def _maxima(x: Array) -> Array:
    """The largest number of each row, in a dimension of size 1."""
    axes = (x.ndim - 1,)
    return _keep_dims(lax.reduce_max(x, axes), x, axes)


def _mean(x: Array, axes: tuple[int, ...]) -> Array:
    """The mean over some dimensions, which keep size 1."""
    count = math.prod([x.shape[axis] for axis in axes])
    return _keep_dims(lax.reduce_sum(x, axes), x, axes) / count


@custom_jvp
def _softmax(x: Array) -> Array:
    e = lax.exp(x - _maxima(x))
    return e / _sums(e)


@_softmax.defjvp
def _softmax_derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    # Differentiating the quotient would give more passes over the rows.
    y, (t,) = _softmax(*primals), tangents
    return y, y * (t - _sums(y * t))


@custom_jvp
def _log_softmax(x: Array) -> Array:
    away = x - _maxima(x)
    return away - lax.log(_sums(lax.exp(away)))


@_log_softmax.defjvp
def _log_softmax_derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    y, (t,) = _log_softmax(*primals), tangents
    return y, t - _sums(lax.exp(y) * t)


def _along(
    function: Callable[[Array], Array], input: Array, dim: int, check: Callable[..., object], dtype: Dtype | None
) -> Array:
    axis = wrap_dim(dim, input.ndim)
    if dtype is not None:
        input = input.astype(dtype.numpy)
    check(input, axis)
    if not input.size:
        return input
    if not input.ndim:
        return function(input[None])[0]
    if axis == input.ndim - 1:
        return function(at_least_float32(input)).astype(input.dtype)
    last = jnp.moveaxis(at_least_float32(input), axis, -1)
    return jnp.moveaxis(function(last), -1, axis).astype(input.dtype)


_check_softmax, _check_log_softmax = _needs_float("softmax"), _needs_float("log_softmax")


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.RESULT,
    samples=[ROWS, COLUMNS, POINT, Sample(values=([[float("-inf"), 0.0, 1.0]],), args=(-1,), dtypes=FLOATS)],
    autocast={"cuda": Autocast.FLOAT32},
)
def softmax(input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """``exp(input) / sum(exp(input))`` along a dimension: positive numbers whose sum is 1.

    >>> torch.softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([0.5000, 0.5000])

    Raises:
        IndexError: there is no such dimension. NotImplementedError: the dtype is not floating-point.
    """
    return _along(_softmax, input, dim, _check_softmax, dtype)


@composite(name="_masked_softmax", forms=Form.FUNCTION)
def masked_softmax(input: Tensor, mask: Tensor, dim: int | None = None, mask_type: int | None = None) -> Tensor:
    """``softmax`` along a dimension, the last one by default, without the elements where the mask is True: those become 0."""
    return softmax(masked_fill(input, mask, -float("inf")), -1 if dim is None else dim)  # pyright: ignore[reportReturnType]


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.RESULT,
    samples=[ROWS, COLUMNS, POINT],
    autocast={"cuda": Autocast.FLOAT32},
)
def log_softmax(input: Array, dim: int, dtype: Dtype | None = None) -> Array:
    """The logarithm of ``softmax``, computed without overflow.

    >>> torch.log_softmax(torch.tensor([0.0, 0.0]), 0)
    tensor([-0.6931, -0.6931])
    """
    return _along(_log_softmax, input, dim, _check_log_softmax, dtype)


# ---- normalisations


def _given(arrays: Sequence[Array], weight: Array | None, bias: Array | None) -> tuple[Array | None, Array | None]:
    """The arrays in the places of a weight and a bias, of which either may be missing."""
    return None if weight is None else arrays[0], None if bias is None else arrays[-1]


def _scaled(out: Array, weight: Array | None, bias: Array | None) -> Array:
    if weight is not None:
        out = out * weight.astype(out.dtype)
    return out if bias is None else out + bias.astype(out.dtype)


def _standardised(
    input: Array, axes: tuple[int, ...], eps: float, weight: Array | None, bias: Array | None
) -> tuple[Array, Array, Array]:
    """``(x - mean) / sqrt(var + eps) * weight + bias`` in at least float32; and the mean and the variance (divided by n).

    Args:
        weight, bias: with as many dimensions as the input; of size 1 where they are the same.

    The derivative is written down. JAX's would go through the formula of the variance, and make twice as many passes.
    """

    @custom_jvp
    def normalised(input: Array, *given: Array) -> tuple[Array, Array, Array]:
        x = at_least_float32(input)
        mean = _mean(x, axes)
        var = _mean(lax.square(x - mean), axes)
        return _scaled((x - mean) * lax.rsqrt(var + eps), *_given(given, weight, bias)), mean, var

    @normalised.defjvp
    def derivative(
        primals: tuple[Array, ...], tangents: tuple[Array, ...]
    ) -> tuple[tuple[Array, Array, Array], tuple[Array, Array, Array]]:
        (out, mean, var), (input, *given) = normalised(*primals), primals
        away, rstd = at_least_float32(computed_again(input)) - mean, lax.rsqrt(var + eps)
        normal = away * rstd
        t, *changes = [at_least_float32(tangent) for tangent in tangents]
        along, level, scale = _mean(normal * t, axes), _mean(t, axes), _given(given, weight, bias)[0]
        own, shift = _given(changes, weight, bias)
        if scale is not None and all(scale.shape[axis] == 1 for axis in axes):
            # What is the same within a mean goes before it, so that the transposed formula takes the sums for the weight and for the input
            # at once.
            rstd = rstd * scale.astype(t.dtype)
            scale = None
        if scale is None:
            along, level = -rstd * along, -rstd * level
            change = rstd * t + normal * (along if own is None else along + own)
            change += level if shift is None else level + shift
        else:
            change = _scaled(rstd * t - normal * (rstd * along) - rstd * level, scale, shift)
            change = change if own is None else change + normal * own
        return (out, mean, var), (change, _mean(t, axes), 2 * _mean(away * t, axes))

    return normalised(input, *[a for a in (weight, bias) if a is not None])


def _check_normalized(
    input: Array, shape: tuple[int, ...], weight: Array | None, bias: Array | None, star: str
) -> None:
    if not shape:
        raise RuntimeError(
            "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one element, but got normalized_shape"
            " = []"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != shape:
            raise RuntimeError(
                f"Expected {name} to be of same shape as normalized_shape, but got {name} of shape {list(tensor.shape)} and "
                f"normalized_shape = {list(shape)}"
            )
    if input.ndim < len(shape) or input.shape[input.ndim - len(shape) :] != shape:
        raise RuntimeError(
            f"Given normalized_shape={list(shape)}, expected input with shape [*{star}{', '.join(map(str, shape))}], but got input "
            f"of size{list(input.shape)}"
        )


@op(
    name="_layer_norm",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="LayerNormKernelImpl",
    backward="NativeLayerNormBackward0",
    samples=[
        Sample(shapes=((2, 3, 4), (4,), (4,)), args=((4,), 1e-5)),
        Sample(shapes=((3, 4),), args=(None, None, (4,), 1e-5)),
    ],
    autocast={"cuda": Autocast.FLOAT32},
)
def layer_norm_(input: Array, weight: Array | None, bias: Array | None, shape: Sequence[int], eps: float) -> Array:
    """Normalises the last dimensions, then scales and shifts."""
    shape = tuple(shape)
    _check_normalized(input, shape, weight, bias, ", ")
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    given = [None if a is None else a.reshape((1,) * axes[0] + shape) for a in (weight, bias)]
    return _standardised(input, axes, eps, *given)[0].astype(input.dtype)


@composite(forms=Form.FUNCTION)
def layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enable: bool = True,
) -> Tensor:
    """``(input - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    Args:
        normalized_shape: the sizes of these dimensions.

    >>> torch.layer_norm(torch.tensor([[1.0, 3.0]]), (2,))
    tensor([[-1.0000,  1.0000]])

    Source: Ba, Kiros, Hinton, "Layer normalization" (2016).
    """
    return layer_norm_(input, weight, bias, tuple(int(n) for n in normalized_shape), eps)


@op(
    name="_rms_norm",
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    backward="MulBackward0",
    samples=[Sample(shapes=((2, 3, 4), (4,)), args=((4,), None))],
    autocast={"cuda": Autocast.FLOAT32},
)
def rms_norm_(input: Array, weight: Array | None, shape: Sequence[int], eps: float | None) -> Array:
    """Divides the last dimensions by their root mean square, then scales."""
    shape = tuple(shape)
    _check_normalized(input, shape, weight, None, "")
    x = at_least_float32(input)
    real = jnp.zeros((), x.dtype).real.dtype
    axes = tuple(range(input.ndim - len(shape), input.ndim))
    # PyTorch's default is the epsilon of the dtype in which it computes: float32's for half types.
    smallest = float(jnp.finfo(real).eps) if eps is None else eps
    square = read_again(input, lambda x: jnp.mean(jnp.square(x), axis=axes, keepdims=True))(x)

    def finish(x: Array, square: Array, *weight: Array) -> Array:
        out = x * lax.rsqrt(square + jnp.asarray(smallest, x.dtype))
        return out * weight[0].astype(out.dtype) if weight else out

    return read_again(input, finish)(x, square, *([] if weight is None else [weight])).astype(input.dtype)


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    """``input / sqrt(mean(input**2) + eps) * weight``, the mean over the last dimensions.

    Args:
        eps: None means the dtype's machine epsilon.

    >>> torch.rms_norm(torch.tensor([[3.0, 3.0]]), (2,))
    tensor([[1., 1.]])

    Source: Zhang, Sennrich, "Root mean square layer normalization" (2019).
    """
    return rms_norm_(input, weight, tuple(int(n) for n in normalized_shape), eps)


def _channels(values: Array, ndim: int) -> Array:
    """One number for each channel, ready to meet an array of shape (N, C, ...)."""
    return values.reshape((1, -1) + (1,) * (ndim - 2))


def _each_channel(ndim: int, *given: Array | None) -> list[Array | None]:
    return [None if values is None else _channels(values, ndim) for values in given]


def _check_channels(input: Array | Tensor, **tensors: Any) -> None:
    channels = input.shape[1] if input.ndim > 1 else 0
    for name, values in tensors.items():
        if values is not None and math.prod(values.shape) != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {math.prod(values.shape)}")


@op(
    name="_batch_norm_train",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="batch_norm",
    backward="NativeBatchNormBackward0",
    saves=("input", "weight"),
    samples=[Sample(shapes=((4, 3, 2), (3,), (3,)), args=(1e-5,))],
)
def batch_norm_train(input: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array]:
    """Normalises each channel by the batch's own mean and variance; these too, the variance divided by n - 1."""
    _check_channels(input, weight=weight, bias=bias)
    axes = (0, *range(2, input.ndim))
    count = math.prod(input.shape[d] for d in axes)
    out, mean, var = _standardised(input, axes, eps, *_each_channel(input.ndim, weight, bias))
    unbiased = var * jnp.asarray(count / max(count - 1, 1), var.dtype)
    return out.astype(input.dtype), mean.reshape(-1), unbiased.reshape(-1)


def _normalised_by(
    input: Array, mean: Array, var: Array, weight: Array | None, bias: Array | None, eps: float
) -> Array:
    """Normalises each channel by a mean and a variance that are given."""
    _check_channels(input, running_mean=mean, running_var=var, weight=weight, bias=bias)
    x, given = at_least_float32(input), [a for a in (weight, bias) if a is not None]

    def finish(x: Array, mean: Array, var: Array, *given: Array) -> Array:
        scale = lax.rsqrt(_channels(var.astype(x.dtype), x.ndim) + jnp.asarray(eps, x.dtype))
        scaling = _each_channel(x.ndim, *_given(given, weight, bias))
        return _scaled((x - _channels(mean.astype(x.dtype), x.ndim)) * scale, *scaling)

    return read_again(input, finish)(x, mean, var, *given).astype(input.dtype).reshape(input.shape)


batch_norm_eval = op(
    name="_batch_norm_eval",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="batch_norm",
    backward="NativeBatchNormBackward0",
    saves=("input", "mean", "var", "weight"),
    constant=("mean", "var"),
    samples=[],
)(_normalised_by)
# PyTorch runs this one on copies of the statistics and the weight, one copy for each instance. Nobody else can write to those copies.
instance_norm_eval = op(
    name="_instance_norm_eval",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="batch_norm",
    backward="ViewBackward0",
    saves=("input",),
    constant=("mean", "var", "weight", "bias"),
    samples=[],
)(_normalised_by)


@op(name="_running", promote=Promote.NONE, accepts=Category.FLOAT, forms=Form.NONE, differentiable=False, samples=[])
def running(old: Array, new: Array, momentum: float) -> Array:
    """``(1 - momentum) * old + momentum * new``."""
    wide = new.dtype
    share = jnp.asarray(momentum, wide)
    return (share * new + (jnp.asarray(1, wide) - share) * old.astype(wide)).astype(old.dtype)


@composite(forms=Form.FUNCTION)
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalises each channel of (N, C, ...).

    In training by the batch's own mean and variance, which are also mixed into the running ones with weight ``momentum``;
    otherwise by the running ones.

    Source: Ioffe, Szegedy, "Batch normalization" (2015).
    """
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    if training and eps == 0:
        raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if not training:
        for name, values in (("running_mean", running_mean), ("running_var", running_var)):
            if values is None:
                raise RuntimeError(f"{name} must be defined in evaluation mode")
        return batch_norm_eval(input, running_mean, running_var, weight, bias, eps)
    _check_channels(input, running_mean=running_mean, running_var=running_var)
    buffers = (running_mean, running_var) if 0 not in input._aval.shape else (None, None)  # of nothing there is no mean
    # PyTorch's kernel writes the statistics without raising their version counter.
    out = _tracking(batch_norm_train, (input, weight, bias, eps), buffers, momentum, counted=False)
    node = node_of(out)
    if node is not None and node.unpack is None:
        statistics = [old for old in (running_mean, running_var) if old is not None]
        node.watched.extend((storage_of(old), version_of(old), old._aval, None) for old in statistics)
    return out


def _tracking(
    normalise: Any,
    args: tuple[Tensor | float | None, ...],
    buffers: tuple[Tensor | None, ...],
    momentum: float,
    *,
    counted: bool = True,
) -> Tensor:
    """What ``normalise`` gives, its mean and variance mixed into the buffers.

    Args:
        counted: their version says that they were written.
    """

    def mix(statistics: Sequence[Tensor]) -> None:
        for old, new in zip(buffers, statistics, strict=True):
            if old is not None:
                mixed = running(alias(old), alias(new), momentum)
                if view_record(old) is None:
                    storage_of(old).write(mixed._value())
                else:  # a part of a larger memory, whose other elements stay
                    write(old.detach(), mixed)
                if not counted:
                    count_write(old, -1)

    # Write the buffers first: a hook on the saved tensors may end the call, as a checkpoint does once it has all it needs.
    hooked = bool(modes.saved_tensors_hooks)
    if hooked:
        enabled, modes.grad_enabled = modes.grad_enabled, False
        try:
            mix(normalise(*args)[1:])
        finally:
            modes.grad_enabled = enabled
    out, *statistics = normalise(*args)
    if not hooked:
        mix(statistics)
    return out


@op(
    name="_group_norm",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="GroupNormKernelImpl",
    backward="NativeGroupNormBackward0",
    samples=[Sample(shapes=((2, 4, 3), (4,), (4,)), args=(2, 1e-5))],
    autocast={"cuda": Autocast.FLOAT32},
)
def group_norm_(input: Array, weight: Array | None, bias: Array | None, num_groups: int, eps: float) -> Array:
    """Normalises groups of channels, then scales and shifts each channel."""
    if input.ndim < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.ndim}")
    batch, channels = input.shape[:2]
    if num_groups < 1:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of shape "
            f"{list(input.shape)} and num_groups={num_groups}"
        )
    for name, tensor in (("weight", weight), ("bias", bias)):
        if tensor is not None and tensor.shape != (channels,):
            raise RuntimeError(
                f"Expected {name} to be a vector of size equal to the number of channels in input, but got {name} of shape "
                f"{list(tensor.shape)} and input of shape {list(input.shape)}"
            )
    if not input.size:
        return input

    # (N, groups, channels of a group, places)
    parts = num_groups, channels // num_groups
    given = [None if a is None else a.reshape(1, *parts, 1) for a in (weight, bias)]
    out = _standardised(input.reshape(batch, *parts, -1), (2, 3), eps, *given)[0]
    return out.reshape(input.shape).astype(input.dtype)


@composite(forms=Form.FUNCTION)
def group_norm(
    input: Tensor,
    num_groups: int,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalises each of ``num_groups`` groups of channels of (N, C, ...), then scales and shifts each channel.

    Source: Wu, He, "Group normalization" (2018).
    """
    return group_norm_(input, weight, bias, int(num_groups), eps)


@op(
    name="_instance_norm",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="batch_norm",
    backward="ViewBackward0",
    samples=[Sample(shapes=((2, 3, 4), (3,), (3,)), args=(1e-5,))],
)
def instance_norm_(input: Array, weight: Array | None, bias: Array | None, eps: float) -> tuple[Array, Array, Array]:
    """Normalises each channel of each instance; its mean and (unbiased) variance, averaged over instances, as well."""
    _check_channels(input, weight=weight, bias=bias)
    axes = tuple(range(2, input.ndim))
    count = math.prod(input.shape[2:])
    out, mean, var = _standardised(input, axes, eps, *_each_channel(input.ndim, weight, bias))
    unbiased = var * jnp.asarray(count / max(count - 1, 1), var.dtype)
    averages = [jnp.mean(v.reshape(v.shape[:2]), axis=0) for v in (mean, unbiased)]
    return out.astype(input.dtype), averages[0], averages[1]


@composite(forms=Form.FUNCTION)
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = True,
) -> Tensor:
    """Normalises each channel of each instance of (N, C, ...) by its own mean and variance, or by the running ones.

    Source: Ulyanov, Vedaldi, Lempitsky, "Instance normalization" (2016).
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError("Expected running_mean and running_var to be defined when use_input_stats is false")
        return instance_norm_eval(input, running_mean, running_var, weight, bias, eps)
    _check_channels(input, running_mean=running_mean, running_var=running_var)
    return _tracking(instance_norm_, (input, weight, bias, eps), (running_mean, running_var), momentum)
