"""Pooling: the largest or the mean element of each window."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from .. import functional as F
from ._pure import Pure
from ._sizes import ntuple
from .module import Module

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "LPPool1d", "LPPool2d", "LPPool3d", "MaxPool1d", "MaxPool2d", "MaxPool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        return_indices: bool = False,
        ceil_mode: bool = False,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.dilation = dilation
        self.return_indices = return_indices
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, dilation={self.dilation}, "
            f"ceil_mode={self.ceil_mode}"
        )

    def _pool(self, function: Any, input: Tensor) -> Any:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of each window over (N, C, L) or (C, L); arguments as for ``MaxPool2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool1d.html
    """

    _pure = Pure("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window over (N, C, H, W) or (C, H, W).

    Args:
        kernel_size: of the window: one number, or one for each of H and W.
        stride: of the window; default its size.
        padding: how far the window may reach over the border, where -infinity stands.
        dilation: steps between the elements of a window.
        return_indices: return the flat positions of the largest elements as well.
        ceil_mode: keep a window that does not fit whole at the end.

    >>> torch.nn.MaxPool2d(3, stride=2)(torch.ones(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html
    """

    _pure = Pure("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window over (N, C, D, H, W) or (C, D, H, W); arguments as for ``MaxPool2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool3d.html
    """

    _pure = Pure("kernel_size", "stride", "padding", "dilation", "return_indices", "ceil_mode")

    def forward(self, input: Tensor) -> Any:
        return self._pool(F.max_pool3d, input)


class _AvgPoolNd(Module):
    kernel_size: Any
    stride: Any
    padding: Any

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window over (N, C, L) or (C, L); arguments as for ``AvgPool2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
    """

    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(kernel_size if stride is None else stride, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    _pure = Pure("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad")

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    def __init__(
        self,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: int | None = None,
    ) -> None:
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = kernel_size if stride is None else stride
        self.padding = padding
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def _pool(self, function: Any, input: Tensor) -> Tensor:
        return function(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )


class AvgPool2d(_AvgPoolWithDivisor):
    """The mean of each window over (N, C, H, W) or (C, H, W).

    Args:
        kernel_size, stride, padding, ceil_mode: as for ``MaxPool2d``, zeros standing over the border.
        count_include_pad: whether zeros over the border count in the mean.
        divisor_override: divide the sum by this, not by the size of the window.

    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 1, 4, 4))
    tensor([[[[1., 1.],
              [1., 1.]]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
    """

    _pure = Pure("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of each window over (N, C, D, H, W) or (C, D, H, W); arguments as for ``AvgPool2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool3d.html
    """

    _pure = Pure("kernel_size", "stride", "padding", "ceil_mode", "count_include_pad", "divisor_override")

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    def __init__(self, norm_type: float, kernel_size: Any, stride: Any = None, ceil_mode: bool = False) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm of each window over (N, C, L) or (C, L), p being ``norm_type``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool1d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool2d(_LPPoolNd):
    """The p-norm of each window over (N, C, H, W) or (C, H, W), p being ``norm_type``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool2d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class LPPool3d(_LPPoolNd):
    """The p-norm of each window over (N, C, D, H, W) or (C, D, H, W), p being ``norm_type``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.lp_pool3d(input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode)


class _AdaptiveAvgPoolNd(Module):
    def __init__(self, output_size: Any) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as make the output's last dimension ``output_size``."""

    _pure = Pure("output_size")

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool1d(input, self.output_size)


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """Means of as many windows as make the output's last two dimensions ``output_size``.

    Args:
        output_size: one number, or one for each dimension; None keeps the input's.

    >>> torch.nn.AdaptiveAvgPool2d(1)(torch.ones(2, 3, 8, 8)).shape
    torch.Size([2, 3, 1, 1])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveAvgPool2d.html
    """

    _pure = Pure("output_size")

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows as make the output's last three dimensions ``output_size``."""

    _pure = Pure("output_size")

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: Any, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last dimension ``output_size``."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last two dimensions ``output_size``."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last three dimensions ``output_size``."""

    def forward(self, input: Tensor) -> Any:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)
