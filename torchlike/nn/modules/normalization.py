"""Normalisation of each sample by itself: layer, group and root-mean-square norms."""

from __future__ import annotations

from numbers import Integral
from typing import Any

from ..._core.annotations import DeviceLike, Dtype, IntOrInts
from ..._core.tensor import Tensor
from .. import functional as F, init
from ..parameter import Parameter, unfilled
from ._cross_map_lrn import CrossMapLRN2d as _CrossMapLRN2d
from .module import Module, member

__all__ = ["CrossMapLRN2d", "GroupNorm", "LayerNorm", "LocalResponseNorm", "RMSNorm"]


def _shape(normalized_shape: Any) -> tuple[int, ...]:
    return (int(normalized_shape),) if isinstance(normalized_shape, Integral) else tuple(normalized_shape)


class _AffineNorm(Module):
    """The base class of normalisations with a weight, and perhaps a bias, for each element or channel."""

    weight: Parameter = member()

    def _register_unfilled(
        self, name: str, shape: IntOrInts | None, device: DeviceLike | None, dtype: Dtype | None
    ) -> None:
        """Registers a parameter that is not filled yet, or only its name if the shape is None."""
        parameter = None if shape is None else Parameter(unfilled(shape, device=device, dtype=dtype))
        self.register_parameter(name, parameter)

    def reset_parameters(self) -> None:
        """Sets weight to 1 and bias to 0."""
        if self.weight is not None:
            init.ones_(self.weight)
        bias = getattr(self, "bias", None)  # RMSNorm has no bias
        if bias is not None:
            init.zeros_(bias)


class LayerNorm(_AffineNorm):
    """``(x - mean) / sqrt(var + eps) weight + bias`` over the last dimensions.

    Args:
        normalized_shape: their sizes; one number for the last dimension alone.
        eps: added to the variance.
        elementwise_affine: whether there are weight and bias; ``bias=False`` leaves out the second.

    >>> torch.nn.LayerNorm(2)(torch.tensor([[1.0, 3.0]]))
    tensor([[-1.0000,  1.0000]], grad_fn=<NativeLayerNormBackward0>)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LayerNorm.html; https://arxiv.org/abs/1607.06450
    """

    weight: Parameter
    bias: Parameter = member()

    def __init__(
        self,
        normalized_shape: IntOrInts,
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        where = {"device": device, "dtype": dtype}
        self._register_unfilled("weight", self.normalized_shape if elementwise_affine else None, **where)
        self._register_unfilled("bias", self.normalized_shape if elementwise_affine and bias else None, **where)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return (
            f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}, "
            f"bias={self.bias is not None}"
        )


class GroupNorm(_AffineNorm):
    """Normalises groups of channels of (N, C, ...) by their own mean and variance.

    Args:
        num_groups: the number of groups; it must divide ``num_channels``.
        num_channels: C.
        affine: whether there are weight and bias for each channel; ``bias=False`` leaves out the second.

    >>> torch.nn.GroupNorm(3, 6)(torch.ones(20, 6, 10, 10)).shape
    torch.Size([20, 6, 10, 10])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.GroupNorm.html; https://arxiv.org/abs/1803.08494
    """

    weight: Parameter
    bias: Parameter = member()

    def __init__(
        self,
        num_groups: int,
        num_channels: int,
        eps: float = 1e-5,
        affine: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if num_channels % num_groups != 0:
            raise ValueError(f"num_channels ({num_channels}) must be divisible by num_groups ({num_groups})")
        self.num_groups = num_groups
        self.num_channels = num_channels
        self.eps = eps
        self.affine = affine
        where = {"device": device, "dtype": dtype}
        self._register_unfilled("weight", num_channels if affine else None, **where)
        self._register_unfilled("bias", num_channels if affine and bias else None, **where)
        self.reset_parameters()

    def forward(self, input: Tensor) -> Tensor:
        return F.group_norm(input, self.num_groups, self.weight, self.bias, self.eps)

    def extra_repr(self) -> str:
        return f"{self.num_groups}, {self.num_channels}, eps={self.eps}, affine={self.affine}, bias={self.bias is not None}"


class RMSNorm(_AffineNorm):
    """``x / sqrt(mean(x^2) + eps) weight`` over the last dimensions.

    Args:
        normalized_shape: their sizes; one number for the last dimension alone.
        eps: added to the mean square. Default: the smallest step of the dtype at 1.
        elementwise_affine: whether there is a weight.

    >>> torch.nn.RMSNorm(3)(torch.ones(2, 3)).shape
    torch.Size([2, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.RMSNorm.html; https://arxiv.org/abs/1910.07467
    """

    weight: Parameter

    def __init__(
        self,
        normalized_shape: IntOrInts,
        eps: float | None = None,
        elementwise_affine: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.normalized_shape = _shape(normalized_shape)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self._register_unfilled("weight", self.normalized_shape if elementwise_affine else None, device, dtype)
        self.reset_parameters()

    def forward(self, x: Tensor) -> Tensor:
        return F.rms_norm(x, self.normalized_shape, self.weight, self.eps)

    def extra_repr(self) -> str:
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class LocalResponseNorm(Module):
    """``x / (k + alpha mean(x^2))^beta``, the mean taken over ``size`` neighbouring channels."""

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        return F.local_response_norm(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"


class CrossMapLRN2d(Module):
    """``x / (k + alpha / size * sum of squares)^beta``, the sum over neighbouring channels of (N, C, H, W) and the first one.

    The sum always includes the first channel, as in PyTorch. ``LocalResponseNorm`` has the usual formula.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossMapLRN2d.html
    """

    def __init__(self, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1) -> None:
        super().__init__()
        self.size = size
        self.alpha = alpha
        self.beta = beta
        self.k = k

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != 4:
            raise ValueError(f"CrossMapLRN2d: Expected input to be 4D, got {input.dim()}D instead.")
        return _CrossMapLRN2d.apply(input, self.size, self.alpha, self.beta, self.k)

    def extra_repr(self) -> str:
        return f"{self.size}, alpha={self.alpha}, beta={self.beta}, k={self.k}"
