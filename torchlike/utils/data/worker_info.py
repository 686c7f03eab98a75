"""The information that a worker of a DataLoader has about itself."""

import random
import threading
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...random_streams.rng import Generator

__all__ = ["WorkerInfo", "get_worker_info"]


@dataclass(frozen=True, slots=True)
class WorkerRandom:
    """The random generators of one worker thread, since ``random`` and ``numpy.random`` belong to the whole process."""

    random_generator: random.Random
    torch_generator: Generator
    numpy_generator: np.random.Generator


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """The number of a worker, and the copy of the dataset that it reads."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: WorkerRandom | None = None  # only if the worker is a thread
    worker_method: str | None = "multiprocessing"


class Here(threading.local):
    """A worker thread sets its instance's attribute; a worker process that of the class, for all its threads."""

    info: WorkerInfo | None = None


here = Here()


def get_worker_info() -> WorkerInfo | None:
    """In a DataLoader's worker: its id, the number of workers, its seed and its copy of the dataset. Elsewhere None.

    Example:
        >>> torch.utils.data.get_worker_info() is None
        True

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.get_worker_info
    """
    return here.info
