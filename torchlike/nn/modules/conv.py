"""Convolutions and transposed convolutions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from ..._core.annotations import DeviceLike, Dtype, IntOrInts
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from .. import functional as F, init
from ..parameter import Parameter, UninitializedParameter, unfilled
from .lazy import LazyModuleMixin
from .module import Module, member
from .padding import ntuple

__all__ = [
    "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d", "ConvTranspose2d", "ConvTranspose3d", "LazyConv1d", "LazyConv2d", "LazyConv3d",
    "LazyConvTranspose1d", "LazyConvTranspose2d", "LazyConvTranspose3d",
]  # fmt: skip

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """The base class of all convolutions: parameters, padding and ``repr``."""

    _dimensions: int
    weight: Any = member()
    bias: Tensor | None = member()

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: tuple[int, ...],
        stride: tuple[int, ...],
        padding: tuple[int, ...] | str,
        dilation: tuple[int, ...],
        transposed: bool,
        output_padding: tuple[int, ...],
        groups: int,
        bias: bool,
        padding_mode: str,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}")
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                "padding_mode must be one of {'zeros', 'circular', 'replicate', 'reflect'}, but got "
                f"padding_mode='{padding_mode}'"
            )
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.dilation = dilation
        self.transposed = transposed
        self.output_padding = output_padding
        self.groups = groups
        self.padding_mode = padding_mode
        self._reversed_padding_repeated_twice = self._both_sides()
        outer, inner = (in_channels, out_channels) if transposed else (out_channels, in_channels)
        self.weight = Parameter(unfilled((outer, inner // groups, *kernel_size), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(unfilled(out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def _both_sides(self) -> list[int]:
        """Padding before and after each dimension, the last dimension first, as ``F.pad`` takes it."""
        if not isinstance(self.padding, str):
            return [p for p in reversed(self.padding) for _ in range(2)]
        pads = [0, 0] * len(self.kernel_size)
        if self.padding == "same":
            for i, (d, k) in enumerate(zip(reversed(self.dilation), reversed(self.kernel_size), strict=False)):
                total = d * (k - 1)
                pads[2 * i] = total // 2
                pads[2 * i + 1] = total - total // 2
        return pads

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}"
        if self.padding != (0,) * len(self.padding):
            text += f", padding={self.padding}"
        if self.dilation != (1,) * len(self.dilation):
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * len(self.output_padding):
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text


class _Convolution(_ConvNd):
    """A convolution of a given number of dimensions."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: IntOrInts | str = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        n = self._dimensions
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, n),
            ntuple(stride, n),
            padding if isinstance(padding, str) else ntuple(padding, n),
            ntuple(dilation, n),
            False,
            (0,) * n,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv(self, function: Callable[..., Tensor], input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        if self.padding_mode == "zeros":
            return function(input, weight, bias, self.stride, self.padding, self.dilation, self.groups)
        padded = F.pad(input, self._reversed_padding_repeated_twice, mode=self.padding_mode)
        return function(padded, weight, bias, self.stride, (0,) * self._dimensions, self.dilation, self.groups)


class Conv1d(_Convolution):
    """A convolution over (N, C, L) or (C, L); arguments as for ``Conv2d``.

    >>> torch.nn.Conv1d(16, 33, 3, stride=2)(torch.ones(20, 16, 50)).shape
    torch.Size([20, 33, 24])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv1d.html
    """

    _dimensions = 1

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._conv(F.conv1d, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv2d(_Convolution):
    """A convolution (cross-correlation) over (N, C, H, W) or (C, H, W).

    Args:
        in_channels, out_channels: sizes of C before and after; both divisible by ``groups``.
        kernel_size, stride, dilation: one number, or one for each of H and W.
        padding: the same, or "valid" (none), or "same" (the output has the input's size; stride 1 only).
        groups: the number of separate convolutions, each for its share of the channels.
        bias: whether the layer adds a trained number to each output channel.
        padding_mode: "zeros", "reflect", "replicate" or "circular".

    The weight is (out_channels, in_channels / groups, kH, kW); all start uniform between ±1/sqrt(in_channels/groups kH kW).

    >>> torch.nn.Conv2d(1, 6, 5)(torch.ones(2, 1, 28, 28)).shape
    torch.Size([2, 6, 24, 24])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv2d.html
    """

    _dimensions = 2

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._conv(F.conv2d, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv3d(_Convolution):
    """A convolution over (N, C, D, H, W) or (C, D, H, W); arguments as for ``Conv2d``.

    >>> torch.nn.Conv3d(1, 2, 3)(torch.ones(1, 1, 5, 5, 5)).shape
    torch.Size([1, 2, 3, 3, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Conv3d.html
    """

    _dimensions = 3

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return self._conv(F.conv3d, input, weight, bias)

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class _ConvTransposeNd(_ConvNd):
    """A transposed convolution of a given number of dimensions."""

    padding: tuple[int, ...]

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
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        n = self._dimensions
        super().__init__(
            in_channels,
            out_channels,
            ntuple(kernel_size, n),
            ntuple(stride, n),
            ntuple(padding, n),
            ntuple(dilation, n),
            True,
            ntuple(output_padding, n),
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def _conv_transpose(
        self, function: Callable[..., Tensor], input: Tensor, output_size: Sequence[int] | None
    ) -> Tensor:
        padding = self.output_padding if output_size is None else self._padding_for(input, list(output_size))
        return function(input, self.weight, self.bias, self.stride, self.padding, padding, self.groups, self.dilation)

    def _padding_for(self, input: Tensor, output_size: list[int]) -> tuple[int, ...]:
        """Returns the output padding with which the output has ``output_size``."""
        n = self._dimensions
        lead = input.dim() - n
        if len(output_size) == lead + n:
            output_size = output_size[lead:]
        if len(output_size) != n:
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or {lead + n} elements (got "
                f"{len(output_size)})"
            )
        smallest = [
            (input.size(d + lead) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        largest = [size + self.stride[d] - 1 for d, size in enumerate(smallest)]
        if any(not low <= size <= high for size, low, high in zip(output_size, smallest, largest, strict=True)):
            raise ValueError(
                f"requested an output size of {output_size}, but valid sizes range from {smallest} to {largest} (for an input of "
                f"{input.size()[2:]})"
            )
        return tuple(size - low for size, low in zip(output_size, smallest, strict=True))


class ConvTranspose1d(_ConvTransposeNd):
    """The gradient of ``Conv1d`` with respect to its input, as a layer.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose1d.html
    """

    _dimensions = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._conv_transpose(F.conv_transpose1d, input, output_size)


class ConvTranspose2d(_ConvTransposeNd):
    """The gradient of ``Conv2d`` with respect to its input, as a layer.

    Args:
        output_padding: the difference between the output's size and the smallest possible one, added on one side.
        in_channels, out_channels, kernel_size, stride, padding, groups, bias, dilation: as for ``Conv2d``.

    >>> torch.nn.ConvTranspose2d(16, 33, 3, stride=2)(torch.ones(20, 16, 5, 5)).shape
    torch.Size([20, 33, 11, 11])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose2d.html
    """

    _dimensions = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._conv_transpose(F.conv_transpose2d, input, output_size)


class ConvTranspose3d(_ConvTransposeNd):
    """The gradient of ``Conv3d`` with respect to its input, as a layer.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ConvTranspose3d.html
    """

    _dimensions = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return self._conv_transpose(F.conv_transpose3d, input, output_size)


# ---- lazy convolutions


class _LazyConvNd(LazyModuleMixin):
    """The base class of lazy convolutions, whose ``in_channels`` is that of the first input."""

    _dimensions: int
    groups: int
    transposed: bool
    in_channels: int
    out_channels: int
    kernel_size: tuple[int, ...]
    weight: Any
    bias: Any

    def _wait_for_input(self, out_channels: int, bias: bool, device: DeviceLike | None, dtype: Dtype | None) -> None:
        self.out_channels = out_channels
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new weights and biases, if they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()  # pyright: ignore[reportAttributeAccessIssue]

    def initialize_parameters(self, input: Tensor, *args: object, **kwargs: object) -> None:
        """Gives the parameters the shape that the number of the input's channels requires."""
        if self.has_uninitialized_params():
            self.in_channels = self._channels_of(input)
            if self.in_channels % self.groups:
                raise ValueError("in_channels must be divisible by groups")
            outer, inner = self.out_channels, self.in_channels
            if self.transposed:
                outer, inner = inner, outer
            with no_grad():
                self.weight.materialize((outer, inner // self.groups, *self.kernel_size))
                if self.bias is not None:
                    self.bias.materialize((self.out_channels,))
                self.reset_parameters()
        elif self.in_channels == 0:  # loading a state_dict has already set the values
            self.in_channels = self.weight.shape[0 if self.transposed else 1] * (1 if self.transposed else self.groups)

    def _channels_of(self, input: Tensor) -> int:
        single = self._dimensions + 1
        if input.dim() not in (single, single + 1):
            raise RuntimeError(
                f"Expected {single}D (unbatched) or {single + 1}D (batched) input to {type(self).__name__}, but got input of size: "
                f"{input.shape}"
            )
        return input.shape[-single]


class _LazyConvolution(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: str | IntOrInts = 0,
        dilation: IntOrInts = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        # bias=False, because ``_wait_for_input`` creates an uninitialised bias.
        super().__init__(0, 0, kernel_size, stride, padding, dilation, groups, False, padding_mode, device, dtype)
        self._wait_for_input(out_channels, bias, device, dtype)


class LazyConv1d(_LazyConvolution, Conv1d):
    """``Conv1d`` whose ``in_channels`` is that of the first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConvolution, Conv2d):
    """``Conv2d`` whose ``in_channels`` is that of the first input; the other arguments are its.

    >>> torch.nn.LazyConv2d(6, 5)(torch.ones(2, 1, 28, 28)).shape
    torch.Size([2, 6, 24, 24])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyConv2d.html
    """

    cls_to_become = Conv2d


class LazyConv3d(_LazyConvolution, Conv3d):
    """``Conv3d`` whose ``in_channels`` is that of the first input."""

    cls_to_become = Conv3d


class _LazyConvTranspose(_LazyConvNd):
    def __init__(
        self,
        out_channels: int,
        kernel_size: IntOrInts,
        stride: IntOrInts = 1,
        padding: str | IntOrInts = 0,
        output_padding: IntOrInts = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: IntOrInts = 1,
        padding_mode: str = "zeros",
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__(
            0, 0, kernel_size, stride, padding, output_padding, groups, False, dilation, padding_mode, device, dtype
        )
        self._wait_for_input(out_channels, bias, device, dtype)


class LazyConvTranspose1d(_LazyConvTranspose, ConvTranspose1d):
    """``ConvTranspose1d`` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConvTranspose, ConvTranspose2d):
    """``ConvTranspose2d`` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConvTranspose, ConvTranspose3d):
    """``ConvTranspose3d`` whose ``in_channels`` is that of the first input."""

    cls_to_become = ConvTranspose3d
