"""Fused multiply-add, a·b + c rounded once: PyTorch's kernels are compiled to it, NumPy has none."""

import numpy as np

_SPLIT = 2.0**27 + 1  # cuts a float64 into two halves whose products are exact (Veltkamp)


def fma(a: np.ndarray, b: float, c: float) -> np.ndarray:
    """a·b + c rounded once to a's dtype, float32 or float64.

    >>> import numpy as np
    >>> from torchlike.random_streams.fma import fma
    >>> fma(np.array([1 + 2.0**-30]), 1 - 2.0**-30, -1.0).tolist() == [-(2.0**-60)]  # 0.0 when rounded twice
    True

    Source: Boldo and Melquiond, "Emulation of a FMA and correctly rounded sums" (2008). In float32 the product is exact
    in float64; that the sum is rounded to 53 and then to 24 bits shows in about one of 2**28 values.
    """
    if a.dtype == np.float32:
        return (a.astype(np.float64) * np.float64(np.float32(b)) + np.float64(np.float32(c))).astype(np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        high, low = _two_product(a, np.float64(b))
        mid, error = _two_sum(np.float64(c), low)
        top, middle = _two_sum(high, mid)
        total = top + _add_to_odd(middle, error)
        # An infinity, or a number near the largest one, has no two halves.
        return np.where(np.isnan(total), a * b + c, total)


def _two_sum(a, b):
    """a + b as a rounded sum and the exact rest."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _two_product(a, b):
    """a·b as a rounded product and the exact rest."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, a_low * b_low - (((product - a_high * b_high) - a_low * b_high) - a_high * b_low)


def _halves(x):
    scaled = x * _SPLIT
    high = scaled - (scaled - x)
    return high, x - high


def _add_to_odd(a, b):
    """a + b, where inexact the neighbour with an odd last bit: a later rounding then cannot meet a false tie."""
    total, error = _two_sum(a, b)
    bits = total.view(np.int64)
    even = (error != 0) & (bits & 1 == 0)
    outward = (error > 0) == (total > 0)
    return np.where(even, bits + np.where(outward, 1, -1), bits).view(np.float64)
