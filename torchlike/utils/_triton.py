"""torch.utils._triton: whether programs may use Triton with PyTorch. They may not, since there is no PyTorch."""

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
