"""The exceptions of torch.distributed."""

__all__ = ["DistBackendError", "DistError", "DistNetworkError", "DistStoreError"]


class DistError(RuntimeError):
    """The base class of errors between processes."""


class DistStoreError(DistError):
    """An error of the key-value store of the processes."""


class DistNetworkError(DistError):
    """An error of the network."""


class DistBackendError(DistError):
    """An error of a backend: another process has failed, is late, or runs another collective."""
