"""Building blocks of models: convolutions with what follows them, perceptrons, weights for channels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ... import nn, ops
from ..._core.tensor import Tensor

__all__ = [
    "MLP", "Conv2dNormActivation", "Conv3dNormActivation", "FrozenBatchNorm2d", "Permute", "SqueezeExcitation",
]  # fmt: skip

Make: TypeAlias = "Callable[..., nn.Module]"
Sizes: TypeAlias = "int | Sequence[int]"


class FrozenBatchNorm2d(nn.Module):
    """Batch normalization with numbers that do not change: weights and statistics are buffers.

    Args:
        num_features: channels.
        eps: is added to the variance.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.FrozenBatchNorm2d.html
    """

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, num_features: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.eps = eps
        self.register_buffer("weight", ops.ones(num_features))
        self.register_buffer("bias", ops.zeros(num_features))
        self.register_buffer("running_mean", ops.zeros(num_features))
        self.register_buffer("running_var", ops.ones(num_features))

    def _load_from_state_dict(self, state_dict: dict[str, Tensor], prefix: str, *rest: Any) -> None:
        state_dict.pop(f"{prefix}num_batches_tracked", None)  # of the layer that was trained
        super()._load_from_state_dict(state_dict, prefix, *rest)

    def forward(self, x: Tensor) -> Tensor:
        weight, bias, variance, mean = (
            numbers.reshape(1, -1, 1, 1) for numbers in (self.weight, self.bias, self.running_var, self.running_mean)
        )
        scale = weight * (variance + self.eps).rsqrt()
        return x * scale + (bias - mean * scale)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.weight.shape[0]}, eps={self.eps})"


class _ConvNormActivation(nn.Sequential):
    """A convolution, then a normalization and an activation, if there are any."""

    def __init__(
        self,
        convolution: Make,
        dimensions: int,
        channels: tuple[int, int],
        kernel_size: Sizes,
        stride: Sizes,
        padding: Sizes | str | None,
        groups: int,
        norm_layer: Make | None,
        activation_layer: Make | None,
        dilation: Sizes,
        inplace: bool | None,
        bias: bool | None,
    ) -> None:
        if padding is None:
            kernels, gaps = (
                (size,) * dimensions if isinstance(size, int) else tuple(size) for size in (kernel_size, dilation)
            )
            padding = tuple((kernel - 1) // 2 * gap for kernel, gap in zip(kernels, gaps, strict=True))
            if isinstance(kernel_size, int) and isinstance(dilation, int):
                padding = padding[0]
        layers = [
            convolution(
                *channels, kernel_size, stride, padding, dilation=dilation, groups=groups,
                bias=norm_layer is None if bias is None else bias,
            )
        ]  # fmt: skip
        if norm_layer is not None:
            layers.append(norm_layer(channels[1]))
        if activation_layer is not None:
            layers.append(activation_layer(**({} if inplace is None else {"inplace": inplace})))
        super().__init__(*layers)
        self.out_channels = channels[1]


class Conv2dNormActivation(_ConvNormActivation):
    """A convolution in two dimensions, then a normalization and an activation.

    Args:
        padding: default: as much as keeps the size where the stride is 1.
        norm_layer: creates the normalization for a number of channels; None: there is none.
        activation_layer: creates the activation; None: there is none.
        inplace: given to the activation, unless it is None.
        bias: of the convolution; default: if there is no normalization.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.Conv2dNormActivation.html
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes = 3,
        stride: Sizes = 1,
        padding: Sizes | str | None = None,
        groups: int = 1,
        norm_layer: Make | None = nn.BatchNorm2d,
        activation_layer: Make | None = nn.ReLU,
        dilation: Sizes = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            nn.Conv2d, 2, (in_channels, out_channels), kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias,
        )  # fmt: skip


class Conv3dNormActivation(_ConvNormActivation):
    """A convolution in three dimensions, then a normalization and an activation. Arguments are ``Conv2dNormActivation``'s.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.Conv3dNormActivation.html
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Sizes = 3,
        stride: Sizes = 1,
        padding: Sizes | str | None = None,
        groups: int = 1,
        norm_layer: Make | None = nn.BatchNorm3d,
        activation_layer: Make | None = nn.ReLU,
        dilation: Sizes = 1,
        inplace: bool | None = True,
        bias: bool | None = None,
    ) -> None:
        super().__init__(
            nn.Conv3d, 3, (in_channels, out_channels), kernel_size, stride, padding, groups, norm_layer,
            activation_layer, dilation, inplace, bias,
        )  # fmt: skip


class SqueezeExcitation(nn.Module):
    """Multiplies each channel by a weight that is computed from the means of all channels.

    Args:
        input_channels, squeeze_channels: of the input, and between the two layers.
        activation, scale_activation: create the activations after the first and the second layer.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.SqueezeExcitation.html, and Hu et al.,
    "Squeeze-and-Excitation Networks", https://arxiv.org/abs/1709.01507
    """

    def __init__(
        self,
        input_channels: int,
        squeeze_channels: int,
        activation: Make = nn.ReLU,
        scale_activation: Make = nn.Sigmoid,
    ) -> None:
        super().__init__()
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc1 = nn.Conv2d(input_channels, squeeze_channels, 1)
        self.fc2 = nn.Conv2d(squeeze_channels, input_channels, 1)
        self.activation = activation()
        self.scale_activation = scale_activation()

    def forward(self, input: Tensor) -> Tensor:
        return self.scale_activation(self.fc2(self.activation(self.fc1(self.avgpool(input))))) * input


class MLP(nn.Sequential):
    """Linear layers with normalizations, activations and dropout between them.

    Args:
        hidden_channels: outputs of each layer.
        norm_layer, activation_layer: create what follows all layers but the last; None: no normalization.
        inplace: given to activations and dropouts, unless it is None.
        dropout: its probability.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.MLP.html
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: Sequence[int],
        norm_layer: Make | None = None,
        activation_layer: Make = nn.ReLU,
        inplace: bool | None = None,
        bias: bool = True,
        dropout: float = 0.0,
    ) -> None:
        options = {} if inplace is None else {"inplace": inplace}
        layers: list[nn.Module] = []
        for number, channels in enumerate(hidden_channels):
            layers.append(nn.Linear(in_channels, channels, bias=bias))
            if number + 1 < len(hidden_channels):
                layers += [] if norm_layer is None else [norm_layer(channels)]
                layers.append(activation_layer(**options))
            layers.append(nn.Dropout(dropout, **options))
            in_channels = channels
        super().__init__(*layers)


class Permute(nn.Module):
    """A tensor with its dimensions in another order.

    Source: https://docs.pytorch.org/vision/stable/generated/torchvision.ops.Permute.html
    """

    def __init__(self, dims: Sequence[int]) -> None:
        super().__init__()
        self.dims = dims

    def forward(self, x: Tensor) -> Tensor:
        return x.permute(*self.dims)
