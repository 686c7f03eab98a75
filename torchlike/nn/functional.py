"""Functions of neural networks under PyTorch's names and signatures; the arithmetic is in ``ops``."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

from .._core.tensor import Tensor
from ..ops import activation, distance as _distance, gated, loss as _loss, pointwise, pool
from ..ops._inplace import check_writable, write
from ..ops.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from ..ops.distance import cosine_similarity as cosine_similarity, pairwise_distance as pairwise_distance
from ..ops.dropout import (
    alpha_dropout as _alpha_dropout,
    dropout as _dropout,
    feature_alpha_dropout as _feature_alpha_dropout,
    feature_dropout as _feature_dropout,
    needs_probability,
)
from ..ops.elementary import sigmoid as sigmoid, tanh as tanh
from ..ops.embedding import embedding as _embedding, one_hot as one_hot
from ..ops.matmul import bilinear as bilinear, linear as linear
from ..ops.norm import (
    batch_norm as _batch_norm,
    group_norm as _group_norm,
    instance_norm as _instance_norm,
    layer_norm as _layer_norm,
    log_softmax as _log_softmax,
    rms_norm as rms_norm,
    softmax as _softmax,
)
from ..ops.pad import pad as pad
from ..ops.reduce import vector_norm

# ---- activations


def _into(input: Tensor, inplace: bool, result: Tensor) -> Tensor:
    """The result, put into the input where that was asked for."""
    if not inplace:
        return result
    check_writable(input)
    return write(input, result)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Every negative element replaced by 0.

    >>> F.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return _into(input, inplace, activation.relu(input))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return _into(input, inplace, activation.relu6(input))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``negative_slope * input``."""
    return _into(input, inplace, activation.leaky_relu(input, negative_slope))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``."""
    return _into(input, inplace, activation.elu(input, alpha))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the constants that keep mean 0 and variance 1 through the layers."""
    return _into(input, inplace, activation.selu(input))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``."""
    return _into(input, inplace, activation.celu(input, alpha))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return _into(input, inplace, activation.silu(input))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return _into(input, inplace, activation.mish(input))


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input kept within ``min_val`` and ``max_val``."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return _into(input, inplace, activation.hardtanh(input, min_val, max_val))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return _into(input, inplace, activation.hardsigmoid(input))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return _into(input, inplace, activation.hardswish(input))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is over the threshold, else ``value``."""
    return _into(input, inplace, activation.threshold(input, threshold, value))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``leaky_relu`` with slopes drawn from [lower, upper) in training, and their mean otherwise."""
    return _into(input, inplace, gated.rrelu(input, lower, upper, training))


gelu = activation.gelu
logsigmoid = activation.logsigmoid
softplus = activation.softplus
softshrink = activation.softshrink
hardshrink = activation.hardshrink
softsign = activation.softsign
tanhshrink = activation.tanhshrink
glu = gated.glu
prelu = gated.prelu


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension.

    >>> F.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = _implicit_dim("softmax", input.dim()) if dim is None else dim
    return _softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """``softmax(-input)``."""
    dim = _implicit_dim("softmin", input.dim()) if dim is None else dim
    return _softmax(pointwise.neg(input), dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    dim = _implicit_dim("log_softmax", input.dim()) if dim is None else dim
    return _log_softmax(input, dim, dtype)


# ---- pooling


def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool1d``, and where the largest elements lie."""
    return pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)


def max_pool2d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool2d``, and where the largest elements lie in the flattened images."""
    return pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 2)


def max_pool3d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> tuple[Tensor, Tensor]:
    """``max_pool3d``, and where the largest elements lie in the flattened volumes."""
    return pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 3)


def max_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, L); with ``return_indices`` also where they lie."""
    pooled = pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 1)
    return pooled if return_indices else pooled[0]


def max_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, H, W); with ``return_indices`` also where they lie.

    >>> F.max_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[4.]]])
    """
    pooled = pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 2)
    return pooled if return_indices else pooled[0]


def max_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """The largest element of each window of (N, C, D, H, W); with ``return_indices`` also where they lie."""
    pooled = pool.pooled_by_max(input, kernel_size, stride, padding, dilation, ceil_mode, 3)
    return pooled if return_indices else pooled[0]


def avg_pool1d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Tensor:
    """The mean of each window of (N, C, L)."""
    return pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, None, 1)


def avg_pool2d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, H, W).

    >>> F.avg_pool2d(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), 2)
    tensor([[[2.5000]]])
    """
    return pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 2)


def avg_pool3d(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Tensor:
    """The mean of each window of (N, C, D, H, W)."""
    return pool.pooled_by_mean(input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override, 3)


def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` windows of (N, C, L) that are as even as possible."""
    return pool.adaptively_by_mean(input, output_size, 1)


def adaptive_avg_pool2d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` windows of (N, C, H, W) that are as even as possible; None keeps a dimension."""
    return pool.adaptively_by_mean(input, output_size, 2)


def adaptive_avg_pool3d(input: Tensor, output_size: Any) -> Tensor:
    """The means of ``output_size`` windows of (N, C, D, H, W) that are as even as possible; None keeps a dimension."""
    return pool.adaptively_by_mean(input, output_size, 3)


def adaptive_max_pool1d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool1d``, and where the largest elements lie."""
    return pool.adaptively_by_max(input, output_size, 1)


def adaptive_max_pool2d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool2d``, and where the largest elements lie."""
    return pool.adaptively_by_max(input, output_size, 2)


def adaptive_max_pool3d_with_indices(
    input: Tensor, output_size: Any, return_indices: bool = False
) -> tuple[Tensor, Tensor]:
    """``adaptive_max_pool3d``, and where the largest elements lie."""
    return pool.adaptively_by_max(input, output_size, 3)


def adaptive_max_pool1d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, L) that are as even as possible."""
    pooled = pool.adaptively_by_max(input, output_size, 1)
    return pooled if return_indices else pooled[0]


def adaptive_max_pool2d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, H, W) that are as even as possible."""
    pooled = pool.adaptively_by_max(input, output_size, 2)
    return pooled if return_indices else pooled[0]


def adaptive_max_pool3d(input: Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """The largest elements of ``output_size`` windows of (N, C, D, H, W) that are as even as possible."""
    pooled = pool.adaptively_by_max(input, output_size, 3)
    return pooled if return_indices else pooled[0]


def _by_power(input: Any, norm_type: float, kernel_size: Any, stride: Any, ceil_mode: bool, count: int) -> Tensor:
    kernel = pool._each(f"lp_pool{count}d", "kernel_size", kernel_size, count, "either be a single int")
    out: Any = pool.pooled_by_mean(input.pow(norm_type), kernel, stride, 0, ceil_mode, True, None, count)
    return (out.sign() * activation.relu(out.abs())).mul(math.prod(kernel)).pow(1.0 / norm_type)


def lp_pool1d(input: Tensor, norm_type: float, kernel_size: int, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, L)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, H, W)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input: Tensor, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> Tensor:
    """``sum(input ** p) ** (1 / p)`` of each window of (N, C, D, H, W)."""
    return _by_power(input, norm_type, kernel_size, stride, ceil_mode, 3)


# ---- dropout


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training each element becomes 0 with probability ``p``, else it is divided by ``1 - p``.

    >>> F.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    needs_probability(p)
    return _into(input, inplace, _dropout(input, p, training))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, L) or (C, L)."""
    needs_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or "
            "3D inputs)."
        )
    if input.dim() == 3:
        return _into(input, inplace, _feature_dropout(input, p, training))
    single: Any = input
    return _into(input, inplace, _feature_dropout(single.unsqueeze(0), p, training).squeeze(0))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, H, W)."""
    needs_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to "
            "provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch dimension "
            "(i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret "
            "the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, "
            "please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return _into(input, inplace, _feature_dropout(input, p, training))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, D, H, W)."""
    needs_probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to "
            "provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch dimension "
            "(i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    if input.dim() == 4:
        single: Any = input
        return _into(input, inplace, _feature_dropout(single.unsqueeze(0), p, training).squeeze(0))
    return _into(input, inplace, _feature_dropout(input, p, training))


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance after SELU."""
    needs_probability(p)
    return _into(input, inplace, _alpha_dropout(input, p, training))


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    needs_probability(p)
    return _into(input, inplace, _feature_alpha_dropout(input, p, training))


# ---- normalisation and embedding


def layer_norm(
    input: Tensor,
    normalized_shape: Any,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions."""
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def _more_than_one(shape: Any) -> None:
    if math.prod(shape[:1]) * math.prod(shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {shape}")


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalises each channel of (N, C, ...) by the batch's mean and variance (training) or by the running ones."""
    if training:
        _more_than_one(input.shape)
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalises each of ``num_groups`` groups of channels of (N, C, ...)."""
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _more_than_one((input.shape[0] * input.shape[1] // max(num_groups, 1), num_groups, *input.shape[2:]))
    return _group_norm(input, num_groups, weight, bias, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Tensor:
    """Normalises each channel of each instance of (N, C, ...)."""
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    return _instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps)


def local_response_norm(input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Tensor:
    """Divides each element by ``(k + alpha * mean of squares over neighbouring channels) ** beta``."""
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          input (got {input.dim()} dimensions)"
        )
    if not input.numel():
        return input
    x: Any = input
    squares = x.mul(x).unsqueeze(1)
    around = (size // 2, (size - 1) // 2)
    if input.dim() == 3:
        mean = avg_pool2d(pad(squares, (0, 0, *around)), (size, 1), stride=1)
    else:
        sizes = input.shape
        squares = squares.view(sizes[0], 1, sizes[1], sizes[2], -1)
        mean = avg_pool3d(pad(squares, (0, 0, 0, 0, *around)), (size, 1, 1), stride=1)
        mean = mean.view(sizes[0], 1, *sizes[1:])  # pyright: ignore[reportAttributeAccessIssue]
    scale: Any = mean
    return x / scale.squeeze(1).mul(alpha).add(k).pow(beta)


def normalize(input: Tensor, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Tensor | None = None) -> Tensor:
    """``input / max(norm(input), eps)`` along a dimension."""
    x: Any = input
    denominator: Any = vector_norm(x, p, dim, True)
    return pointwise.div(x, denominator.clamp_min(eps).expand_as(x), out=out)


def embedding(
    input: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Tensor:
    """The rows of ``weight`` that ``input`` names.

    Args:
        padding_idx: a row that gets no gradient.
        max_norm: rows that are longer are shortened to this norm, in place.
        scale_grad_by_freq: divide each row's gradient by how often it is named.

    >>> F.embedding(torch.tensor([1, 0]), torch.tensor([[1.0], [2.0]]))
    tensor([[2.],
            [1.]])

    Raises:
        IndexError: there is no such row. NotImplementedError: ``sparse=True``.
    """
    if padding_idx is not None:
        count = weight.shape[0]
        if padding_idx > 0:
            assert padding_idx < count, "Padding_idx must be within num_embeddings"
        elif padding_idx < 0:
            assert padding_idx >= -count, "Padding_idx must be within num_embeddings"
            padding_idx += count
    if max_norm is not None:
        _shorten_rows(weight, input, max_norm, norm_type)
    return _embedding(weight, input, -1 if padding_idx is None else padding_idx, scale_grad_by_freq, sparse)


def _shorten_rows(weight: Any, rows: Any, max_norm: float, norm_type: float) -> None:
    from ..autograd.grad_mode import no_grad

    with no_grad():
        used = rows.reshape(-1).unique()
        chosen = weight[used]
        norms = vector_norm(chosen, norm_type, 1, True)
        scale = (max_norm / (norms + 1e-7)).clamp_max(1.0)
        weight[used] = chosen * scale


# ---- losses


def _legacy(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction; from the two old arguments if one of them is given."""
    if size_average is None and reduce is None:
        _loss.check_reduction(reduction)
        return reduction
    each = reduce is False
    chosen = "none" if each else "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{chosen}' instead.", stacklevel=3
    )
    return chosen


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
        label_smoothing: which part of the target is spread over all classes.

    >>> F.cross_entropy(torch.tensor([[0.0, 0.0]]), torch.tensor([1]))
    tensor(0.6931)

    Raises:
        IndexError: a target is no class. ValueError, RuntimeError: shapes and dtypes that do not go together.
    """
    reduction = _legacy(size_average, reduce, reduction)
    return _loss.cross_entropy(input, target, weight, reduction, ignore_index, label_smoothing)


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``-input`` at the target classes: the loss of log-probabilities; arguments as of ``cross_entropy``."""
    reduction = _legacy(size_average, reduce, reduction)
    return _loss.nll_loss(input, target, weight, reduction, ignore_index)


def _same_sizes(input: Tensor, target: Tensor) -> None:
    if tuple(input.shape) != tuple(target.shape):
        warnings.warn(
            f"Using a target size ({target.shape}) that is different to the input size ({input.shape}). This will likely lead to "
            "incorrect results due to broadcasting. Please ensure they have the same size.",
            stacklevel=3,
        )


def _weighted(loss: Any, input: Tensor, weight: Any, reduction: str) -> Tensor:
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
    reduction = _legacy(size_average, reduce, reduction)
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
    """The mean of ``|input - target|``."""
    _same_sizes(input, target)
    reduction = _legacy(size_average, reduce, reduction)
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
    """``l1_loss`` whose corner is a parabola within ``beta`` of the target."""
    _same_sizes(input, target)
    reduction = _legacy(size_average, reduce, reduction)
    if beta < 0:
        raise RuntimeError("smooth_l1_loss does not support negative values for beta.")
    return _loss.smooth_l1_loss(input, target, reduction, beta) if beta else _loss.l1_loss(input, target, reduction)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """A parabola within ``delta`` of the target, lines of slope ``delta`` beyond."""
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
    """
    reduction = _legacy(size_average, reduce, reduction)
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
    """
    reduction = _legacy(size_average, reduce, reduction)
    if tuple(input.shape) != tuple(target.shape):
        raise ValueError(f"Target size ({target.shape}) must be the same as input size ({input.shape})")
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
    """
    if reduction != "batchmean":
        reduction = _legacy(size_average, reduce, reduction)
    if reduction == "mean":
        warnings.warn(
            "reduction: 'mean' divides the total loss by both the batch size and the support size.'batchmean' divides only by the batch "
            "size, and aligns with the KL div math definition.'mean' will be changed to behave the same as 'batchmean' in the next "
            "major release.",
            stacklevel=2,
        )
    if reduction == "batchmean":
        total: Any = _loss.kl_div(input, target, "sum", log_target)
        return total / input.shape[0] if input.dim() else total
    return _loss.kl_div(input, target, reduction, log_target)


def soft_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``log(1 + exp(-target * input))`` for targets 1 and -1."""
    return _loss.soft_margin_loss(input, target, _legacy(size_average, reduce, reduction))


def margin_ranking_loss(
    input1: Any,
    input2: Any,
    target: Any,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, -target * (input1 - input2) + margin)``: whether the first of each pair ranks higher (1) or lower (-1)."""
    reduction = _legacy(size_average, reduce, reduction)
    if input1.dim() != input2.dim() or input1.dim() != target.dim():
        raise RuntimeError(
            "margin_ranking_loss : All input tensors should have same dimension but got sizes: "
            f"input1: {input1.shape}, input2: {input2.shape}, target: {target.shape} "
        )
    return _distance.reduced((-target * (input1 - input2) + margin).clamp_min(0), reduction)


def hinge_embedding_loss(
    input: Any,
    target: Any,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``input`` where the target is 1, ``max(0, margin - input)`` where it is -1."""
    reduction = _legacy(size_average, reduce, reduction)
    far = (margin - input).clamp_min(0)
    return _distance.reduced(far.masked_fill(target == 1, 0) + input.masked_fill(target == -1, 0), reduction)


def poisson_nll_loss(
    input: Any,
    target: Any,
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
    """
    reduction = _legacy(size_average, reduce, reduction)
    loss = input.exp() - target * input if log_input else input - target * (input + eps).log()
    if full:
        stirling = target * target.log() - target + 0.5 * (2 * math.pi * target).log()
        loss = loss + stirling.masked_fill(target <= 1, 0)
    return _distance.reduced(loss, reduction)


def gaussian_nll_loss(
    input: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-06, reduction: str = "mean"
) -> Tensor:
    """The negative log-likelihood of targets under normal distributions of mean ``input`` and variance ``var``.

    Args:
        full: whether the constant term is added.
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
        elif tuple(input.shape[:-1]) != tuple(var.shape[:-1]) or var.shape[-1] != 1:
            raise ValueError("var is of incorrect size")
    _loss.check_reduction(reduction)
    bounded = var.clone()
    bounded = bounded + (bounded.clamp_min(eps) - bounded).detach()  # the bound has no gradient of its own
    loss = 0.5 * (bounded.log() + (input - target) ** 2 / bounded)
    if full:
        loss = loss + 0.5 * math.log(2 * math.pi)
    return _distance.reduced(loss, reduction)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-06,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, d(anchor, positive) - d(anchor, negative) + margin)`` with the distance of norm ``p``.

    Args:
        swap: take the distance from the positive to the negative where that is smaller.
    """
    reduction = _legacy(size_average, reduce, reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    return _distance.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Any = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """``triplet_margin_loss`` with a distance of one's own."""
    _loss.check_reduction(reduction)
    if margin <= 0:
        raise ValueError(f"margin must be greater than 0, got {margin}")
    distance = distance_function or pairwise_distance
    if not anchor.dim() == positive.dim() == negative.dim():
        raise RuntimeError(
            "The anchor, positive, and negative tensors are expected to have the same number of dimensions, but got: anchor "
            f"{anchor.dim()}D, positive {positive.dim()}D, and negative {negative.dim()}D inputs"
        )
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = pointwise.minimum(far, distance(positive, negative))
    return _distance.reduced((near - far + margin).clamp_min(0), reduction)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``1 - cos`` for pairs with target 1, ``max(0, cos - margin)`` for those with -1."""
    reduction = _legacy(size_average, reduce, reduction)
    return _distance.cosine_embedding_loss(input1, input2, target, margin, reduction)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Binary cross entropy of each class's logit, averaged over the classes."""
    reduction = _legacy(size_average, reduce, reduction)
    return _distance.multilabel_soft_margin_loss(input, target, weight, reduction)


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """``max(0, margin - x[target] + x[class]) ** p``, averaged over the other classes."""
    reduction = _legacy(size_average, reduce, reduction)
    if p not in (1, 2):
        raise ValueError("only p == 1 and p == 2 supported")
    if weight is not None and weight.dim() != 1:
        raise ValueError("weight must be one-dimensional")
    return _distance.multi_margin_loss(input, target, weight, p, margin, reduction)


def multilabel_margin_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """Hinge loss between each labelled class and each other one; a row's labels end before its first -1."""
    reduction = _legacy(size_average, reduce, reduction)
    return _distance.multilabel_margin_loss(input, target, reduction)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)``.

    Args:
        hard: give one-hot rows, whose gradient is that of the soft ones.

    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
    """
    noise = -logits.detach().clone().exponential_().log()
    soft: Any = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return logits.detach().clone().zero_().scatter_(dim, index, 1.0) - soft.detach() + soft


# Those that are ops themselves say their public address, which is here.
for _name in (
    "bilinear", "gelu", "glu", "linear", "logsigmoid", "one_hot", "pad", "softplus", "softshrink", "softsign", "tanhshrink",
):  # fmt: skip
    _function = globals()[_name]
    _function.__module__, _function.__name__, _function.__qualname__ = __name__, _name, _name


if not TYPE_CHECKING:

    def __getattr__(name):
        from .._missing import missing

        raise missing(__name__, name)
