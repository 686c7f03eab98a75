"""``torch``'s introspection: build flags, type names, the module of a device type, and switches that few programs use."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from importlib import import_module
from types import ModuleType
from typing import Generic, TypeVar
from warnings import warn

from .._core import devices
from .._core.annotations import DeviceLike
from .._core.modes import modes
from .._core.tensor import Tensor
from ..accelerator import current_accelerator
from ..autograd.anomaly_mode import set_detect_anomaly
from ..dispatch.warned import once

__all__ = [
    "AcceleratorError", "FatalError",
    "classproperty", "compiled_with_cxx11_abi", "get_device_module", "has_lapack", "has_mkl", "has_openmp", "has_spectral",
    "init_num_threads", "is_anomaly_check_nan_enabled", "is_anomaly_enabled", "is_warn_always_enabled", "set_anomaly_enabled",
    "set_flush_denormal", "set_warn_always", "thread_safe_generator", "typename",
]  # fmt: skip

has_lapack = has_mkl = has_openmp = has_spectral = True

_T = TypeVar("_T")


class AcceleratorError(RuntimeError):
    """What PyTorch raises for an error of a GPU. Here that is JAX's own; programs that catch this one may name it."""

    __module__ = "torchlike"


class FatalError(Exception):
    """What PyTorch raises where it cannot go on. Nothing raises it here; programs that catch it may name it."""

    __module__ = "torchlike"


class classproperty(Generic[_T]):
    """A property of a class, computed when it is read.

    >>> class A:
    ...     name = torch.classproperty(lambda cls: cls.__name__.lower())
    >>> A.name
    'a'
    """

    def __init__(self, func: Callable[..., _T]) -> None:
        self.func = func

    def __get__(self, instance: object, owner: type | None = None) -> _T:
        return self.func(owner)


def compiled_with_cxx11_abi() -> bool:
    """True, as for every PyTorch of today."""
    return True


def init_num_threads() -> None:
    """Does nothing: the engine has its threads."""


def typename(obj: object) -> str:
    """The full name of an object's type; of a tensor that of its old class, such as ``torch.FloatTensor``.

    >>> torch.typename(torch.ones(1)), torch.typename(3)
    ('torch.FloatTensor', 'int')

    Source: https://docs.pytorch.org/docs/stable/generated/torch.typename.html
    """
    if isinstance(obj, Tensor):
        return obj.type()
    owner = obj if hasattr(obj, "__qualname__") else type(obj)
    module, name = getattr(owner, "__module__", None), getattr(owner, "__qualname__", "")
    if module is None or module == "builtins":
        return name
    return f"{module.replace('torchlike', 'torch', 1) if module.startswith('torchlike') else module}.{name}"


def get_device_module(device: DeviceLike | None = None) -> ModuleType:
    """The module that belongs to a type of device; of the accelerator, or ``torch.cpu``, where none is named.

    >>> torch.get_device_module("cpu").current_device()
    'cpu'

    Source: https://docs.pytorch.org/docs/stable/generated/torch.get_device_module.html
    """
    if device is None:
        best = current_accelerator()
        kind = "cpu" if best is None else best.type
    else:
        kind = devices.as_device(device).type
    try:
        return import_module(f"torchlike.{kind}")
    except ImportError:
        raise RuntimeError(
            f"Device '{kind}' does not have a corresponding module registered as 'torch.{kind}'."
        ) from None


def set_flush_denormal(mode: bool) -> bool:
    """False: numbers too small for a normal exponent cannot be switched off or on. See the page on what differs.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.set_flush_denormal.html
    """
    return False


def set_warn_always(b: bool) -> None:
    """Whether PyTorch's warnings that come once come each time; then Python's filters decide.

    >>> torch.set_warn_always(False)
    """
    once.always = bool(b)


def is_warn_always_enabled() -> bool:
    """The value that ``set_warn_always`` has set."""
    return once.always


def is_anomaly_enabled() -> bool:
    """Whether ``torch.autograd.detect_anomaly`` is on."""
    return modes.anomaly


def is_anomaly_check_nan_enabled() -> bool:
    """Whether detecting anomalies looks for NaN."""
    return modes.anomaly_nan


def set_anomaly_enabled(enabled: bool, check_nan: bool = True) -> None:
    """``torch.autograd.set_detect_anomaly``."""
    set_detect_anomaly(enabled, check_nan)


@contextlib.contextmanager
def thread_safe_generator() -> Iterator[None]:
    """Does nothing: a worker's generators are its own."""
    yield


def __getattr__(name: str) -> bool:
    if name in ("has_mps", "has_cuda", "has_cudnn", "has_mkldnn"):
        public = {
            "has_mps": "torch.backends.mps.is_built()",
            "has_cuda": "torch.backends.cuda.is_built()",
            "has_cudnn": "torch.backends.cudnn.is_available()",
            "has_mkldnn": "torch.backends.mkldnn.is_available()",
        }[name]
        warn(f"'{name}' is deprecated, please use '{public}'", stacklevel=4)
        return name == "has_mkldnn" or (name in ("has_cuda", "has_cudnn") and bool(devices.devices_of("cuda")))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
