"""Convolutions with normalization and ReLU, with fake quantization of the weight that inference will have."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ...... import nn, ops
from ......_core.tensor import Tensor
from ......nn import functional as F
from ......nn.modules.module import Module
from ......nn.parameter import Parameter
from ......nn.utils.fusion import fuse_conv_bn_weights
from .....nn import intrinsic as nni, qat as nnqat
from ....qat.modules._base import Config, FakeQuantized
from ....qat.modules.conv import ARGUMENTS

__all__ = [
    "ConvBn1d", "ConvBn2d", "ConvBn3d", "ConvBnReLU1d", "ConvBnReLU2d", "ConvBnReLU3d", "ConvReLU1d", "ConvReLU2d", "ConvReLU3d",
    "freeze_bn_stats", "update_bn_stats",
]  # fmt: skip


class _ConvBn(FakeQuantized):
    """The base of convolutions with normalization.

    The weight is scaled by the normalization's running statistics before it is rounded, as it will be when both are folded into one;
    what the convolution gives is scaled back, so that the normalization sees what it would see without.
    """

    _version = 2
    _arguments = ARGUMENTS
    _FLOAT_BN_MODULE: ClassVar[type[Module]]
    _FLOAT_RELU_MODULE: ClassVar[type[Module] | None] = None
    bias: Tensor | None
    weight: Tensor
    out_channels: int
    bn: Any

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int | tuple[int, ...],
        stride: int | tuple[int, ...] = 1,
        padding: int | tuple[int, ...] | str = 0,
        dilation: int | tuple[int, ...] = 1,
        groups: int = 1,
        bias: bool | None = None,
        padding_mode: str = "zeros",
        eps: float = 1e-05,
        momentum: float = 0.1,
        freeze_bn: bool = False,
        qconfig: Config | None = None,
    ) -> None:
        places = (stride, padding, dilation, groups, False, padding_mode)
        super().__init__(in_channels, out_channels, kernel_size, *places, qconfig=qconfig)
        fake_quant = self._modules.pop("weight_fake_quant")
        self.freeze_bn = freeze_bn
        self.bn = self._FLOAT_BN_MODULE(out_channels, eps, momentum, True, True)
        self.weight_fake_quant = fake_quant  # pyright: ignore[reportAttributeAccessIssue]  # after bn, as PyTorch's state dictionaries have it
        if bias:
            self.bias = Parameter(ops.empty(out_channels))
        self.reset_bn_parameters()
        if freeze_bn:
            self.freeze_bn_stats()

    def reset_running_stats(self) -> None:
        """Forgets the normalization's statistics."""
        self.bn.reset_running_stats()

    def reset_bn_parameters(self) -> None:
        """Resets the normalization, and draws a weight for it and the bias."""
        self.bn.reset_running_stats()
        nn.init.uniform_(self.bn.weight)
        nn.init.zeros_(self.bn.bias)
        if self.bias is not None:
            bound = self.weight[0].numel() ** -0.5
            nn.init.uniform_(self.bias, -bound, bound)

    def update_bn_stats(self) -> Self:
        """From now on the normalization's statistics follow the batches."""
        self.freeze_bn = False
        self.bn.training = True
        return self

    def freeze_bn_stats(self) -> Self:
        """From now on the normalization's statistics stay as they are."""
        self.freeze_bn = True
        self.bn.training = False
        return self

    def train(self, mode: bool = True) -> Self:
        """Sets the mode; the normalization stays in evaluation mode if its statistics are frozen."""
        self.training = mode
        if not self.freeze_bn:
            for module in self.children():
                module.train(mode)
        return self

    def forward(self, input: Tensor) -> Tensor:
        factor = self.bn.weight / ops.sqrt(self.bn.running_var + self.bn.eps)
        rows = [-1] + [1] * (self.weight.dim() - 1)
        columns = [1, -1] + [1] * (self.weight.dim() - 2)
        weight = self.weight_fake_quant(self.weight * factor.reshape(rows))
        zero = ops.zeros(self.out_channels, dtype=input.dtype, device=input.device)  # pyright: ignore[reportArgumentType]
        output = self._conv_forward(input, weight, zero) / factor.reshape(columns)
        if self.bias is not None:
            output = output + self.bias.reshape(columns)
        output = self.bn(output)
        return output if self._FLOAT_RELU_MODULE is None else F.relu(output)

    @classmethod
    def from_float(cls, mod: Module, use_precomputed_fake_quant: bool = False) -> Self:
        """The module with fake quantization of a fused one, whose attribute ``qconfig`` says how. They share parameters."""
        result = super().from_float(mod)
        result.bn = mod[1]  # pyright: ignore[reportIndexIssue]
        return result


class ConvBn1d(_ConvBn, nn.Conv1d):
    """``nni.ConvBn1d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBn1d
    _FLOAT_CONV_MODULE = nn.Conv1d
    _FLOAT_BN_MODULE = nn.BatchNorm1d


class ConvBn2d(_ConvBn, nn.Conv2d):
    """``nni.ConvBn2d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBn2d
    _FLOAT_CONV_MODULE = nn.Conv2d
    _FLOAT_BN_MODULE = nn.BatchNorm2d


class ConvBn3d(_ConvBn, nn.Conv3d):
    """``nni.ConvBn3d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBn3d
    _FLOAT_CONV_MODULE = nn.Conv3d
    _FLOAT_BN_MODULE = nn.BatchNorm3d


class ConvBnReLU1d(ConvBn1d):
    """``nni.ConvBnReLU1d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBnReLU1d  # pyright: ignore[reportAssignmentType]
    _FLOAT_RELU_MODULE = nn.ReLU


class ConvBnReLU2d(ConvBn2d):
    """``nni.ConvBnReLU2d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBnReLU2d  # pyright: ignore[reportAssignmentType]
    _FLOAT_RELU_MODULE = nn.ReLU


class ConvBnReLU3d(ConvBn3d):
    """``nni.ConvBnReLU3d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvBnReLU3d  # pyright: ignore[reportAssignmentType]
    _FLOAT_RELU_MODULE = nn.ReLU


class ConvReLU1d(nnqat.Conv1d):
    """``nni.ConvReLU1d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvReLU1d  # pyright: ignore[reportAssignmentType]

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(super().forward(input))


class ConvReLU2d(nnqat.Conv2d):
    """``nni.ConvReLU2d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvReLU2d  # pyright: ignore[reportAssignmentType]

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(super().forward(input))


class ConvReLU3d(nnqat.Conv3d):
    """``nni.ConvReLU3d`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nni.ConvReLU3d  # pyright: ignore[reportAssignmentType]

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(super().forward(input))


def update_bn_stats(mod: Module) -> None:
    """For ``model.apply``: statistics of fused normalizations follow the batches."""
    if isinstance(mod, _ConvBn):
        mod.update_bn_stats()


def freeze_bn_stats(mod: Module) -> None:
    """For ``model.apply``: statistics of fused normalizations stay as they are."""
    if isinstance(mod, _ConvBn):
        mod.freeze_bn_stats()


def folded(mod: Any) -> tuple[Tensor, Tensor]:
    """The weight and the bias with the normalization in them."""
    bn = mod.bn
    return fuse_conv_bn_weights(mod.weight, mod.bias, bn.running_mean, bn.running_var, bn.eps, bn.weight, bn.bias)
