"""Two convolutions and two linear layers on pictures of 28 by 28: the network of PyTorch's MNIST example, without its dropout."""

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
        nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(9216, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip
    return layers, nn.CrossEntropyLoss()


def params(random: np.random.Generator) -> Any:
    convolutions = [
        (uniform(random, 32, 1, 3, 3, fan_in=9), jnp.zeros(32)),
        (uniform(random, 64, 32, 3, 3, fan_in=288), jnp.zeros(64)),
    ]
    return convolutions, dense(random, 9216, 128), dense(random, 128, 10)


def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
    convolutions, (w1, b1), (w2, b2) = params
    for w, b in convolutions:
        X = jax.nn.relu(lax.conv_general_dilated(X, w, (1, 1), "VALID") + b[:, None, None])
    X = lax.reduce_window(X, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
    hidden = jax.nn.relu(X.reshape(len(X), -1) @ w1 + b1)
    return cross_entropy(hidden @ w2 + b2, y)


CASE = Case(model, lambda: pictures(BATCH, 1, 28, 10), params, loss, steps=3)
