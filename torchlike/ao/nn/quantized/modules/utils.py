"""What quantized layers share: their weight's quantization, and how they are made of observed layers."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..... import ops
from ....._core import dtypes
from ....._core.layouts import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
)
from ....._core.tensor import Tensor
from .....nn.modules.module import Module
from .....ops.creation.quantized import QuantizedTensor

__all__ = ["Observed", "Scaled", "WeightedQuantizedModule", "observed", "quantize_weight"]


class Scaled(Module):
    """The base of modules whose results have a scale and a zero point, which are part of their state."""

    scale: float
    zero_point: int

    def _save_to_state_dict(self, destination: dict[str, object], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[f"{prefix}scale"] = ops.tensor(self.scale)
        destination[f"{prefix}zero_point"] = ops.tensor(self.zero_point)

    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *args: Any, **kwargs: Any) -> None:
        self.scale = float(state_dict.pop(f"{prefix}scale"))
        self.zero_point = int(state_dict.pop(f"{prefix}zero_point"))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class WeightedQuantizedModule(Scaled):
    """The base of quantized layers that have a weight."""

    def weight(self) -> Any:
        """The quantized weight."""
        raise NotImplementedError

    def bias(self) -> Tensor | None:
        """The bias, which is not quantized."""
        raise NotImplementedError


def quantize_weight(weight: Tensor, observer: Any) -> QuantizedTensor:
    """The weight, quantized as the observer's scheme, scales and zero points say."""
    scale, zero_point = observer.calculate_qparams()
    if observer.qscheme in (per_tensor_affine, per_tensor_symmetric):
        return ops.quantize_per_tensor(weight, scale.item(), int(zero_point.item()), observer.dtype)
    if observer.qscheme in (per_channel_affine, per_channel_symmetric):
        return ops.quantize_per_channel(weight, scale.double(), zero_point.long(), observer.ch_axis, observer.dtype)
    if observer.qscheme is per_channel_affine_float_qparams:
        return ops.quantize_per_channel(weight, scale.float(), zero_point.float(), observer.ch_axis, observer.dtype)
    raise ValueError(f"Unexpected qscheme {observer.qscheme}")


class Observed(NamedTuple):
    """What was observed of a layer: its weight, quantized, and the scale and the zero point of its output."""

    weight: QuantizedTensor
    scale: float
    zero_point: int


def observed(mod: Any, layer: Any, weight: Tensor, use_precomputed_fake_quant: bool = False) -> Observed:
    """Observes the weight of ``layer``, which lies in the observed module ``mod`` or is it."""
    fake_quant = getattr(layer, "weight_fake_quant", None)
    observer = layer.qconfig.weight() if fake_quant is None else fake_quant
    if fake_quant is None or not use_precomputed_fake_quant:
        observer.to(weight.device)(weight)
    if observer.dtype is not dtypes.qint8:
        raise AssertionError("Weight observer must have a dtype of qint8")
    quantized_weight = quantize_weight(weight.detach().float(), observer)
    scale, zero_point = mod.activation_post_process.calculate_qparams()
    return Observed(quantized_weight, float(scale), int(zero_point))
