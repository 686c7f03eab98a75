"""torch.cuda.nccl: questions about NCCL. Here XLA exchanges tensors between GPUs, with the library that it was built with."""

from __future__ import annotations

from typing import Any

__all__ = ["is_available", "version"]


def is_available(tensors: object) -> bool:
    """Whether tensors can be exchanged by it: no."""
    return False


def version() -> Any:
    """Raises NotImplementedError: XLA has a library of its own for this, and does not tell which."""
    raise NotImplementedError("torchlike does not use NCCL itself: XLA exchanges what lies on several GPUs")
