"""torch.backends.cuda."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Iterator

from .._core.devices import devices_of

__all__ = [
    "cudnn_sdp_enabled", "enable_cudnn_sdp", "enable_flash_sdp", "enable_math_sdp", "enable_mem_efficient_sdp",
    "flash_sdp_enabled", "is_built", "math_sdp_enabled", "matmul", "mem_efficient_sdp_enabled", "sdp_kernel",
]  # fmt: skip


def is_built() -> bool:
    """Whether JAX here can use CUDA."""
    return bool(devices_of("cuda"))


class matmul:
    """Precision of products on GPUs: kept for scripts that set it; products are full float32."""

    allow_tf32 = False
    allow_fp16_reduced_precision_reduction = True
    allow_bf16_reduced_precision_reduction = True


class Kernels:
    """The kernels that attention may use, by their names in ``nn.attention.SDPBackend``."""

    everything = frozenset({"MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION", "OVERRIDEABLE"})

    def __init__(self) -> None:
        self.choose(self.everything)

    def choose(self, names: Iterable[str]) -> None:
        """From now on these and no others."""
        self.enabled = frozenset(names)
        self.math = "MATH" in self.enabled  # which takes whatever comes, so that there is nothing to check

    def switch(self, name: str, enabled: bool) -> None:
        """Allows one, or does not."""
        self.choose(self.enabled | {name} if enabled else self.enabled - {name})


kernels = Kernels()


def enable_flash_sdp(enabled: bool) -> None:
    """Whether attention may use PyTorch's flash kernel. Here all are one; without any, attention is refused as in PyTorch."""
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
