"""Fusion of batch normalisation into the layer before it, for inference."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

from ..._core.tensor import Tensor
from ...ops.creation.filled import ones_like, zeros_like
from ..parameter import Parameter

if TYPE_CHECKING:
    from ..modules.module import Module


__all__ = ["fuse_conv_bn_eval", "fuse_conv_bn_weights", "fuse_linear_bn_eval", "fuse_linear_bn_weights"]


def _fuse(layer: Module, bn: Module, fused: tuple[object, object]) -> Module:
    result = deepcopy(layer)
    result.weight, result.bias = fused
    return result


def _check_eval(layer: Module, bn: Module) -> None:
    if layer.training or bn.training:
        raise AssertionError("Fusion only for eval!")


def _folded(
    weight: Any, bias: Any, mean: Any, var: Any, eps: float, bn_weight: object, bn_bias: object, shape: list[int]
) -> tuple[object, object]:
    bias = zeros_like(mean) if bias is None else bias
    bn_weight = ones_like(mean) if bn_weight is None else bn_weight
    bn_bias = zeros_like(mean) if bn_bias is None else bn_bias
    scale = bn_weight * (var + eps).rsqrt()
    new_weight = (weight * scale.reshape(shape)).to(weight.dtype)
    new_bias = ((bias - mean) * scale + bn_bias).to(bias.dtype)
    return Parameter(new_weight.detach(), weight.requires_grad), Parameter(new_bias.detach(), bias.requires_grad)


def fuse_conv_bn_weights(
    conv_w: Tensor,
    conv_b: Tensor | None,
    bn_rm: object,
    bn_rv: object,
    bn_eps: float,
    bn_w: object,
    bn_b: object,
    transpose: bool = False,
) -> tuple[Any, Any]:
    """Weight and bias of one convolution that replaces a convolution and the batch normalisation after it.

    Args:
        conv_w, conv_b: weight and bias of the convolution; None if it has no bias.
        bn_rm, bn_rv: running mean and variance.
        bn_eps: the number added to the variance.
        bn_w, bn_b: the normalisation's own weight and bias, or None.
        transpose: whether the convolution is a transposed one.
    """
    shape = [1, -1] if transpose else [-1, 1]
    return _folded(conv_w, conv_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, shape + [1] * (conv_w.dim() - 2))


def fuse_conv_bn_eval(conv: Module, bn: Module, transpose: bool = False) -> Module:
    """One convolution for a convolution and the batch normalisation after it, both in evaluation mode.

    >>> conv, bn = torch.nn.Conv2d(1, 2, 3).eval(), torch.nn.BatchNorm2d(2).eval()
    >>> x = torch.ones(1, 1, 3, 3)
    >>> torch.allclose(torch.nn.utils.fuse_conv_bn_eval(conv, bn)(x), bn(conv(x)), atol=1e-6)
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.fuse_conv_bn_eval.html
    """
    _check_eval(conv, bn)
    numbers = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    return _fuse(conv, bn, fuse_conv_bn_weights(conv.weight, conv.bias, *numbers, transpose))


def fuse_linear_bn_weights(
    linear_w: object, linear_b: object, bn_rm: Tensor, bn_rv: Tensor, bn_eps: float, bn_w: Tensor, bn_b: Tensor
) -> tuple[Any, Any]:
    """Weight and bias of one linear layer that replaces a linear layer and the batch normalisation after it."""
    return _folded(linear_w, linear_b, bn_rm, bn_rv, bn_eps, bn_w, bn_b, [-1, 1])


def fuse_linear_bn_eval(linear: Module, bn: Module) -> Module:
    """One linear layer for a linear layer and the batch normalisation after it, both in evaluation mode.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.fuse_linear_bn_eval.html
    """
    _check_eval(linear, bn)
    if bn.num_features not in (1, linear.out_features):
        raise AssertionError(
            "To fuse, linear.out_features == bn.num_features or bn.num_features == 1, got linear.out_features="
            f"{linear.out_features} and bn.num_features={bn.num_features}"
        )
    numbers = bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias
    return _fuse(linear, bn, fuse_linear_bn_weights(linear.weight, linear.bias, *numbers))
