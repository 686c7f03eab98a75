"""A linear layer that computes with integers: its weight is quantized, and its input at each call."""

from __future__ import annotations

from typing import Any

from ...... import ops
from ......_core import dtypes
from ......_core.layouts import per_tensor_affine
from ......_core.tensor import Tensor
from ......nn.modules.linear import Linear as FloatLinear
from ......ops.creation.quantized import choose_parameters
from ...modules.linear import LinearPackedParams
from ...modules.utils import Scaled, quantize_weight

__all__ = ["Linear"]

_HIGHEST = 127  # one bit less than there are, so that PyTorch's sums of two products fit 16 bits


class Linear(Scaled):
    """``nn.Linear`` with a quantized weight. ``quantize_dynamic`` makes it."""

    _version = 4

    def __init__(self, weight: Any, bias: Tensor | None) -> None:
        super().__init__()
        self.out_features, self.in_features = weight.shape
        self.scale, self.zero_point = 1.0, 0  # of the output of a layer that quantizes it, which this one does not
        self._packed_params = LinearPackedParams(weight, bias)

    @classmethod
    def from_float(cls, mod: FloatLinear, config: Any = None, use_precomputed_fake_quant: bool = False) -> Linear:
        """The quantized layer of an ordinary one. ``config``: a ``QConfig``; None for the module's attribute ``qconfig``."""
        observer = (mod.qconfig if config is None else config).weight()  # pyright: ignore[reportCallIssue]
        if observer.dtype is not dtypes.qint8:
            raise RuntimeError("Unsupported dtype specified for dynamic quantized Linear!")
        observer(mod.weight)
        quantized_weight = quantize_weight(mod.weight.detach().float(), observer)
        return cls(quantized_weight, mod.bias)

    def weight(self) -> Any:
        """The quantized weight."""
        return self._packed_params._packed_params[0]

    def bias(self) -> Tensor | None:
        """The bias, which is not quantized."""
        return self._packed_params._packed_params[1]

    def set_weight_bias(self, w: object, b: Tensor | None) -> None:
        """Replaces both."""
        self._packed_params._packed_params = (w, b)

    def forward(self, x: Tensor) -> Tensor:
        if x.dtype is not dtypes.float32:
            raise RuntimeError("fbgemm_linear_dynamic: expected input to have dtype float32")
        if x.dim() < 2:
            raise RuntimeError("The dimension of input tensor should be larger than or equal to 2")
        weight, bias = self._packed_params._packed_params
        x = x.detach()
        lowest, highest = (x.min().item(), x.max().item()) if x.numel() else (0.0, 0.0)
        step, zero = choose_parameters(lowest, highest, 0, _HIGHEST)
        x = ops.quantize_per_tensor(x, step, zero, dtypes.quint8).int_repr()
        if weight.qscheme() is per_tensor_affine:
            scale, zero_of_weight = ops.tensor(weight.q_scale(), dtype=dtypes.float32), weight.q_zero_point()
        else:
            scale, zero_of_weight = weight.q_per_channel_scales().float(), weight.q_per_channel_zero_points()
            zero_of_weight = zero_of_weight.to(dtypes.int32).unsqueeze(1)
        integers = weight.int_repr().to(dtypes.int32) - zero_of_weight
        products = ops.matmul(x.to(dtypes.int32) - zero, integers.t())
        result = products.to(dtypes.float32) * (scale * ops.tensor(step, dtype=dtypes.float32))
        return result if bias is None else result + bias.detach()

    def _get_name(self) -> str:
        return "DynamicQuantizedLinear"

    def extra_repr(self) -> str:
        text = f"in_features={self.in_features}, out_features={self.out_features}, dtype={self._packed_params.dtype}"
        return f"{text}, qscheme={self.weight().qscheme()}"

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
