"""Random draws as plain Python numbers, in PyTorch's streams; None as generator means the default one."""

import numpy as np

from ...random_streams import multinomial, sampling, sampling_integers
from ...random_streams.rng import Generator, default_generator, draw_seed

__all__ = ["between", "permutation", "randint", "seed", "uniform", "weighted"]


def seed(generator: Generator | None) -> int:
    """A seed, drawn as ``torch.empty((), dtype=torch.int64).random_()``."""
    return draw_seed(generator)


def permutation(generator: Generator | None, count: int) -> list[int]:
    """``torch.randperm(count)``."""
    return sampling_integers.randperm(generator or default_generator, count).tolist()


def randint(generator: Generator | None, high: int, count: int) -> list[int]:
    """``torch.randint(high, (count,))``."""
    return sampling_integers.randint(generator or default_generator, count, np.int64, 0, high).tolist()


def uniform(generator: Generator | None) -> float:
    """``torch.rand(1)``."""
    return float(sampling.uniform(generator or default_generator, 1, np.float32)[0])


def between(generator: Generator | None, low: float, high: float) -> float:
    """``torch.empty(1).uniform_(low, high)``."""
    return float(sampling.uniform(generator or default_generator, 1, np.float32, low, high)[0])


def weighted(generator: Generator | None, weights: np.ndarray, count: int, replacement: bool) -> list[int]:
    """``torch.multinomial(weights, count, replacement)``, for weights of one dimension."""
    return multinomial.multinomial(generator or default_generator, weights, count, replacement).tolist()
