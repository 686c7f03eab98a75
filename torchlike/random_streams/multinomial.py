"""Indices drawn by weight, bit for bit as ``torch.multinomial`` draws them on the CPU."""

import numpy as np

from .._core.dtypes import from_numpy_dtype
from .rng import Generator
from .sampling import FLOATS, HALVES, drawing_in_parts, exponential, unit64


@drawing_in_parts
def multinomial(
    generator: Generator, weights: np.ndarray, num_samples: int, replacement: bool = False, turned: bool = False
) -> np.ndarray:
    """``num_samples`` indices (int64) for each row, index i with probability in proportion to its weight.

    Without replacement, and for one sample, the indices with the largest wᵢ/eᵢ, eᵢ exponential numbers.

    Args:
        weights: of shape (categories,) or (rows, categories), floating-point, not negative, not all 0.
        turned: the weights lie in memory column by column, and so do the exponential numbers drawn for them.

    Raises:
        RuntimeError: the weights are others, or more samples than categories are asked for without replacement.

    >>> import numpy as np
    >>> from torchlike.random_streams.rng import Generator
    >>> from torchlike.random_streams.multinomial import multinomial
    >>> multinomial(Generator(), np.array([0.0, 1.0, 0.0]), 3, replacement=True).tolist()
    [1, 1, 1]

    Source: https://docs.pytorch.org/docs/stable/generated/torch.multinomial.html; Efraimidis and Spirakis (2006).
    """
    _check(weights, num_samples, replacement)
    # One sample is the same with and without replacement, and PyTorch takes the faster way for it.
    if replacement and num_samples > 1:
        rows = np.atleast_2d(weights)
        indices = np.empty((len(rows), num_samples), np.int64)
        for row, ladder in zip(indices, [_ladder(row) for row in rows], strict=True):  # all rows are checked first
            row[:] = np.searchsorted(ladder, unit64(generator, num_samples))
        return indices.reshape(*weights.shape[:-1], num_samples)
    w = _weights_as_float(weights)
    if not ((w >= 0) & (w < np.inf)).all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if (w.sum(-1) == 0).any():
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    clocks = exponential(generator, weights.shape[:: -1 if turned else 1], weights.dtype)
    clocks = clocks.T if turned else clocks
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        keys = weights / clocks
    return np.argsort(-_weights_as_float(keys), -1, kind="stable")[..., :num_samples]


def _check(weights: np.ndarray, num_samples: int, replacement: bool) -> None:
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if weights.dtype not in FLOATS:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got:"
            f" {from_numpy_dtype(weights.dtype).scalar_name}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    categories = weights.shape[-1]
    if not replacement and num_samples > categories:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    if categories > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")


def _weights_as_float(array: np.ndarray) -> np.ndarray:
    """In a dtype that NumPy computes in without warning: half types as float32."""
    return array.astype(np.float32) if array.dtype in HALVES else array


def _ladder(weights: np.ndarray) -> np.ndarray:
    """Cumulative probabilities, the last one 1."""
    w = _weights_as_float(weights)
    if not (w >= 0).all():  # NaN included
        raise RuntimeError("invalid multinomial distribution (encountering probability entry < 0)")
    if not np.isfinite(w).all():
        raise RuntimeError("invalid multinomial distribution (encountering probability entry = infinity or NaN)")
    ladder = np.cumsum(w)  # one by one in the weights' precision, as PyTorch adds
    if not ladder[-1] > 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    ladder = ladder / ladder[-1]
    ladder[-1] = 1
    return ladder.astype(np.float64)
