"""One layer of LSTM over a sequence; its last state is classified."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import Case, cross_entropy, dense, uniform

BATCH, FEATURES, HIDDEN, CLASSES = 32, 64, 128, 10


def model(torch: Any) -> Any:
    nn = torch.nn

    class Classifier(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(FEATURES, HIDDEN, batch_first=True)
            self.linear = nn.Linear(HIDDEN, CLASSES)

        def forward(self, x: Any) -> Any:
            return self.linear(self.lstm(x)[0][:, -1])

    return Classifier(), nn.CrossEntropyLoss()


def data(length: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(BATCH, length, FEATURES)).astype(np.float32), random.integers(0, CLASSES, BATCH)


def params(random: np.random.Generator) -> Any:
    to_input = uniform(random, FEATURES, 4 * HIDDEN, fan_in=HIDDEN)
    to_hidden = uniform(random, HIDDEN, 4 * HIDDEN, fan_in=HIDDEN)
    return to_input, to_hidden, jnp.zeros(4 * HIDDEN), dense(random, HIDDEN, CLASSES)


def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
    to_input, to_hidden, bias, (w, b) = params

    def step(carry: Any, x: jax.Array) -> Any:
        h, c = carry
        i, f, g, o = jnp.split(x @ to_input + h @ to_hidden + bias, 4, axis=-1)
        c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
        h = jax.nn.sigmoid(o) * jnp.tanh(c)
        return (h, c), None

    zeros = jnp.zeros((len(X), HIDDEN))
    (h, _), _ = lax.scan(step, (zeros, zeros), X.swapaxes(0, 1))
    return cross_entropy(h @ w + b, y)


def case(length: int, steps: int) -> Case:
    """The model on sequences of this length."""
    return Case(model, functools.partial(data, length), params, loss, steps)
