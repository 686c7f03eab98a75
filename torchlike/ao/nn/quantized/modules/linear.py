"""A linear layer that computes with integers."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from ..... import nn, ops
from ....._core import dtypes
from ....._core.tensor import Tensor
from .....nn.modules.module import Module
from .....ops.creation.quantized import QuantizedTensor
from .._kernels import linear
from .utils import WeightedQuantizedModule, observed

__all__ = ["Linear", "LinearPackedParams"]


class LinearPackedParams(Module):
    """The quantized weight and the bias of a layer."""

    _version = 3  # of the keys in a file, as PyTorch counts

    def __init__(self, weight: QuantizedTensor, bias: Tensor | None) -> None:
        super().__init__()
        self.dtype = dtypes.qint8
        self._packed_params = (weight, bias)

    def _save_to_state_dict(self, destination: dict[str, object], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}dtype"] = self.dtype
        destination[f"{prefix}_packed_params"] = self._packed_params

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        self.dtype = state_dict.pop(f"{prefix}dtype")
        self._packed_params = state_dict.pop(f"{prefix}_packed_params")
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        return repr(self._packed_params)


class Linear(WeightedQuantizedModule):
    """``nn.Linear`` with a quantized weight, from a quantized input to a quantized output. ``convert`` makes it.

    Args:
        in_features, out_features: sizes.
        bias_: whether there is a bias.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.Linear.html
    """

    _version = 3
    _FLOAT_MODULE: ClassVar[tuple[type[Module], ...]] = (nn.Linear, nn.modules.linear.NonDynamicallyQuantizableLinear)
    _relu = False

    def __init__(
        self, in_features: int, out_features: int, bias_: bool = True, dtype: dtypes.dtype = dtypes.qint8
    ) -> None:
        super().__init__()
        if dtype is not dtypes.qint8:
            raise RuntimeError(f"Unsupported dtype specified for quantized Linear: {dtype}")
        self.in_features, self.out_features = in_features, out_features
        weight = ops.quantize_per_tensor(ops.zeros(out_features, in_features), 1.0, 0, dtype)
        self._packed_params = LinearPackedParams(weight, ops.zeros(out_features) if bias_ else None)
        self.scale, self.zero_point = 1.0, 0

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The quantized layer of an observed one."""
        layer = mod[0] if hasattr(mod, "_kinds") else mod
        observation = observed(mod, layer, layer.weight, use_precomputed_fake_quant)
        result = cls(layer.in_features, layer.out_features)
        result.set_weight_bias(observation.weight, layer.bias)
        result.scale, result.zero_point = observation.scale, observation.zero_point
        return result

    def forward(self, x: Tensor) -> Tensor:
        weight, bias = self._packed_params._packed_params
        return linear(x, weight, bias, self.scale, self.zero_point, self._relu)

    def weight(self) -> QuantizedTensor:
        return self._packed_params._packed_params[0]

    def bias(self) -> Tensor | None:
        return self._packed_params._packed_params[1]

    def set_weight_bias(self, w: QuantizedTensor, b: Tensor | None) -> None:
        """Replaces both."""
        self._packed_params._packed_params = (w, b)

    def _get_name(self) -> str:
        return "QuantizedLinear"

    def extra_repr(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features}, scale={self.scale}, "
            f"zero_point={self.zero_point}, qscheme={self.weight().qscheme()}"
        )

    def __repr__(self) -> str:
        return f"{self._get_name()}({self.extra_repr()})"
