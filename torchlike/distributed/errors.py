"""The exceptions of torch.distributed."""

from __future__ import annotations

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError"]


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistStoreError(DistError):
    """What goes wrong with the store that processes meet at."""


class DistNetworkError(DistError):
    """What goes wrong in the network."""


class DistBackendError(DistError):
    """What goes wrong in a backend: another process has failed, is late, or does something else."""
