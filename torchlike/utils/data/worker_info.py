"""The information that a worker of a DataLoader has about itself."""

from dataclasses import dataclass
from typing import Any

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The number of a worker, and the copy of the dataset that it reads. ``rng`` is None, since a process has its own generators."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: object = None
    worker_method: str | None = "multiprocessing"


own: WorkerInfo | None = None  # a worker sets it for its process


def get_worker_info() -> WorkerInfo | None:
    """In a DataLoader's worker: its id, the number of workers, its seed and its copy of the dataset. Elsewhere None.

    Example:
        >>> torch.utils.data.get_worker_info() is None
        True

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info
    """
    return own
