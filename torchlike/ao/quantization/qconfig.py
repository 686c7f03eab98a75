"""QConfig: which observers the activations and the weight of a module get."""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple

from ..._core import dtypes
from ...nn.modules.linear import Identity
from ...nn.modules.module import Module
from .fake_quantize import (
    FakeQuantize,
    FusedMovingAvgObsFakeQuantize,
    default_dynamic_fake_quant,
    default_embedding_fake_quant,
    default_fake_quant,
    default_fused_act_fake_quant,
    default_fused_per_channel_wt_fake_quant,
    default_fused_wt_fake_quant,
    default_per_channel_weight_fake_quant,
    default_weight_fake_quant,
    fused_per_channel_wt_fake_quant_range_neg_127_to_127,
    fused_wt_fake_quant_range_neg_127_to_127,
)
from .observer import (
    HistogramObserver,
    MinMaxObserver,
    MovingAverageMinMaxObserver,
    NoopObserver,
    PartialWrapper,
    PlaceholderObserver,
    ReuseInputObserver,
    default_debug_observer,
    default_dynamic_quant_observer,
    default_float_qparams_observer,
    default_observer,
    default_per_channel_weight_observer,
    default_weight_observer,
    per_channel_weight_observer_range_neg_127_to_127,
    weight_observer_range_neg_127_to_127,
)

__all__ = [
    "QConfig", "QConfigAny", "QConfigDynamic", "default_activation_only_qconfig", "default_debug_qconfig", "default_dynamic_qat_qconfig",
    "default_dynamic_qconfig", "default_embedding_qat_qconfig", "default_per_channel_qconfig",
    "default_per_channel_symmetric_qnnpack_qat_qconfig", "default_per_channel_symmetric_qnnpack_qconfig", "default_qat_qconfig",
    "default_qat_qconfig_v2", "default_qconfig", "default_quint8_weight_qconfig", "default_reuse_input_qconfig",
    "default_symmetric_qnnpack_qat_qconfig", "default_symmetric_qnnpack_qconfig", "default_weight_only_qconfig",
    "float16_dynamic_qconfig", "float16_static_qconfig", "float_qparams_weight_only_qconfig", "get_default_qat_qconfig",
    "get_default_qconfig", "per_channel_dynamic_qconfig", "qconfig_equals",
]  # fmt: skip

_BACKENDS = ["fbgemm", "x86", "qnnpack", "onednn"]


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


class QConfigDynamic(_Pair):
    """The older name of a ``QConfig`` for ``quantize_dynamic``."""

    __slots__ = ()

    def __new__(cls, activation: object = Identity, weight: object = Identity) -> QConfigDynamic:
        warnings.warn(
            "`QConfigDynamic` is going to be deprecated in PyTorch 1.12, please use `QConfig` instead", stacklevel=2
        )
        if isinstance(weight, Module):
            raise ValueError(
                "QConfigDynamic received observer instance, please pass observer class instead. Use MyObserver.with_args(x=1) to "
                "override arguments to constructor if needed"
            )
        return super().__new__(cls, activation, weight)


QConfigAny = QConfig | None

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
float16_static_qconfig = QConfig(
    activation=PlaceholderObserver.with_args(dtype=dtypes.float16),
    weight=PlaceholderObserver.with_args(dtype=dtypes.float16),
)
default_debug_qconfig = QConfig(activation=default_debug_observer, weight=default_weight_observer)
default_dynamic_qat_qconfig = QConfig(activation=default_dynamic_fake_quant, weight=default_weight_fake_quant)
default_weight_only_qconfig = QConfig(activation=Identity, weight=default_weight_fake_quant)
default_activation_only_qconfig = QConfig(activation=default_fake_quant, weight=Identity)
default_qat_qconfig_v2 = QConfig(activation=default_fused_act_fake_quant, weight=default_fused_wt_fake_quant)
default_quint8_weight_qconfig = QConfig(activation=HistogramObserver, weight=MinMaxObserver)
default_reuse_input_qconfig = QConfig(activation=ReuseInputObserver, weight=NoopObserver)
float_qparams_weight_only_qconfig = QConfig(activation=PlaceholderObserver, weight=default_float_qparams_observer)
default_embedding_qat_qconfig = QConfig(
    activation=NoopObserver.with_args(dtype=dtypes.float32), weight=default_embedding_fake_quant
)

_signed_histogram = HistogramObserver.with_args(dtype=dtypes.qint8, reduce_range=False, eps=2**-12)
_signed_fake_quant = FusedMovingAvgObsFakeQuantize.with_args(
    observer=MovingAverageMinMaxObserver,
    quant_min=-128,
    quant_max=127,
    dtype=dtypes.qint8,
    reduce_range=False,
    eps=2**-12,
)
default_symmetric_qnnpack_qconfig = QConfig(activation=_signed_histogram, weight=weight_observer_range_neg_127_to_127)
default_per_channel_symmetric_qnnpack_qconfig = QConfig(
    activation=_signed_histogram, weight=per_channel_weight_observer_range_neg_127_to_127
)
default_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=_signed_fake_quant, weight=fused_wt_fake_quant_range_neg_127_to_127
)
default_per_channel_symmetric_qnnpack_qat_qconfig = QConfig(
    activation=_signed_fake_quant, weight=fused_per_channel_wt_fake_quant_range_neg_127_to_127
)


def _check_backend(backend: str) -> None:
    if backend not in _BACKENDS:
        raise AssertionError(f"backend: {backend} not supported. backend must be one of {_BACKENDS}")


def get_default_qconfig(backend: str = "x86", version: int = 0) -> QConfig:
    """The ``QConfig`` for quantization after training.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.

    >>> from torchlike.ao.quantization import get_default_qconfig
    >>> get_default_qconfig("qnnpack").weight
    functools.partial(<class 'torchlike.ao.quantization.observer.MinMaxObserver'>, dtype=torch.qint8, qscheme=torch.per_tensor_symmetric){}
    """
    _check_backend(backend)
    if version != 0:
        raise AssertionError(
            f"Version number: {version} in get_default_qconfig is not supported. Version number must be 0"
        )
    weight = default_weight_observer if backend == "qnnpack" else default_per_channel_weight_observer
    return QConfig(HistogramObserver.with_args(reduce_range=backend in ("fbgemm", "x86")), weight)


def get_default_qat_qconfig(backend: str = "x86", version: int | None = 1) -> QConfig:
    """The ``QConfig`` for training with fake quantization.

    Args:
        backend: ``"x86"``, ``"fbgemm"``, ``"qnnpack"`` or ``"onednn"``.
        version: 0 for ``FakeQuantize``, 1 for ``FusedMovingAvgObsFakeQuantize``.
    """
    _check_backend(backend)
    if version not in (0, 1):
        raise AssertionError(
            f"Version number: {version}in get_default_qat_qconfig is not supported. Version number must be 0 or 1"
        )
    reduced: dict[str, bool] = {} if backend == "onednn" else {"reduce_range": backend != "qnnpack"}
    kind = FusedMovingAvgObsFakeQuantize if version else FakeQuantize
    activation = kind.with_args(observer=MovingAverageMinMaxObserver, quant_min=0, quant_max=255, **reduced)
    if backend == "qnnpack":
        return QConfig(activation, default_fused_wt_fake_quant if version else default_weight_fake_quant)
    return QConfig(
        activation, default_fused_per_channel_wt_fake_quant if version else default_per_channel_weight_fake_quant
    )


def qconfig_equals(q1: QConfigAny, q2: QConfigAny) -> bool:
    """Whether two make equal observers."""
    if q1 is None or q2 is None:
        return q1 is q2
    return all(_makes_the_same(*pair) for pair in zip(q1, q2, strict=True))


def _makes_the_same(first: object, second: object) -> bool:
    if isinstance(first, PartialWrapper) and isinstance(second, PartialWrapper):
        parts = [(wrapper.p.func, wrapper.p.args, wrapper.p.keywords) for wrapper in (first, second)]
        return parts[0] == parts[1]
    return first == second
