"""torch._C: the parts of PyTorch's C++ module that libraries use. Most of that module has no counterpart in torchlike."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from weakref import ref as _weak_reference

from ._core.fields import storage_of as _storage_of
from ._core.modes import (
    computes_tangents as _computes_tangents,
    set_forward_grad as _set_forward_grad,
    tracers as _tracers,
)
from ._core.node import Node as Node
from ._core.overridable import (
    disabled_torch_dispatch_impl as _disabled_torch_dispatch_impl,
    overridable_namespaces as _namespaces,
)
from ._core.tensor import Tensor
from ._core.torch_function import (
    ALL_OFF as _ALL_OFF,
    ON as _ON,
    DisableTorchFunction as DisableTorchFunction,
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
    EnableTorchFunction as _EnableTorchFunction,
    ask_modes as _ask_modes,
    disabled_torch_function_impl as _disabled_torch_function_impl,
    pop_mode as _pop_torch_function_stack,
    push_mode as _push_on_torch_function_stack,
    settings as _settings,
)
from .ops.creation.cast import parse_to as _arguments_of_to
from .ops.linalg._matrices import LinAlgError as _LinAlgError

__all__ = [
    "DisableTorchFunction",
    "DisableTorchFunctionSubclass",
    "_EnableTorchFunction",
    "_LinAlgError",
    "_disabled_torch_dispatch_impl",
    "_disabled_torch_function_impl",
    "_pop_torch_function_stack",
    "_push_on_torch_function_stack",
]


def _parse_to(*args: object, **kwargs: object) -> tuple[Any, Any, bool, Any]:
    """The arguments of ``Module.to``: device, dtype, non_blocking and memory_format."""
    return _ask_modes(_parse_to, _parsed, args, kwargs)


def _parsed(*args: object, **kwargs: object) -> tuple[Any, Any, bool, Any]:
    arguments = _arguments_of_to(args, kwargs)
    device = arguments.get("device")
    if device is not None:
        from ._core.devices import as_device

        device = as_device(device)
    return device, arguments.get("dtype"), bool(arguments.get("non_blocking", False)), arguments.get("memory_format")


has_lapack = has_mkl = has_openmp = has_spectral = True
_has_mps = _has_cuda = _has_xpu = False


class _Layers:
    """``torch._C._nn``: the functions of layers by the names of PyTorch's operators, which libraries call directly."""

    _parse_to = staticmethod(_parse_to)

    def __getattr__(self, name: str) -> Any:
        found = _namespaces()["torch.nn.functional"].get(name)  # pyright: ignore[reportAttributeAccessIssue]
        if found is None:
            raise AttributeError(f"torch._C._nn has no function {name!r}, or torchlike lacks it", name=name, obj=self)
        return found


_nn = _Layers()


def _get_tracing_state() -> Any:
    """The trace that ``torch.jit._get_trace_graph`` makes, or None. ``torch.jit.trace`` makes none."""
    return _tracers[-1].state if _tracers else None


def _log_api_usage_once(event: str) -> None:
    """Does nothing: nobody is told what is used."""


def _is_alias_of(a: object, b: object) -> bool:
    """Whether two tensors share a storage."""
    return isinstance(a, Tensor) and isinstance(b, Tensor) and _storage_of(a) is _storage_of(b)


_is_fwd_grad_enabled, _set_fwd_grad_enabled = _computes_tangents, _set_forward_grad


class _WeakTensorRef:
    """A reference to a tensor that does not keep it alive."""

    def __init__(self, tensor: Tensor) -> None:
        self._reference = _weak_reference(tensor)

    def expired(self) -> bool:
        """Whether the tensor is gone."""
        return self._reference() is None


def _get_privateuse1_backend_name() -> str:
    """The name of the device type that is left to others."""
    return "privateuseone"


# ---- switches of TorchScript's compiler, which is not there: each returns what was set before, as PyTorch's


class _Script:
    profiling_mode = profiling_executor = True


def _jit_set_profiling_mode(enabled: bool) -> bool:
    """Keeps a switch of TorchScript's; nothing reads it."""
    before, _Script.profiling_mode = _Script.profiling_mode, bool(enabled)
    return before


def _jit_set_profiling_executor(enabled: bool) -> bool:
    """Keeps a switch of TorchScript's; nothing reads it."""
    before, _Script.profiling_executor = _Script.profiling_executor, bool(enabled)
    return before


def _jit_can_fuse_on_cpu() -> bool:
    """Whether TorchScript fuses operations on CPUs: it is not there."""
    return False


def _jit_can_fuse_on_gpu() -> bool:
    """Whether TorchScript fuses operations on GPUs: it is not there."""
    return False


def _jit_override_can_fuse_on_cpu(enabled: bool) -> None:
    """Does nothing: XLA decides what is fused."""


def _jit_override_can_fuse_on_gpu(enabled: bool) -> None:
    """Does nothing: XLA decides what is fused."""


def _jit_set_texpr_fuser_enabled(enabled: bool) -> None:
    """Does nothing: XLA decides what is fused."""


def _jit_set_nvfuser_enabled(enabled: bool) -> None:
    """Does nothing, as in PyTorch."""


def _jit_set_nvfuser_guard_mode(enabled: bool) -> None:
    """Does nothing, as in PyTorch."""


TensorBase = Tensor


class _ExperimentalConfig:
    """Settings of PyTorch's profiler, which are kept without effect."""

    def __init__(self, **settings: object) -> None:
        self.__dict__.update(settings)


_profiler = SimpleNamespace(_ExperimentalConfig=_ExperimentalConfig)


# ---- __torch_function__


def _is_torch_function_enabled() -> bool:
    """Whether subclasses override functions here."""
    return _settings.off == _ON


def _is_torch_function_all_disabled() -> bool:
    """Whether modes override functions no more than subclasses do."""
    return _settings.off == _ALL_OFF


def _len_torch_function_stack() -> int:
    return len(_settings.stack)


def _get_function_stack_at(at: int) -> object:
    return _settings.stack[at]
