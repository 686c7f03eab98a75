"""Observers: modules that note the range of what passes through them, and choose scale and zero point from it."""

from __future__ import annotations

import warnings
from collections import OrderedDict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

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
from ._histogram import Range, best_range, counted, joined

__all__ = [
    "FixedQParamsObserver", "HistogramObserver",
    "MinMaxObserver", "MovingAverageMinMaxObserver", "MovingAveragePerChannelMinMaxObserver", "NoopObserver", "ObserverBase",
    "PerChannelMinMaxObserver", "PlaceholderObserver", "RecordingObserver", "ReuseInputObserver", "UniformQuantizationObserverBase",
    "default_affine_fixed_qparams_observer", "default_debug_observer",
    "default_dynamic_quant_observer", "default_fixed_qparams_range_0to1_observer", "default_fixed_qparams_range_neg1to1_observer",
    "default_float_qparams_observer", "default_histogram_observer", "default_observer", "default_per_channel_weight_observer",
    "default_placeholder_observer", "default_reuse_input_observer", "default_symmetric_fixed_qparams_observer",
    "default_weight_observer", "get_observer_state_dict", "load_observer_state_dict",
    "per_channel_weight_observer_range_neg_127_to_127", "weight_observer_range_neg_127_to_127",
]  # fmt: skip

_EPS = 2.0**-23  # of float32
_SYMMETRIC = (per_tensor_symmetric, per_channel_symmetric)
_BY_CHANNEL = (per_channel_affine, per_channel_symmetric, per_channel_affine_float_qparams)
_UNSIGNED = (dtypes.quint8, dtypes.uint8)


class PartialWrapper:
    """A class with some arguments of its constructor: calling it makes an object."""

    def __init__(self, p: partial[Any], callable_args: dict[str, Callable[[], object]] | None = None) -> None:
        self.p = p
        self.callable_args = callable_args or {}

    def __call__(self, *args: object, **keywords: object) -> Any:
        computed = {name: call() for name, call in self.callable_args.items() if name not in keywords}
        return self.p(*args, **keywords, **computed)

    def __repr__(self) -> str:
        return f"{self.p!r}{self.callable_args}"

    def with_args(self, **kwargs: object) -> PartialWrapper:
        """The same with further arguments."""
        return _with_args(self, **kwargs)

    def with_callable_args(self, **kwargs: Callable[[], object]) -> PartialWrapper:
        """The same with functions that return further arguments, called when an object is made."""
        return _with_callable_args(self, **kwargs)


def _with_args(cls_or_self: Callable[..., object], **kwargs: object) -> PartialWrapper:
    if isinstance(cls_or_self, PartialWrapper):
        return PartialWrapper(partial(cls_or_self.p, **kwargs), cls_or_self.callable_args)
    return PartialWrapper(partial(cls_or_self, **kwargs))


def _with_callable_args(cls_or_self: Callable[..., object], **kwargs: Callable[[], object]) -> PartialWrapper:
    wrapper = cls_or_self if isinstance(cls_or_self, PartialWrapper) else PartialWrapper(partial(cls_or_self))
    return PartialWrapper(wrapper.p, wrapper.callable_args | kwargs)


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
    with_callable_args: Callable[..., PartialWrapper] = classmethod(_with_callable_args)  # pyright: ignore[reportAssignmentType]


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


class HistogramObserver(UniformQuantizationObserverBase):
    """Counts what passes in a histogram, and chooses the range that quantization rounds with the least error.

    Args:
        bins: of the histogram.

    >>> from torchlike.ao.quantization import HistogramObserver
    >>> observer = HistogramObserver()
    >>> observer(torch.cat([torch.linspace(-1, 1, 10000), torch.tensor([100.0])])).shape
    torch.Size([10001])
    >>> observer.calculate_qparams()[0]  # 0.3961 with MinMaxObserver
    tensor([0.3959])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.HistogramObserver.html
    """

    histogram: Tensor

    def __init__(
        self,
        bins: int = 2048,
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
                "HistogramObserver's qscheme only support torch.per_tensor_symmetric                     and torch.per_tensor_affine."
            )
        if is_dynamic:
            raise NotImplementedError("HistogramObserver doesn't support dynamic quantization")
        super().__init__(dtype, qscheme, reduce_range, quant_min, quant_max, factory_kwargs, eps, is_dynamic, **kwargs)
        self.bins = bins
        self.register_buffer("histogram", ops.zeros(bins))
        self.register_buffer("min_val", ops.tensor(float("inf")))
        self.register_buffer("max_val", ops.tensor(float("-inf")))
        self.dst_nbins = 2 ** (8 * dtype.itemsize)
        self.upsample_rate = 16  # parts of a bin, when the histogram becomes wider

    def _seen(self) -> Range:
        return Range(self.histogram.numpy(), np.float32(self.min_val.item()), np.float32(self.max_val.item()))

    def forward(self, x_orig: Tensor) -> Tensor:
        if x_orig.numel() == 0:
            return x_orig
        values = x_orig.detach().cpu().to(dtypes.float32).flatten().numpy()
        if np.isinf(values).any():
            warnings.warn("torch.inf detected in input tensor, ignoring input", stacklevel=2)
            values = values[~np.isinf(values)]
            if not values.size:
                return x_orig
        seen = self._seen()
        if seen.low == np.inf or seen.high == -np.inf:
            low, high = values.min(), values.max()
            result = Range(counted(values, self.bins, low, high), low, high)
        else:
            result = joined(seen, values, self.upsample_rate)
        for buffer, new in zip((self.histogram, self.min_val, self.max_val), result, strict=True):
            buffer.copy_(ops.from_numpy(np.asarray(new)))
        return x_orig

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point."""
        if self.min_val.item() == float("inf") and self.max_val.item() == float("-inf"):
            warnings.warn(
                "must run observer before calling calculate_qparams.                                    Returning default scale and "
                "zero point ",
                stacklevel=2,
            )
            return ops.tensor([1.0], device=self.min_val.device), ops.tensor([0], device=self.min_val.device)
        if self.bins != len(self.histogram):
            raise AssertionError(
                "The number of bins in histogram should be equal to the number of bins supplied while making this observer"
            )
        low, high = best_range(self._seen(), self.dst_nbins)
        return self._calculate_qparams(self.min_val.new_tensor(float(low)), self.max_val.new_tensor(float(high)))


class FixedQParamsObserver(ObserverBase):
    """Observes nothing: its scale and zero point are given.

    Args:
        scale, zero_point: given.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.quantization.observer.FixedQParamsObserver.html
    """

    scale: Tensor
    zero_point: Tensor

    def __init__(
        self,
        scale: float,
        zero_point: int,
        dtype: dtypes.dtype = dtypes.quint8,
        qscheme: qscheme_type = per_tensor_affine,
        quant_min: int = 0,
        quant_max: int = 255,
        is_dynamic: bool = False,
        **kwargs: object,
    ) -> None:
        if is_dynamic:
            raise NotImplementedError("FixedQParamsObserver doesn't support dynamic quantization")
        super().__init__(dtype, is_dynamic, **kwargs)
        self.quant_min, self.quant_max = quant_min, quant_max
        self.register_buffer("scale", ops.tensor([scale], dtype=dtypes.float32))
        self.register_buffer("zero_point", ops.tensor([zero_point], dtype=dtypes.int32))
        self.dtype, self.qscheme = dtype, qscheme

    def forward(self, X: Tensor) -> Tensor:
        return X

    def calculate_qparams(self) -> tuple[Tensor, Tensor]:
        """The scale and the zero point that were given."""
        return self.scale, self.zero_point


class ReuseInputObserver(ObserverBase):
    """Observes nothing, and says that what passes keeps the scale and the zero point of the input of the module before."""

    def __init__(self) -> None:
        super().__init__(dtypes.quint8)

    def forward(self, x: Tensor) -> Tensor:
        return x

    def calculate_qparams(self) -> Any:
        """Raises: it has none."""
        raise Exception("calculate_qparams should not be called for ReuseInputObserver")


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
default_histogram_observer = HistogramObserver.with_args(quant_min=0, quant_max=127)
default_reuse_input_observer = ReuseInputObserver
weight_observer_range_neg_127_to_127 = MinMaxObserver.with_args(
    dtype=dtypes.qint8, qscheme=per_tensor_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
per_channel_weight_observer_range_neg_127_to_127 = PerChannelMinMaxObserver.with_args(
    dtype=dtypes.qint8, qscheme=per_channel_symmetric, quant_min=-127, quant_max=127, eps=2**-12
)
default_fixed_qparams_range_neg1to1_observer = FixedQParamsObserver.with_args(
    scale=2.0 / 256.0, zero_point=128, dtype=dtypes.quint8, quant_min=0, quant_max=255
)
default_fixed_qparams_range_0to1_observer = FixedQParamsObserver.with_args(
    scale=1.0 / 256.0, zero_point=0, dtype=dtypes.quint8, quant_min=0, quant_max=255
)
default_symmetric_fixed_qparams_observer = default_fixed_qparams_range_neg1to1_observer
default_affine_fixed_qparams_observer = default_fixed_qparams_range_0to1_observer


def get_observer_state_dict(mod: Module) -> OrderedDict[str, object]:
    """The part of a model's state that its observers have."""
    return OrderedDict((name, value) for name, value in mod.state_dict().items() if "activation_post_process" in name)


def load_observer_state_dict(mod: Module, obs_dict: Mapping[str, object]) -> None:
    """Loads what ``get_observer_state_dict`` has returned.

    Raises:
        RuntimeError: keys are missing, or do not belong to the model.
    """
    own = set(get_observer_state_dict(mod))
    missing, unexpected = own - set(obs_dict), set(obs_dict) - own
    mod.load_state_dict(obs_dict, strict=False)
    for words, names in (("Missing keys for observers", missing), ("Unexpected keys", unexpected)):
        if names:
            raise RuntimeError(f"{words} {sorted(names)} in state_dict")
