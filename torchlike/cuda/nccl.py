"""torch.cuda.nccl: how GPUs exchange tensors in PyTorch. Here XLA does, with whatever it was built with."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available", "version"]


def is_available(tensors: object) -> bool:
    """Whether tensors can be exchanged by it: no."""
    return False


def version() -> Any:
    """Raises NotImplementedError: XLA has a library of its own for this, and does not tell which."""
    raise NotImplementedError("torchlike does not use NCCL itself: XLA exchanges what lies on several GPUs")
