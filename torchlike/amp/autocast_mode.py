"""autocast: matrix products and the like in half precision, what needs range in float32."""

from __future__ import annotations

import functools
import threading
import warnings
from collections.abc import Callable
from types import TracebackType
from typing import Any

from .._core import dtypes
from .._core.annotations import Dtype
from .._core.devices import as_device as device_, devices_of
from .._core.modes import modes
from ..dispatch.autocast import LISTS, converted

__all__ = [
    "autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache", "custom_bwd", "custom_fwd",
    "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_available", "is_autocast_cache_enabled",
    "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
    "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype",
]  # fmt: skip


def is_autocast_available(device_type: str) -> bool:
    """Whether there is autocast for a type of device.

    >>> torch.amp.is_autocast_available("cpu")
    True
    """
    return device_(device_type).type in LISTS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether ops choose their precision now, on a type of device.

    >>> with torch.autocast("cpu"):
    ...     torch.is_autocast_enabled("cpu")
    True
    """
    return device_type in (modes.autocast or {})


def get_autocast_dtype(device_type: str) -> Any:
    """The dtype of the active autocast, or of an autocast without arguments.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    return (modes.autocast or {}).get(device_type) or _defaults.dtypes.get(device_type) or default_half(device_type)


def set_autocast_enabled(device_type: str | bool, enabled: bool | None = None) -> None:
    """Switches autocast on or off for a type of device, in this thread; ``autocast`` does it for a block.

    Args:
        device_type: the type; a bool alone is for "cuda".

    >>> torch.set_autocast_enabled("cpu", True)
    >>> (torch.ones(2, 2) @ torch.ones(2, 2)).dtype
    torch.bfloat16
    >>> torch.set_autocast_enabled("cpu", False)
    """
    if enabled is None:
        device_type, enabled = "cuda", bool(device_type)
    kind = device_(str(device_type)).type
    now = {name: half for name, half in (modes.autocast or {}).items() if name != kind}
    if enabled:
        now[kind] = get_autocast_dtype(kind)
    modes.autocast = now or None
    modes.update()


def set_autocast_dtype(device_type: str, dtype: Dtype) -> None:
    """Sets the half type of autocast for a type of device, in this thread.

    >>> torch.set_autocast_dtype("cpu", torch.bfloat16)
    """
    if not isinstance(dtype, dtypes.dtype):
        raise TypeError(
            f"set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not {type(dtype).__name__}"
        )
    kind = device_(device_type).type
    _defaults.dtypes = {**_defaults.dtypes, kind: dtype}
    if kind in (modes.autocast or {}):
        modes.autocast = {**(modes.autocast or {}), kind: dtype}


class _Defaults(threading.local):
    dtypes: dict[str, dtypes.dtype] = {}  # by type of device, where they were set
    cache = True
    nesting = 0


_defaults = _Defaults()


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keeps the setting. There is no cache: weights cast twice in a step are cast once by the compiler."""
    _defaults.cache = bool(enabled)


def is_autocast_cache_enabled() -> bool:
    """The value that ``set_autocast_cache_enabled`` has set; True by default."""
    return _defaults.cache


def clear_autocast_cache() -> None:
    """Does nothing: there is no cache."""


def autocast_increment_nesting() -> int:
    """Counts one more context; returns how many there are. ``autocast`` does not need it."""
    _defaults.nesting += 1
    return _defaults.nesting


def autocast_decrement_nesting() -> int:
    """Counts one context less; returns how many there are."""
    _defaults.nesting -= 1
    return _defaults.nesting


def set_autocast_cpu_enabled(enabled: bool) -> None:
    """``set_autocast_enabled("cpu", enabled)``. Deprecated."""
    _deprecated("set_autocast_cpu_enabled(enabled)", "set_autocast_enabled('cpu', enabled)")
    set_autocast_enabled("cpu", enabled)


def set_autocast_cpu_dtype(dtype: Dtype) -> None:
    """``set_autocast_dtype("cpu", dtype)``. Deprecated."""
    _deprecated("set_autocast_cpu_dtype(dtype)", "set_autocast_dtype('cpu', dtype)")
    set_autocast_dtype("cpu", dtype)


def set_autocast_gpu_dtype(dtype: Dtype) -> None:
    """``set_autocast_dtype("cuda", dtype)``. Deprecated."""
    _deprecated("set_autocast_gpu_dtype(dtype)", "set_autocast_dtype('cuda', dtype)")
    set_autocast_dtype("cuda", dtype)


def get_autocast_gpu_dtype() -> Any:
    """``get_autocast_dtype("cuda")``. Deprecated."""
    _deprecated("get_autocast_gpu_dtype()", "get_autocast_dtype('cuda')")
    return get_autocast_dtype("cuda")


def get_autocast_cpu_dtype() -> Any:
    """``get_autocast_dtype("cpu")``. Deprecated."""
    _deprecated("get_autocast_cpu_dtype()", "get_autocast_dtype('cpu')")
    return get_autocast_dtype("cpu")


def is_autocast_cpu_enabled() -> bool:
    """``is_autocast_enabled("cpu")``. Deprecated."""
    _deprecated("is_autocast_cpu_enabled()", "is_autocast_enabled('cpu')")
    return is_autocast_enabled("cpu")


def _deprecated(old: str, new: str) -> None:
    warnings.warn(f"torch.{old} is deprecated. Please use torch.{new} instead.", DeprecationWarning, stacklevel=3)


def default_half(device_type: str) -> Dtype:
    return dtypes.float16 if device_type == "cuda" else dtypes.bfloat16


class autocast:
    """Within it, or in a function decorated by it, ops choose their precision: products run in the half type, losses in float32.

    Args:
        device_type: "cpu", "cuda" or "tpu"; tensors elsewhere are left alone.
        dtype: the half type. Default: bfloat16 on the CPU and on TPUs, float16 on a GPU.
        enabled: False switches an outer autocast off.
        cache_enabled: what ``is_autocast_cache_enabled`` says; weights cast twice in a step are cast once by the compiler in any case.

    >>> x = torch.ones(2, 2)
    >>> with torch.autocast("cpu"):
    ...     y = x @ x
    >>> y.dtype
    torch.bfloat16

    Source: https://docs.pytorch.org/docs/stable/amp.html#torch.autocast
    """

    def __init__(
        self, device_type: str, dtype: Dtype | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ) -> None:
        _check_type(device_type)
        self.device = device_(device_type).type
        if self.device not in LISTS:
            raise RuntimeError(f"User specified an unsupported autocast device_type '{self.device}'")
        self.fast_dtype = dtype or get_autocast_dtype(self.device)
        if enabled and self.device == "cuda" and not devices_of("cuda"):
            warnings.warn("CUDA is not available or torch_xla is imported. Disabling autocast.", stacklevel=2)
            enabled = False
        if enabled and self.fast_dtype not in dtypes.HALVES:
            name = self.device.upper()
            warnings.warn(
                f"In {name} autocast, but the target dtype is not supported. Disabling autocast.\n{name} Autocast only supports dtypes of "
                "torch.bfloat16, torch.float16 currently.",
                stacklevel=2,
            )
            enabled = False
        self._enabled, self._cache_enabled = enabled, _defaults.cache if cache_enabled is None else cache_enabled
        self._before: list[Any] = []

    def __enter__(self) -> autocast:
        self._before.append((modes.autocast, _defaults.dtypes, _defaults.cache))
        now = {name: half for name, half in (modes.autocast or {}).items() if name != self.device}
        if self._enabled:
            now[self.device] = self.fast_dtype
        modes.autocast, _defaults.cache = now or None, bool(self._cache_enabled)
        modes.update()
        return self

    def __exit__(
        self, type: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        modes.autocast, _defaults.dtypes, _defaults.cache = self._before.pop()
        modes.update()

    def __call__(self, function: Callable[..., object]) -> Callable[..., Any]:
        """The function, run within the context."""

        @functools.wraps(function)
        def within(*args: object, **kwargs: object) -> Any:
            with self:
                return function(*args, **kwargs)

        return within


def _check_type(device_type: int | str | None) -> None:
    if not isinstance(device_type, str):
        raise ValueError(f"Expected `device_type` of type `str`, got: `{type(device_type)}`")


def custom_fwd(fwd: Callable[..., object] | None = None, *, device_type: str, cast_inputs: Dtype | None = None) -> Any:
    """Decorates the ``forward`` of an ``autograd.Function``, so that its ``backward`` runs under the same autocast.

    Args:
        device_type: the autocast that is meant.
        cast_inputs: a dtype that floating-point inputs are cast to where autocast is on; ``forward`` then runs without autocast.

    Source: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_fwd
    """
    _check_type(device_type)
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> Any:
        half = (modes.autocast or {}).get(device_type)
        ctx._autocast = None if cast_inputs is not None else half
        if cast_inputs is None or half is None:
            return fwd(ctx, *args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(ctx, *converted(args, device_type, cast_inputs), **converted(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., object] | None = None, *, device_type: str) -> Any:
    """Decorates the ``backward`` of an ``autograd.Function`` whose ``forward`` ``custom_fwd`` decorates.

    Source: https://docs.pytorch.org/docs/stable/amp.html#torch.amp.custom_bwd
    """
    _check_type(device_type)
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(ctx: Any, *args: object, **kwargs: object) -> Any:
        with autocast(device_type, dtype=ctx._autocast, enabled=ctx._autocast is not None):
            return bwd(ctx, *args, **kwargs)

    return decorated
