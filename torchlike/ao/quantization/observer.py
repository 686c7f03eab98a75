"""Observers: modules that note the range of what passes through them, and choose scale and zero point from it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

from ... import ops
from ..._core import dtypes
from ..._core.layouts import (
    per_channel_affine,
    per_channel_affine_float_qparams,
    per_channel_symmetric,
    per_tensor_affine,
    per_tensor_symmetric,
    qscheme as qscheme_type,
)
from ..._core.tensor import Tensor
from ...nn.modules.module import Module

__all__ = [
    "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
    "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "UniformQuantizationObserverBase", "default_debug_observer",
    "default_dynamic_quant_observer", "default_float_qparams_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_weight_observer",
]  # fmt: skip

_EPS = 2.0**-23  # of float32
_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
_UNSIGNED = (dtypes.quint8, dtypes.uint8)


class PartialWrapper:
    """A class with some arguments of its constructor: calling it makes an object."""

    def __init__(self, p: partial[Any]) -> None:
        self.p = p

    def __call__(self, *args: object, **keywords: object) -> Any:
        return self.p(*args, **keywords)

    def __repr__(self) -> str:
        return f"{self.p!r}{{}}"

    def with_args(self, **kwargs: object) -> PartialWrapper:
        """The same with further arguments."""
        return _with_args(self, **kwargs)


def _with_args(cls_or_self: Any, **kwargs: object) -> PartialWrapper:
    constructor = cls_or_self.p if isinstance(cls_or_self, PartialWrapper) else cls_or_self
    return PartialWrapper(partial(constructor, **kwargs))


class ObserverBase(Module):
    """The base of all observers.

    Args:
        dtype: to which what is observed will be quantized.
        is_dynamic: whether the range is found anew at each call.
    """

    def __init__(self, dtype: dtypes.dtype, is_dynamic: bool = False) -> None:
        super().__init__()
        self.dtype, self.is_dynamic = dtype, is_dynamic

    def calculate_qparams(self, **kwargs: object) -> Any:
        """The scale and the zero point."""
        raise NotImplementedError

    with_args: Callable[..., PartialWrapper] = classmethod(_with_args)  # pyright: ignore[reportAssignmentType]


class UniformQuantizationObserverBase(ObserverBase):
    """The base of the observers that find a scale and a zero point from a least and a greatest value."""

    eps: Tensor
    min_val: Tensor
    max_val: Tensor

    def __init__(
        self,
        dtype: dtypes.dtype = dtypes.quint8,
        qscheme: qscheme_type = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: object = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: object,
    ) -> None:
        super().__init__(dtype, is_dynamic, **kwargs)  # pyright: ignore[reportArgumentType]
        self.qscheme, self.reduce_range = qscheme, reduce_range
        if reduce_range:
            warnings.warn(
                "Please use quant_min and quant_max to specify the range for observers.                     reduce_range will be "
                "deprecated in a future release of PyTorch.",
                stacklevel=2,
            )
        self.register_buffer("eps", ops.tensor([eps]))
        self.has_customized_qrange = quant_min is not None and quant_max is not None
        if self.has_customized_qrange:
            _check_range(quant_min, quant_max)  # pyright: ignore[reportArgumentType]
        self.quant_min, self.quant_max = self._range(quant_min, quant_max)

    def _range(self, low: Any, high: Any) -> tuple[int, int]:
        if self.has_customized_qrange:
            if self.dtype is not dtypes.qint32 and high - low + 1 <= 256 and self.reduce_range:
                return low // 2, high // 2
            return low, high
        if self.dtype in (dtypes.qint8, dtypes.int8):
            return (-64, 63) if self.reduce_range else (-128, 127)
        if self.dtype in _UNSIGNED:
            return (0, 127) if self.reduce_range else (0, 255)
        if self.dtype in (dtypes.qint32, dtypes.int32):
            return -(2**31), 2**31 - 1
        if self.dtype is dtypes.uint16:
            return 0, 2**16 - 1
        raise NotImplementedError(f"torchlike does not support observers for {self.dtype}")

    def _calculate_qparams(self, min_val: Tensor, max_val: Tensor) -> tuple[Tensor, Tensor]:
        if not _is_range(min_val, max_val):
            return ops.tensor([1.0], device=min_val.device), ops.tensor([0], device=min_val.device)
        low, high = self.quant_min, self.quant_max
        least, greatest = min_val.clamp(max=0.0), max_val.clamp(min=0.0)
        zero_point = ops.zeros(least.size(), dtype=dtypes.int64, device=least.device)
        if self.qscheme in _SYMMETRIC:
            scale = ops.maximum(ops.maximum(-least, greatest) / (float(high - low) / 2), self.eps.reshape(()))
            if self.dtype in _UNSIGNED:
                middle = (low + high) // 2 if self.has_customized_qrange else 128
                zero_point = ops.full_like(zero_point, middle)
        elif self.qscheme is per_channel_affine_float_qparams:
            scale = (max_val - min_val) / float(high - low)
            scale = ops.where(scale > self.eps, scale, ops.ones_like(scale))
            zero_point = -1 * min_val / scale
        else:
            scale = ops.maximum((greatest - least) / float(high - low), self.eps.reshape(()))
            zero_point = (low - ops.round(least / scale).to(dtypes.int32)).clamp(low, high)
        if scale.dim() == 0:
            scale, zero_point = scale.reshape(1), zero_point.reshape(1)
        return scale, zero_point

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point."""
        return self._calculate_qparams(self.min_val, self.max_val)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}"

    def reset_min_max_vals(self) -> None:
        """Forgets what was observed."""
        raise NotImplementedError("Cannot reset min/max values in the given observer.")


def _check_range(low: int, high: int) -> None:
    if not low <= 0 <= high:
        raise AssertionError("Used-specified quantization range must include 0.")
    if low >= high:
        raise AssertionError("qmin must be strictly less than qmax for user-specified quantization range.")


def _is_range(least: Tensor, greatest: Tensor) -> bool:
    """Whether something was observed; otherwise it warns."""
    empty = least.numel() == 0 or greatest.numel() == 0
    if empty or (least.dim() == 0 and least.item() == float("inf") and greatest.item() == float("-inf")):
        warnings.warn("must run observer before calling calculate_qparams. Returning default values.", stacklevel=4)
        return False
    if least.dim() == 0:
        if least.item() > greatest.item():
            raise AssertionError(f"min {least} should be less than max {greatest}")
    elif not ops.all(least <= greatest):
        raise AssertionError(f"min {least} should be less than max {greatest}")
    return True


class MinMaxObserver(UniformQuantizationObserverBase):
    """Notes the least and the greatest value of all that has passed.

    Args:
        dtype: ``torch.quint8`` and the like; it gives the range of integers where ``quant_min`` and ``quant_max`` do not.
        qscheme: ``torch.per_tensor_affine`` or ``torch.per_tensor_symmetric``.
        reduce_range: use one bit less.

    >>> from torchlike.ao.quantization import MinMaxObserver
    >>> observer = MinMaxObserver()
    >>> _ = observer(torch.tensor([-1.0, 4.1]))
    >>> observer.calculate_qparams()
    (tensor([0.0200]), tensor([50], dtype=torch.int32))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.MinMaxObserver.html
    """

    def __init__(
        self,
        dtype: dtypes.dtype = dtypes.quint8,
        qscheme: qscheme_type = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: object = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: object,
    ) -> None:
        if qscheme in _BY_CHANNEL:
            raise NotImplementedError(
                "MinMaxObserver's qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
            )
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.register_buffer("min_val", ops.tensor(float("inf")))
        self.register_buffer("max_val", ops.tensor(float("-inf")))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        extremes = ops.aminmax(x_orig.detach().to(self.min_val.dtype))
        self.min_val.copy_(ops.minimum(extremes.min, self.min_val))
        self.max_val.copy_(ops.maximum(extremes.max, self.max_val))
        return x_orig

    def reset_min_max_vals(self) -> None:
        """Forgets what was observed."""
        self.min_val.copy_(ops.tensor(float("inf")))
        self.max_val.copy_(ops.tensor(float("-inf")))


class MovingAverageMinMaxObserver(MinMaxObserver):
    """Notes moving averages of the least and of the greatest value of each batch.

    Args:
        averaging_constant: the weight of what is new.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.MovingAverageMinMaxObserver.html
    """

    def __init__(
        self,
        averaging_constant: float = 0.01,
        dtype: dtypes.dtype = dtypes.quint8,
        qscheme: qscheme_type = per_tensor_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: object,
    ) -> None:
        if qscheme in _BY_CHANNEL:
            raise NotImplementedError(
                f"MovingAverageMinMaxObserver's qscheme only support                     torch.per_tensor_symmetric and "
                f"torch.per_tensor_affine.                     but got: {qscheme}"
            )
        self.averaging_constant = averaging_constant
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, eps=eps, is_dynamic=is_dynamic, **kwargs)

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        extremes = ops.aminmax(x_orig.detach().to(self.min_val.dtype))
        first = ops.isinf(self.min_val) & ops.isinf(self.max_val)
        for buffer, new in ((self.min_val, extremes.min), (self.max_val, extremes.max)):
            # Where nothing was observed the average is infinite, and so is the difference: ``where`` takes the other one.
            buffer.copy_(ops.where(first, new, buffer + self.averaging_constant * (new - buffer)))
        return x_orig


class PerChannelMinMaxObserver(UniformQuantizationObserverBase):
    """Notes the least and the greatest value for each index of one dimension.

    Args:
        ch_axis: that dimension.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.PerChannelMinMaxObserver.html
    """

    def __init__(
        self,
        ch_axis: int = 0,
        dtype: dtypes.dtype = dtypes.quint8,
        qscheme: qscheme_type = per_channel_affine,
        reduce_range: bool = False,
        quant_min: int | None = None,
        quant_max: int | None = None,
        factory_kwargs: object = None,
        eps: float = _EPS,
        is_dynamic: bool = False,
        **kwargs: object,
    ) -> None:
        if qscheme not in _BY_CHANNEL:
            raise NotImplementedError(
                "PerChannelMinMaxObserver's qscheme only support                     torch.per_channel_symmetric, "
                "torch.per_channel_affine and torch.per_channel_affine_float_qparams."
            )
        if is_dynamic:
            raise NotImplementedError("PerChannelMinMaxObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.ch_axis = ch_axis
        self.register_buffer("min_val", ops.tensor([]))
        self.register_buffer("max_val", ops.tensor([]))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        x = x_orig.detach().to(self.min_val.dtype).transpose(0, self.ch_axis).flatten(1)
        extremes = ops.aminmax(x, dim=1)
        least, greatest = extremes.min, extremes.max
        if self.min_val.numel():
            least, greatest = self._joined(least, greatest)
        self.min_val.resize_(least.shape).copy_(least)
        self.max_val.resize_(greatest.shape).copy_(greatest)
        return x_orig

    def _joined(self, least: Tensor, greatest: Tensor) -> tuple[Tensor, Tensor]:
        return ops.minimum(least, self.min_val), ops.maximum(greatest, self.max_val)

    def reset_min_max_vals(self) -> None:
        """Forgets what was observed."""
        self.min_val, self.max_val = ops.rand(0), ops.rand(0)

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name in ("min_val", "max_val"):
            stored = state_dict.get(prefix + name)
            if stored is not None:
                getattr(self, name).resize_(stored.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


class MovingAveragePerChannelMinMaxObserver(PerChannelMinMaxObserver):
    """``MovingAverageMinMaxObserver`` for each index of one dimension.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.MovingAveragePerChannelMinMaxObserver.html
    """

    def __init__(self, averaging_constant: float = 0.01, ch_axis: int = 0, *args: Any, **kwargs: Any) -> None:
        super().__init__(ch_axis, *args, **kwargs)
        self.averaging_constant = averaging_constant

    def _joined(self, least: Tensor, greatest: Tensor) -> tuple[Tensor, Tensor]:
        constant = self.averaging_constant
        return (
            self.min_val + constant * (least - self.min_val),
            self.max_val + constant * (greatest - self.max_val),
        )


class PlaceholderObserver(ObserverBase):
    """Observes nothing, and says to which dtype what passes will be quantized."""

    def __init__(
        self,
        dtype: dtypes.dtype = dtypes.float32,
        custom_op_name: str = "",
        compute_dtype: dtypes.dtype | None = None,
        quant_min: int | None = None,
        quant_max: int | None = None,
        qscheme: qscheme_type | None = None,
        eps: float | None = None,
        is_dynamic: bool = False,
    ) -> None:
        super().__init__(dtype, is_dynamic)
        self.custom_op = custom_op_name
        self.quant_min, self.quant_max = quant_min, quant_max
        self.qscheme = per_tensor_affine if qscheme is None else qscheme
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        return x

    def extra_repr(self) -> str:
        return f"dtype={self.dtype}, is_dynamic={self.is_dynamic}"

    def calculate_qparams(self) -> Any:
        """Raises: it has none."""
        raise Exception("calculate_qparams should not be called for PlaceholderObserver")


class NoopObserver(ObserverBase):
    """Observes nothing."""

    def __init__(self, dtype: dtypes.dtype = dtypes.float16, custom_op_name: str = "") -> None:
        super().__init__(dtype)
        self.custom_op = custom_op_name

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        """Raises: it has none."""
        raise Exception("calculate_qparams should not be called for NoopObserver")


class RecordingObserver(ObserverBase):
    """Keeps a copy of everything that passes."""

    def __init__(self, dtype: dtypes.dtype = dtypes.quint8) -> None:
        super().__init__(dtype)
        self.tensor_val: list[Tensor] = []

    def forward(self, x: Tensor) -> Tensor:
        self.tensor_val.append(x.clone())
        return x

    def get_tensor_value(self) -> list[Tensor]:
        """What has passed."""
        return self.tensor_val

    def calculate_qparams(self) -> Any:
        """Raises: it has none."""
        raise Exception("calculate_qparams should not be called for RecordingObserver")


default_observer = MinMaxObserver.with_args(quant_min=0, quant_max=127)
default_placeholder_observer = PlaceholderObserver
default_debug_observer = RecordingObserver
default_weight_observer = MinMaxObserver.with_args(dtype=dtypes.qint8, qscheme=per_tensor_symmetric)
default_per_channel_weight_observer = PerChannelMinMaxObserver.with_args(
    dtype=dtypes.qint8, qscheme=per_channel_symmetric
)
default_dynamic_quant_observer = PlaceholderObserver.with_args(
    dtype=dtypes.quint8, quant_min=0, quant_max=255, is_dynamic=True
)
default_float_qparams_observer = PerChannelMinMaxObserver.with_args(
    dtype=dtypes.quint8, qscheme=per_channel_affine_float_qparams, ch_axis=0
)
