"""One layer of LSTM over a sequence; its last state is classified."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import USUAL, Case, How, cross_entropy, dense, uniform

CLASSES = 10


@dataclass(frozen=True)
class Sizes:
    """Of one model and its data."""

    length: int
    batch: int = 32
    features: int = 64
    hidden: int = 128


def model(torch: Any, sizes: Sizes) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(sizes.features, sizes.hidden, batch_first=True)
            self.linear = nn.Linear(sizes.hidden, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.linear(self.lstm(x)[0][:, -1])

    return Classifier(), nn.CrossEntropyLoss()


def data(sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    sequences = random.normal(size=(sizes.batch, sizes.length, sizes.features)).astype(np.float32)
    return sequences, random.integers(0, CLASSES, sizes.batch)


def params(random: np.random.Generator, sizes: Sizes) -> Any:
    hidden = sizes.hidden
    to_input = uniform(random, sizes.features, 4 * hidden, fan_in=hidden)
    to_hidden = uniform(random, hidden, 4 * hidden, fan_in=hidden)
    return to_input, to_hidden, jnp.zeros(4 * hidden), dense(random, hidden, CLASSES)


def loss(params: Any, X: jax.Array, y: jax.Array, how: How = USUAL) -> jax.Array:
    to_input, to_hidden, bias, (w, b) = params
    X, to_input, to_hidden, bias, w, b = how.factors(X, to_input, to_hidden, bias, w, b)

    def step(carry: Any, x: jax.Array) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ to_input + h @ to_hidden + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    zeros = jnp.zeros((len(X), to_hidden.shape[0]), X.dtype)
    (h, _), _ = lax.scan(step, (zeros, zeros), X.swapaxes(0, 1))
    return cross_entropy((h @ w + b).astype(jnp.float32), y)


def case(sizes: Sizes, steps: int) -> Case:
    """The model on sequences of this size."""
    model_of, params_of = functools.partial(model, sizes=sizes), functools.partial(params, sizes=sizes)
    return Case(model_of, functools.partial(data, sizes), params_of, loss, steps)
