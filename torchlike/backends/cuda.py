"""torch.backends.cuda."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Iterable, Iterator

from .._core.devices import devices_of
from ..numerics.matmul_precision import setting

__all__ = [
    "allow_fp16_bf16_reduction_math_sdp", "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp",
    "enable_mem_efficient_sdp", "flash_sdp_enabled", "fp16_bf16_reduction_math_sdp_allowed", "is_built", "is_flash_attention_available",
    "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "preferred_linalg_library", "sdp_kernel",
]  # fmt: skip


def is_built() -> bool:
    """Whether JAX here can use CUDA."""
    return bool(devices_of("cuda"))


class Products:
    """Matrix products on GPUs, ``torch.backends.cuda.matmul``. ``allow_tf32`` says by another name what
    `torch.set_float32_matmul_precision` says.
    """

    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True

    @property
    def allow_tf32(self) -> bool:
        """Whether factors in float32 may be rounded to TF32.

        >>> torch.backends.cuda.matmul.allow_tf32
        False
        """
        return setting[0] != "highest"

    @allow_tf32.setter
    def allow_tf32(self, value: bool) -> None:
        from ..ops.settings.defaults import set_float32_matmul_precision  # which is not needed to import the settings

        set_float32_matmul_precision("high" if value else "highest")

    @property
    def fp32_precision(self) -> str:
        """The same as PyTorch's newer name: "tf32" or "ieee"."""
        return "tf32" if self.allow_tf32 else "ieee"

    @fp32_precision.setter
    def fp32_precision(self, value: str) -> None:
        if value not in ("ieee", "tf32", "none"):
            raise RuntimeError(f"Unknown precision: {value}")
        self.allow_tf32 = value == "tf32"


matmul = Products()


class Kernels:
    """The kernels that attention may use, by their names in ``nn.attention.SDPBackend``."""

    everything = frozenset({"MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"})

    def __init__(self) -> None:
        self.choose(self.everything)

    def choose(self, names: Iterable[str]) -> None:
        """From now on these and no others."""
        self.enabled = frozenset(names)
        self.math = "MATH" in self.enabled  # which takes whatever comes, so that there is nothing to check
        # What ``ops/nn/attention.py`` is told: one of them alone, or what is fastest.
        self.way = "" if self.math and len(self.enabled) > 1 else "math" if self.math else "fused"

    def switch(self, name: str, enabled: bool) -> None:
        """Allows one, or does not."""
        self.choose(self.enabled | {name} if enabled else self.enabled - {name})


kernels = Kernels()


def enable_flash_sdp(enabled: bool) -> None:
    """Whether attention may use PyTorch's flash kernel. All but ``math`` are one here; without any, attention is refused as in PyTorch."""
    kernels.switch("FLASH_ATTENTION", enabled)


def enable_mem_efficient_sdp(enabled: bool) -> None:
    """Whether attention may use PyTorch's memory-efficient kernel."""
    kernels.switch("EFFICIENT_ATTENTION", enabled)


def enable_math_sdp(enabled: bool) -> None:
    """Whether attention may use PyTorch's general formula."""
    kernels.switch("MATH", enabled)


def enable_cudnn_sdp(enabled: bool) -> None:
    """Whether attention may use cuDNN's kernel."""
    kernels.switch("CUDNN_ATTENTION", enabled)


def flash_sdp_enabled() -> bool:
    """Whether attention may use PyTorch's flash kernel."""
    return "FLASH_ATTENTION" in kernels.enabled


def mem_efficient_sdp_enabled() -> bool:
    """Whether attention may use PyTorch's memory-efficient kernel."""
    return "EFFICIENT_ATTENTION" in kernels.enabled


def math_sdp_enabled() -> bool:
    """Whether attention may use PyTorch's general formula."""
    return kernels.math


def cudnn_sdp_enabled() -> bool:
    """Whether attention may use cuDNN's kernel."""
    return "CUDNN_ATTENTION" in kernels.enabled


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[None]:
    """Within it, attention may use these of PyTorch's kernels. Deprecated: ``torch.nn.attention.sdpa_kernel``."""
    warnings.warn(
        "`torch.backends.cuda.sdp_kernel()` is deprecated. In the future, this context manager will be removed. Please see "
        "`torch.nn.attention.sdpa_kernel()` for the new context manager, with updated signature.",
        FutureWarning,
        stacklevel=3,
    )
    before = kernels.enabled
    switches = {
        "FLASH_ATTENTION": enable_flash,
        "MATH": enable_math,
        "EFFICIENT_ATTENTION": enable_mem_efficient,
        "CUDNN_ATTENTION": enable_cudnn,
    }
    kernels.choose(name for name, is_enabled in switches.items() if is_enabled)
    try:
        yield
    finally:
        kernels.choose(before)


def allow_fp16_bf16_reduction_math_sdp(enabled: bool) -> None:
    """Whether attention in half types may add up in these. Stored and not read: it adds up in float32."""
    _Stored.half_sums = enabled


def fp16_bf16_reduction_math_sdp_allowed() -> bool:
    """What ``allow_fp16_bf16_reduction_math_sdp`` was given last; False at first."""
    return _Stored.half_sums


def is_flash_attention_available() -> bool:
    """Whether PyTorch's flash kernel is there: never, attention is a program of XLA's."""
    return False


class _LinalgBackend(enum.IntEnum):
    """A library for linear algebra on GPUs."""

    Default, Cusolver, Magma = range(3)

    def __repr__(self) -> str:
        return f"<_LinalgBackend.{self.name}: {self.value}>"


class _Stored:
    half_sums = False
    linalg = _LinalgBackend.Default


def preferred_linalg_library(backend: str | _LinalgBackend | None = None) -> _LinalgBackend:
    """The library that is preferred for linear algebra on GPUs. It is stored and not read: JAX decides.

    Raises:
        RuntimeError: a library that PyTorch does not know, or MAGMA, which is not there.

    >>> torch.backends.cuda.preferred_linalg_library()
    <_LinalgBackend.Default: 0>

    Source: https://docs.pytorch.org/docs/stable/backends.html#torch.backends.cuda.preferred_linalg_library
    """
    if isinstance(backend, str):
        if backend not in ("default", "cusolver", "magma"):
            raise RuntimeError("Unknown input value. Choose from: default, cusolver, magma.")
        backend = _LinalgBackend[backend.capitalize()]
    if backend is _LinalgBackend.Magma:
        raise RuntimeError("Cannot set preferred backend to MAGMA if PyTorch has not been compiled with MAGMA.")
    if backend is not None:
        _Stored.linalg = backend
    return _Stored.linalg
