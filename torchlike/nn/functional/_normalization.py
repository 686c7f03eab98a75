"""Normalisation by statistics of batches, layers, groups, instances and neighbouring channels."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...ops.elementwise import division
from ...ops.nn.norm import (
    batch_norm as _batch_norm,
    group_norm as _group_norm,
    instance_norm as _instance_norm,
    layer_norm as _layer_norm,
)
from ...ops.nn.pad import pad
from ...ops.reduction.reduce import vector_norm
from ._pooling import avg_pool2d, avg_pool3d

__all__ = ["batch_norm", "group_norm", "instance_norm", "layer_norm", "local_response_norm", "normalize"]


def layer_norm(
    input: Tensor,
    normalized_shape: IntOrInts,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-05,
) -> Tensor:
    """``(input - mean) / sqrt(var + eps) * weight + bias``, mean and variance over the last dimensions.

    >>> F.layer_norm(torch.tensor([[1.0, 2.0, 3.0]]), (3,))
    tensor([[-1.2247,  0.0000,  1.2247]])
    """
    return _layer_norm(input, normalized_shape, weight, bias, eps)


def _more_than_one(shape: Sequence[int]) -> None:
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
    """Normalises each channel of (N, C, ...) by the batch's mean and variance (training) or by the running ones.

    >>> F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _more_than_one(input.shape)
    return _batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)


def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-05
) -> Tensor:
    """Normalises each of ``num_groups`` groups of channels of (N, C, ...).

    >>> F.group_norm(torch.tensor([[1.0, 3.0, 5.0, 9.0]]), num_groups=2)
    tensor([[-1.0000,  1.0000, -1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {input.dim()}")
    _more_than_one([input.shape[0] * input.shape[1] // max(num_groups, 1), num_groups, *input.shape[2:]])
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
    """Normalises each channel of each instance of (N, C, ...).

    >>> F.instance_norm(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[-1.2247,  0.0000,  1.2247]]])
    """
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
    x = input
    squares = x.mul(x).unsqueeze(1)
    around = (size // 2, (size - 1) // 2)
    if input.dim() == 3:
        mean = avg_pool2d(pad(squares, (0, 0, *around)), (size, 1), stride=1)
    else:
        sizes = input.shape
        squares = squares.view(sizes[0], 1, sizes[1], sizes[2], -1)
        mean = avg_pool3d(pad(squares, (0, 0, 0, 0, *around)), (size, 1, 1), stride=1)
        mean = mean.view(sizes[0], 1, *sizes[1:])  # pyright: ignore[reportAttributeAccessIssue]
    scale = mean
    return x / scale.squeeze(1).mul(alpha).add(k).pow(beta)


def normalize(
    input: Tensor, p: float = 2.0, dim: IntOrInts = 1, eps: float = 1e-12, out: Tensor | None = None
) -> Tensor:
    """``input / max(norm(input), eps)`` along a dimension.

    >>> F.normalize(torch.tensor([[3.0, 4.0]]))
    tensor([[0.6000, 0.8000]])
    """
    x = input
    denominator = vector_norm(x, p, dim, True)
    return division.div(x, denominator.clamp_min(eps).expand_as(x), out=out)
