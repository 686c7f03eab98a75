"""Activations of quantized tensors."""

from __future__ import annotations

from typing import Any, Self

from ..... import nn, ops
from ....._core import dtypes
from ....._core.tensor import Tensor
from .....nn import functional as F
from .....nn.modules.module import Module
from .....ops.creation.quantized import QuantizedTensor, exact_values, quantized_as
from .._kernels import check_quantized

__all__ = ["ELU", "Hardswish", "LeakyReLU", "PReLU", "ReLU6", "Sigmoid", "Softmax"]


def observed_output(mod: Any) -> tuple[float, int]:
    """The scale and the zero point of an observed module's output."""
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return float(scale), int(zero_point)


def keep_scale(module: Module, scale: float, zero_point: int) -> None:
    """Makes both buffers of the module, so that they are saved with it."""
    module.register_buffer("scale", ops.tensor(float(scale)))
    module.register_buffer("zero_point", ops.tensor(int(zero_point)))


def hardswish_values(x: Tensor) -> Tensor:
    """``F.hardswish`` in the order of PyTorch's kernel for quantized tensors."""
    return x * F.relu6(x + 3) / 6


class ReLU6(nn.ReLU):
    """``nn.ReLU6``, which keeps scale and zero point.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.ReLU6.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu6(input, self.inplace)

    def _get_name(self) -> str:
        return "QuantizedReLU6"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized activation of an ordinary one."""
        return cls(mod.inplace)


class _Rescaled(Module):
    """The base of activations whose output has a scale and a zero point of its own: ``_name`` of the operation, ``_options``."""

    scale: float | Tensor
    zero_point: int | Tensor
    _name = ""
    _options: tuple[str, ...] = ()

    def _values(self, x: Tensor) -> Tensor:
        raise NotImplementedError

    def forward(self, input: Tensor) -> QuantizedTensor:
        x = check_quantized(input, self._name)
        return quantized_as(self._values(exact_values(x)), float(self.scale), int(self.zero_point), x.dtype)

    def _get_name(self) -> str:
        return f"Quantized{type(self).__name__}"

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized activation of an observed one."""
        scale, zero_point = observed_output(mod)
        options = {name: getattr(mod, name) for name in cls._options}
        return cls(scale=scale, zero_point=zero_point, **options)


class Hardswish(_Rescaled, nn.Hardswish):
    """``nn.Hardswish`` with a scale and a zero point of its output.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.Hardswish.html
    """

    _name = "hardswish"

    def __init__(self, scale: float, zero_point: int, device: object = None, dtype: object = None) -> None:
        super().__init__()
        keep_scale(self, scale, zero_point)

    def _values(self, x: Tensor) -> Tensor:
        return hardswish_values(x)


class ELU(_Rescaled, nn.ELU):
    """``nn.ELU`` with a scale and a zero point of its output.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.ELU.html
    """

    _name = "elu"
    _options = ("alpha",)

    def __init__(self, scale: float, zero_point: int, alpha: float = 1.0) -> None:
        super().__init__(alpha)
        self.scale, self.zero_point = scale, zero_point

    def _values(self, x: Tensor) -> Tensor:
        return F.elu(x, self.alpha)


class LeakyReLU(_Rescaled, nn.LeakyReLU):
    """``nn.LeakyReLU`` with a scale and a zero point of its output.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.LeakyReLU.html
    """

    _name = "leaky_relu"
    _options = ("negative_slope", "inplace")

    def __init__(
        self,
        scale: float,
        zero_point: int,
        negative_slope: float = 1e-2,
        inplace: bool = False,
        device: object = None,
        dtype: object = None,
    ) -> None:
        super().__init__(negative_slope, inplace)
        keep_scale(self, scale, zero_point)

    def _values(self, x: Tensor) -> Tensor:
        return F.leaky_relu(x, self.negative_slope)


class Sigmoid(_Rescaled, nn.Sigmoid):
    """``nn.Sigmoid`` with a scale and a zero point of its output.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.Sigmoid.html
    """

    _name = "sigmoid"

    def __init__(self, output_scale: float, output_zero_point: int) -> None:
        super().__init__()
        self.scale, self.zero_point = output_scale, output_zero_point

    def _get_name(self) -> str:
        return "Sigmoid"

    def _values(self, x: Tensor) -> Tensor:
        return ops.sigmoid(x)

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        return cls(*observed_output(mod))


class Softmax(_Rescaled, nn.Softmax):
    """``nn.Softmax`` with a scale and a zero point of its output."""

    _name = "softmax"
    _options = ("dim",)

    def __init__(self, dim: int | None = None, scale: float = 1.0, zero_point: int = 0) -> None:
        super().__init__(dim)
        self.scale, self.zero_point = scale, zero_point

    def _values(self, x: Tensor) -> Tensor:
        return F.softmax(x, self.dim if self.dim is not None else -1)


class PReLU(_Rescaled):
    """``nn.PReLU`` with a scale and a zero point of its output."""

    _name = "prelu"
    weight: Tensor

    def __init__(self, output_scale: float, output_zero_point: int, num_parameters: int = 1) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.scale, self.zero_point = output_scale, output_zero_point
        self.set_weight(ops.quantize_per_tensor(ops.randn(num_parameters), 1.0, 0, dtypes.quint8))

    def set_weight(self, w: Tensor) -> None:
        """Replaces the quantized slopes."""
        object.__setattr__(self, "weight", w)

    def _values(self, x: Tensor) -> Tensor:
        return F.prelu(x, self.weight.dequantize())

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        result = cls(*observed_output(mod), mod.num_parameters)
        observer = mod.qconfig.weight()
        observer(mod.weight)
        if observer.dtype is not dtypes.quint8:
            raise AssertionError(f"PReLU's weight observer should have dtype quint8 but got {observer.dtype}")
        scale, zero_point = observer.calculate_qparams()
        weight = mod.weight.detach().float()
        result.set_weight(ops.quantize_per_tensor(weight, scale.item(), int(zero_point.item()), dtypes.quint8))
        return result
