"""LeNet-5 on pictures of 28 by 28."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import Case, cross_entropy, dense, pictures, uniform

BATCH = 64


def model(torch: Any) -> Any:
    nn = torch.nn
    layers = nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10),
    )  # fmt: skip
    return layers, nn.CrossEntropyLoss()


def params(random: np.random.Generator) -> Any:
    convolutions = [
        (uniform(random, 6, 1, 5, 5, fan_in=25), jnp.zeros(6)),
        (uniform(random, 16, 6, 5, 5, fan_in=150), jnp.zeros(16)),
    ]
    return convolutions, [dense(random, 400, 120), dense(random, 120, 84), dense(random, 84, 10)]


def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
    convolutions, linears = params
    for (w, b), padding in zip(convolutions, (2, 0), strict=True):
        X = lax.conv_general_dilated(X, w, (1, 1), [(padding, padding)] * 2) + b[:, None, None]
        X = lax.reduce_window(jax.nn.relu(X), -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    X = X.reshape(len(X), -1)
    for w, b in linears[:-1]:
        X = jax.nn.relu(X @ w + b)
    w, b = linears[-1]
    return cross_entropy(X @ w + b, y)


CASE = Case(model, lambda: pictures(BATCH, 1, 28, 10), params, loss, steps=10)
