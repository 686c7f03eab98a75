"""LSTM layers of many sizes, and operands for them."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.engine import onednn
from torchlike.engine.onednn import Lstm

# T, B, F, H. With two threads a batch of 16 or more is cut, in pieces of different sizes where it is odd.
SIZES = [
    (1, 1, 1, 1), (2, 3, 1, 3), (7, 1, 17, 17), (7, 3, 70, 3), (1, 32, 64, 128), (2, 17, 5, 128), (64, 3, 3, 17), (7, 33, 70, 17),
    (2, 100, 9, 20), (7, 2, 17, 200), (64, 32, 64, 64),
]  # fmt: skip


def of_sizes(part: str, sizes: tuple[int, ...], reverse: bool = False, threads: int = 2) -> Lstm:
    of = onednn.lstm_of(part, sizes[:3], sizes[3], reverse, threads)
    assert of is not None
    return of


def operands(of: Lstm, seed: int = 0, scale: float = 1.0) -> list[jax.Array]:
    """The operands of the forward pass; weights as nn.LSTM draws them, but normal."""
    random = np.random.default_rng(seed)
    widths = [1.0, 1.0, 1.0, *[of.hidden**-0.5] * 3]
    return [
        jnp.asarray(random.standard_normal(s) * w * scale, jnp.float32)
        for s, w in zip(of.operands, widths, strict=True)
    ]


def cotangents(of: Lstm, seed: int = 1) -> list[jax.Array]:
    random = np.random.default_rng(seed)
    return [
        jnp.asarray(random.standard_normal(shape), jnp.float32) for shape, _ in of._replace(part="inference").results
    ]


def assert_close(found: Any, wanted: Any, bound: float = 2e-5) -> None:
    """Relative to the largest element of each array, NaN where NaN is wanted."""
    for number, (a, b) in enumerate(zip(found, wanted, strict=True)):
        a, b = np.asarray(a), np.asarray(b)
        largest = np.abs(b[np.isfinite(b)]).max(initial=1e-3)
        np.testing.assert_allclose(a, b, rtol=bound, atol=bound * largest, err_msg=f"result {number}")
