"""What a timed model is, and the pieces that several of them share in JAX."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
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
        loss: of these, inputs and labels: the same computation by hand.
        steps: how many make a burst.
    """

    model: Callable[[Any], tuple[Any, Callable[[Any, Any], Any]]]
    data: Callable[[], tuple[np.ndarray, np.ndarray]]
    params: Callable[[np.random.Generator], Any]
    loss: Callable[[Any, Any, Any], Any]
    steps: int


def uniform(random: np.random.Generator, *shape: int, fan_in: int) -> jax.Array:
    """Weights as PyTorch's layers begin with, roughly."""
    return jnp.asarray(random.uniform(-1, 1, shape) / fan_in**0.5, jnp.float32)


def dense(random: np.random.Generator, fan_in: int, fan_out: int) -> tuple[jax.Array, jax.Array]:
    """A weight (in, out) and a bias."""
    return uniform(random, fan_in, fan_out, fan_in=fan_in), jnp.zeros((fan_out,), jnp.float32)


def cross_entropy(logits: jax.Array, labels: jax.Array) -> jax.Array:
    """The mean over rows (N, classes)."""
    return -jnp.take_along_axis(jax.nn.log_softmax(logits), labels[:, None], axis=1).mean()


def pictures(batch: int, channels: int, size: int, classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Noise with labels."""
    random = np.random.default_rng(0)
    return random.normal(size=(batch, channels, size, size)).astype(np.float32), random.integers(0, classes, batch)
