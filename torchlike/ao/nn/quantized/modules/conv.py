"""Convolutions that compute with integers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..... import nn, ops
from ....._core import dtypes
from ....._core.tensor import Tensor
from .....nn import functional as F
from .....nn.modules.module import Module
from .....nn.modules.padding import ntuple
from .....ops.creation.quantized import QuantizedTensor
from ....nn.intrinsic.qat.modules.conv_fused import _ConvBn, folded
from .._kernels import Places, convolved
from .utils import WeightedQuantizedModule, observed

__all__ = ["Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d"]

IntOrInts = int | tuple[int, ...]
_SHAPES = {1: "(N, C, L)", 2: "(N, C, H, W)", 3: "(N, C, D, H, W)"}


class _ConvNd(WeightedQuantizedModule):
    """The base of all of them."""

    _FLOAT_MODULE: ClassVar[type[Module]]
    _dimensions: ClassVar[int]
    _transposed = False
    _relu = False
    _weight: QuantizedTensor
    _bias: Tensor | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: IntOrInts = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: object = None,
        output_padding: IntOrInts = 0,
    ) -> None:
        super().__init__()
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if self._transposed and padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._dimensions
        self.in_channels, self.out_channels, self.groups = in_channels, out_channels, groups
        self.kernel_size, self.stride = ntuple(kernel_size, n), ntuple(stride, n)
        self.padding, self.dilation = ntuple(padding, n), ntuple(dilation, n)
        self.output_padding, self.transposed = ntuple(output_padding, n), self._transposed
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = [p for p in reversed(self.padding) for _ in range(2)]
        outer, inner = (in_channels, out_channels) if self._transposed else (out_channels, in_channels)
        sizes = (outer, inner // groups, *self.kernel_size)
        weight = ops.quantize_per_tensor(ops.zeros(sizes), 1.0, 0, dtypes.qint8)
        self.set_weight_bias(weight, ops.zeros(out_channels) if bias else None)
        self.scale, self.zero_point = 1.0, 0

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        layer = mod[0] if hasattr(mod, "_kinds") else mod
        weight, bias = folded(layer) if isinstance(layer, _ConvBn) else (layer.weight, layer.bias)
        observation = observed(mod, layer, weight, use_precomputed_fake_quant)
        names = [
            "in_channels",
            "out_channels",
            "kernel_size",
            "stride",
            "padding",
            "dilation",
            "groups",
            "padding_mode",
        ]
        arguments = {name: getattr(layer, name) for name in names}
        if cls._transposed:
            arguments["output_padding"] = layer.output_padding
        result = cls(**arguments, bias=bias is not None)
        result.set_weight_bias(observation.weight, bias)
        result.scale, result.zero_point = observation.scale, observation.zero_point
        return result

    def _places(self, padding: tuple[int, ...]) -> Places:
        output_padding = self.output_padding if self._transposed else None
        return Places(self.stride, padding, self.dilation, self.groups, output_padding)

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() != self._dimensions + 2:
            raise ValueError(f"Input shape must be `{_SHAPES[self._dimensions]}`!")
        padding = self.padding
        if self.padding_mode != "zeros":
            input = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
            padding = (0,) * self._dimensions
        places = self._places(padding)
        return convolved(input, self._weight, self._bias, places, self.scale, self.zero_point, self._relu)

    def weight(self) -> QuantizedTensor:
        return self._weight

    def bias(self) -> Tensor | None:
        return self._bias

    def set_weight_bias(self, w: QuantizedTensor, b: Tensor | None) -> None:
        """Replaces both."""
        object.__setattr__(self, "_weight", w)
        object.__setattr__(self, "_bias", b)  # a parameter, which does not belong to the module's

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    def extra_repr(self) -> str:
        text = (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"scale={self.scale}, zero_point={self.zero_point}"
        )
        n = self._dimensions
        for name, usual in (("padding", 0), ("dilation", 1), ("output_padding", 0)):
            if getattr(self, name) != (usual,) * n:
                text += f", {name}={getattr(self, name)}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        return text if self._bias is not None else f"{text}, bias=False"

    def _save_to_state_dict(self, destination: dict[str, object], prefix: str, keep_vars: bool) -> None:
        destination[f"{prefix}weight"], destination[f"{prefix}bias"] = self._weight, self._bias
        super()._save_to_state_dict(destination, prefix, keep_vars)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        self.set_weight_bias(state_dict.pop(f"{prefix}weight"), state_dict.pop(f"{prefix}bias"))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class Conv1d(_ConvNd):
    """``nn.Conv1d`` with a quantized weight, from a quantized input to a quantized output. ``convert`` makes it."""

    _FLOAT_MODULE = nn.Conv1d
    _dimensions = 1


class Conv2d(_ConvNd):
    """``nn.Conv2d`` with a quantized weight, from a quantized input to a quantized output. ``convert`` makes it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.Conv2d.html
    """

    _FLOAT_MODULE = nn.Conv2d
    _dimensions = 2


class Conv3d(_ConvNd):
    """``nn.Conv3d`` with a quantized weight, from a quantized input to a quantized output. ``convert`` makes it."""

    _FLOAT_MODULE = nn.Conv3d
    _dimensions = 3


class _ConvTransposeNd(_ConvNd):
    """The base of transposed convolutions."""

    _transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: IntOrInts = 0,
        output_padding: IntOrInts = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: IntOrInts = 1,
        padding_mode: str = "zeros",
        device: object = None,
        dtype: object = None,
    ) -> None:
        sizes = (in_channels, out_channels, kernel_size, stride, padding, dilation)
        super().__init__(*sizes, groups, bias, padding_mode, device, dtype, output_padding)


class ConvTranspose1d(_ConvTransposeNd):
    """``nn.ConvTranspose1d`` with a quantized weight. ``convert`` makes it."""

    _FLOAT_MODULE = nn.ConvTranspose1d
    _dimensions = 1


class ConvTranspose2d(_ConvTransposeNd):
    """``nn.ConvTranspose2d`` with a quantized weight. ``convert`` makes it."""

    _FLOAT_MODULE = nn.ConvTranspose2d
    _dimensions = 2


class ConvTranspose3d(_ConvTransposeNd):
    """``nn.ConvTranspose3d`` with a quantized weight. ``convert`` makes it."""

    _FLOAT_MODULE = nn.ConvTranspose3d
    _dimensions = 3
