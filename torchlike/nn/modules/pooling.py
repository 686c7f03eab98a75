"""Pooling layers: the largest element or the mean of each window; and layers that undo pooling."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._core.annotations import IntOrInts
from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module
from .padding import ntuple

__all__ = [
    "AdaptiveAvgPool1d", "AdaptiveAvgPool2d", "AdaptiveAvgPool3d", "AdaptiveMaxPool1d", "AdaptiveMaxPool2d", "AdaptiveMaxPool3d",
    "AvgPool1d", "AvgPool2d", "AvgPool3d", "FractionalMaxPool2d", "FractionalMaxPool3d", "LPPool1d", "LPPool2d", "LPPool3d",
    "MaxPool1d", "MaxPool2d", "MaxPool3d", "MaxUnpool1d", "MaxUnpool2d", "MaxUnpool3d",
]  # fmt: skip


class _MaxPoolNd(Module):
    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
        dilation: IntOrInts = 1,
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

    def _pool(self, function: Callable[..., object], input: Tensor) -> Any:
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

    >>> nn.MaxPool1d(2)(torch.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[4., 3.]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool1d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool1d, input)


class MaxPool2d(_MaxPoolNd):
    """The largest element of each window over (N, C, H, W) or (C, H, W).

    Args:
        kernel_size: the size of a window: one number, or one for each of H and W.
        stride: the step between windows (default: their size).
        padding: how far windows extend beyond the border, which is filled with -infinity.
        dilation: steps between the elements of a window.
        return_indices: return the flat positions of the largest elements as well.
        ceil_mode: keep the last window even if only a part of it fits.

    >>> torch.nn.MaxPool2d(3, stride=2)(torch.ones(20, 16, 50, 32)).shape
    torch.Size([20, 16, 24, 15])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool2d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool2d, input)


class MaxPool3d(_MaxPoolNd):
    """The largest element of each window over (N, C, D, H, W) or (C, D, H, W); arguments as for ``MaxPool2d``.

    >>> nn.MaxPool3d(2)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxPool3d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.max_pool3d, input)


class _AvgPoolNd(Module):
    kernel_size: IntOrInts
    stride: IntOrInts
    padding: IntOrInts

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of each window over (N, C, L) or (C, L); arguments as for ``AvgPool2d``.

    >>> nn.AvgPool1d(2)(torch.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[2.5000, 2.5000]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool1d.html
    """

    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
    ) -> None:
        super().__init__()
        self.kernel_size = ntuple(kernel_size, 1)
        self.stride = ntuple(kernel_size if stride is None else stride, 1)
        self.padding = ntuple(padding, 1)
        self.ceil_mode = ceil_mode
        self.count_include_pad = count_include_pad

    def forward(self, input: Tensor) -> Tensor:
        return F.avg_pool1d(input, self.kernel_size, self.stride, self.padding, self.ceil_mode, self.count_include_pad)


class _AvgPoolWithDivisor(_AvgPoolNd):
    def __init__(
        self,
        kernel_size: IntOrInts,
        stride: IntOrInts | None = None,
        padding: IntOrInts = 0,
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

    def _pool(self, function: Callable[..., Tensor], input: Tensor) -> Tensor:
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
        kernel_size, stride, padding, ceil_mode: as for ``MaxPool2d``, but the border is filled with zeros.
        count_include_pad: whether zeros over the border count in the mean.
        divisor_override: divide the sum by this, not by the size of the window.

    >>> torch.nn.AvgPool2d(2)(torch.ones(1, 1, 4, 4))
    tensor([[[[1., 1.],
              [1., 1.]]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool2d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool2d, input)


class AvgPool3d(_AvgPoolWithDivisor):
    """The mean of each window over (N, C, D, H, W) or (C, D, H, W); arguments as for ``AvgPool2d``.

    >>> nn.AvgPool3d(2)(torch.ones(1, 1, 4, 4, 4)).shape
    torch.Size([1, 1, 2, 2, 2])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AvgPool3d.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return self._pool(F.avg_pool3d, input)


class _LPPoolNd(Module):
    def __init__(
        self, norm_type: float, kernel_size: Any, stride: IntOrInts | None = None, ceil_mode: bool = False
    ) -> None:
        super().__init__()
        self.norm_type = norm_type
        self.kernel_size = kernel_size
        self.stride = stride
        self.ceil_mode = ceil_mode

    def extra_repr(self) -> str:
        return f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, stride={self.stride}, ceil_mode={self.ceil_mode}"


class LPPool1d(_LPPoolNd):
    """The p-norm of each window over (N, C, L) or (C, L), p being ``norm_type``.

    >>> nn.LPPool1d(2, 2)(torch.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """

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
    def __init__(self, output_size: IntOrInts) -> None:
        super().__init__()
        self.output_size = output_size

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """Means of as many windows as make the output's last dimension ``output_size``.

    >>> nn.AdaptiveAvgPool1d(1)(torch.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[2.5000]])
    """

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

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(input, self.output_size)


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """Means of as many windows as make the output's last three dimensions ``output_size``.

    >>> nn.AdaptiveAvgPool3d(1)(torch.ones(1, 2, 4, 4, 4)).shape
    torch.Size([1, 2, 1, 1, 1])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_avg_pool3d(input, self.output_size)


class _AdaptiveMaxPoolNd(Module):
    def __init__(self, output_size: IntOrInts, return_indices: bool = False) -> None:
        super().__init__()
        self.output_size = output_size
        self.return_indices = return_indices

    def extra_repr(self) -> str:
        return f"output_size={self.output_size}"


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last dimension ``output_size``.

    >>> nn.AdaptiveMaxPool1d(2)(torch.tensor([[1.0, 4.0, 2.0, 3.0]]))
    tensor([[4., 3.]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool1d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last two dimensions ``output_size``.

    >>> nn.AdaptiveMaxPool2d(1)(torch.arange(4.0).view(1, 2, 2))
    tensor([[[3.]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(input, self.output_size, self.return_indices)


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of as many windows as make the output's last three dimensions ``output_size``."""

    def forward(self, input: Tensor) -> Tensor:
        return F.adaptive_max_pool3d(input, self.output_size, self.return_indices)


class _MaxUnpoolNd(Module):
    _dimensions: int

    def __init__(self, kernel_size: IntOrInts, stride: IntOrInts | None = None, padding: IntOrInts = 0) -> None:
        super().__init__()
        n = self._dimensions
        self.kernel_size = ntuple(kernel_size, n)
        self.stride = ntuple(kernel_size if stride is None else stride, n)
        self.padding = ntuple(padding, n)

    def forward(self, input: Tensor, indices: Tensor, output_size: IntOrInts | None = None) -> Tensor:
        function = getattr(F, f"max_unpool{self._dimensions}d")
        return function(input, indices, self.kernel_size, self.stride, self.padding, output_size)

    def extra_repr(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts values where ``MaxPool1d`` found them; arguments as for ``MaxUnpool2d``."""

    _dimensions = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts values where ``MaxPool2d`` with ``return_indices=True`` found them, and 0 elsewhere.

    Args:
        kernel_size, stride, padding: those of the pooling.

    ``forward`` takes the values, their positions, and ``output_size``, since several sizes are pooled to the same size.

    >>> pool = torch.nn.MaxPool2d(2, return_indices=True)
    >>> torch.nn.MaxUnpool2d(2)(*pool(torch.tensor([[[[1.0, 2.0], [4.0, 3.0]]]])))
    tensor([[[[0., 0.],
              [4., 0.]]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MaxUnpool2d.html
    """

    _dimensions = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts values where ``MaxPool3d`` found them; arguments as for ``MaxUnpool2d``."""

    _dimensions = 3


class _FractionalMaxPoolNd(Module):
    _dimensions: int
    _random_samples: Tensor | None

    def __init__(
        self,
        kernel_size: IntOrInts,
        output_size: IntOrInts | None = None,
        output_ratio: object = None,
        return_indices: bool = False,
        _random_samples: Tensor | None = None,
    ) -> None:
        super().__init__()
        n, name = self._dimensions, type(self).__name__
        self.kernel_size = ntuple(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else ntuple(output_size, n)
        self.output_ratio = None if output_ratio is None else ntuple(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(f"{name} requires specifying either an output size, or a pooling ratio")
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < ratio < 1 for ratio in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input: Tensor) -> Tensor:
        function = getattr(F, f"fractional_max_pool{self._dimensions}d")
        return function(
            input, self.kernel_size, self.output_size, self.output_ratio, self.return_indices, self._random_samples
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest elements of windows of (N, C, H, W) that begin at random positions.

    Args:
        kernel_size: the size of a window.
        output_size: the number of windows; or ``output_ratio``, the number divided by the input's size.
        return_indices: return the flat positions of the largest elements as well.

    >>> torch.nn.FractionalMaxPool2d(3, output_size=(13, 12))(torch.rand(20, 16, 50, 32)).shape
    torch.Size([20, 16, 13, 12])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.FractionalMaxPool2d.html; https://arxiv.org/abs/1412.6071
    """

    _dimensions = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest elements of windows of (N, C, D, H, W) that begin at random positions; arguments as for ``FractionalMaxPool2d``."""

    _dimensions = 3
