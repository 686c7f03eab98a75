"""Normalisations that also give the statistics they used: those of ``norm``, under the names of PyTorch's kernels."""

from __future__ import annotations

from collections.abc import Sequence

import jax.numpy as jnp
from jax import Array, lax

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from ...dispatch.register import Category, Form, Promote, Sample, composite, op
from ...numerics.half_precision import at_least_float32
from .norm import batch_norm, group_norm_, layer_norm


def _statistics(
    input: Tensor, dims: IntOrInts, eps: float, keepdim: bool, like: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The mean and ``1 / sqrt(var + eps)`` along dimensions, in the dtype of the weight if there is one."""
    x = input.detach().float() if input.dtype.itemsize < 4 else input.detach()
    mean, rstd = x.mean(dims, keepdim), (x.var(dims, correction=0, keepdim=keepdim) + eps).rsqrt()
    dtype = (input if like is None else like).dtype
    return mean.to(dtype), rstd.to(dtype)


@composite(forms=Form.FUNCTION)
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``layer_norm``, the means, and ``1 / sqrt(var + eps)``.

    >>> torch.native_layer_norm(torch.tensor([[1.0, 3.0]]), [2], None, None, 0.0)
    (tensor([[-1.,  1.]]), tensor([[2.]]), tensor([[1.]]))
    """
    out = layer_norm(input, normalized_shape, weight, bias, eps)
    return out, *_statistics(input, tuple(range(-len(normalized_shape), 0)), eps, True, weight)


@op(
    name="_native_group_norm",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    refuse="GroupNormKernelImpl",
    backward="NativeGroupNormBackward0",
    samples=[Sample(shapes=((2, 4, 3), (4,), (4,)), args=(2, 1e-5), dtypes=("float32",))],
)
def group_norm_with_statistics(
    input: Array, weight: Array | None, bias: Array | None, group: int, eps: float
) -> tuple[Array, Array, Array]:
    """``group_norm`` and its statistics, which alone of these are differentiable in PyTorch."""
    out = group_norm_.declared.compute(input, weight, bias, group, eps)
    x = at_least_float32(input)
    groups = x.reshape(input.shape[0], group, x.size // max(input.shape[0] * group, 1))
    if not x.size:
        statistics = [jnp.zeros(groups.shape[:2], x.dtype), jnp.full(groups.shape[:2], jnp.nan, x.dtype)]
    else:
        statistics = [jnp.mean(groups, 2), lax.rsqrt(jnp.var(groups, 2) + jnp.asarray(eps, x.dtype))]
    dtype = (input if weight is None else weight).dtype
    return out, statistics[0].astype(dtype), statistics[1].astype(dtype)


@composite(forms=Form.FUNCTION)
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """``group_norm``, the means, and ``1 / sqrt(var + eps)``, both of shape (N, group).

    Args:
        N, C, HxW: the batch, the channels, and the places of a channel.
    """
    return group_norm_with_statistics(input, weight, bias, group, eps)  # pyright: ignore[reportReturnType]


@composite(forms=Form.FUNCTION | Form.OUT)
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """``batch_norm``, and in training the batch's means and ``1 / sqrt(var + eps)``; otherwise two empty tensors."""
    out = batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps)
    if not training:
        empty = input.new_empty(0)
        return out, empty, empty.clone()
    return out, *_statistics(input, (0, *range(2, input.dim())), eps, False, weight)
