"""What a timed model is, and the pieces that several of them share in JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


@dataclass(frozen=True)
class Case:
    """One model with its data.

    Args:
        model: from the `torch` namespace to a module and the function of its output and the labels that is made smaller.
        data: inputs and labels.
        params: the parameters of the model in JAX, drawn from a NumPy generator.
        loss: of these, inputs and labels, and a `How` if it is another than usual: the same computation by hand.
        steps: how many make a burst.
    """

    model: Callable[[Any], tuple[Any, Callable[[Any, Any], Any]]]
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    params: Callable[[np.random.Generator], Any]
    loss: Callable[..., Any]
    steps: int


@dataclass(frozen=True)
class How:
    """What a user of PyTorch leaves to autocast, to the device and to nn.Dropout, and writes into a function of JAX by hand.

    Args:
        products: the dtype of the factors of products and convolutions; None: that which they have.
        flash: whether attention goes by JAX's kernel for TPUs, for which the numbers of tokens must suit.
        keys: what dropout draws from, a key for each time; none where nothing is dropped.
    """

    products: Any = None
    flash: bool = False
    keys: Iterator[jax.Array] = field(default_factory=lambda: iter(()))

    def factors(self, *arrays: jax.Array) -> list[jax.Array]:
        """These as factors of a product."""
        return [array if self.products is None else array.astype(self.products) for array in arrays]

    def dropped(self, x: jax.Array, rate: float) -> jax.Array:
        """Without a part of the elements, if there are keys."""
        key = next(self.keys, None) if rate else None
        return x if key is None else jnp.where(jax.random.bernoulli(key, 1 - rate, x.shape), x / (1 - rate), 0)


USUAL = How()


def uniform(random: np.random.Generator, *shape: int, fan_in: int) -> jax.Array:
    """Weights as PyTorch's layers begin with, roughly."""
    return jnp.asarray(random.uniform(-1, 1, shape) / fan_in**0.5, jnp.float32)


def dense(random: np.random.Generator, fan_in: int, fan_out: int) -> tuple[jax.Array, jax.Array]:
    """A weight (in, out) and a bias."""
    return uniform(random, fan_in, fan_out, fan_in=fan_in), jnp.zeros((fan_out,), jnp.float32)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean over rows (N, classes)."""
    return (jax.nn.logsumexp(logits, axis=1) - jnp.take_along_axis(logits, labels[:, None], axis=1)[:, 0]).mean()


def pictures(batch: int, channels: int, size: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with labels."""
    random = np.random.default_rng(0)
    return random.normal(size=(batch, channels, size, size)).astype(np.float32), random.integers(0, classes, batch)
