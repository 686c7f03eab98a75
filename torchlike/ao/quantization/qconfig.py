"""QConfig: which observers the activations and the weight of a module get."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._core import dtypes
from ...nn.modules.module import Module
from .fake_quantize import default_fake_quant, default_weight_fake_quant
from .observer import (
    PlaceholderObserver,
    default_dynamic_quant_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
)

__all__ = [
    "QConfig", "default_dynamic_qconfig", "default_per_channel_qconfig", "default_qat_qconfig", "default_qconfig",
    "float16_dynamic_qconfig", "per_channel_dynamic_qconfig",
]  # fmt: skip


class _Pair(NamedTuple):
    activation: Any
    weight: Any


class QConfig(_Pair):
    """Makers of the observers for a module's activations and for its weight: classes, or what their ``with_args`` gives.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.qconfig.QConfig.html
    """

    __slots__ = ()

    def __new__(cls, activation: object, weight: object) -> QConfig:
        if isinstance(activation, Module) or isinstance(weight, Module):
            raise ValueError(
                "QConfig received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to override "
                "arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


default_qconfig = QConfig(activation=default_observer, weight=default_weight_observer)
default_per_channel_qconfig = QConfig(activation=default_observer, weight=default_per_channel_weight_observer)
default_qat_qconfig = QConfig(activation=default_fake_quant, weight=default_weight_fake_quant)
default_dynamic_qconfig = QConfig(activation=default_dynamic_quant_observer, weight=default_weight_observer)
per_channel_dynamic_qconfig = QConfig(
    activation=default_dynamic_quant_observer, weight=default_per_channel_weight_observer
)
float16_dynamic_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=dtypes.float16, is_dynamic=True),
    weight=PlaceholderObserver.with_args(dtype=dtypes.float16),
)
