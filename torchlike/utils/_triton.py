"""torch.utils._triton: says that programs cannot use Triton with PyTorch, since there is no PyTorch."""

from __future__ import annotations

__all__ = [
    "has_triton",
    "has_triton_experimental_host_tma",
    "has_triton_package",
    "has_triton_tma",
    "has_triton_tma_device",
]


def has_triton() -> bool:
    """False."""
    return False


def has_triton_package() -> bool:
    """False."""
    return False


def has_triton_tma() -> bool:
    """False."""
    return False


def has_triton_tma_device() -> bool:
    """False."""
    return False


def has_triton_experimental_host_tma() -> bool:
    """False."""
    return False
