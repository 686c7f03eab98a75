"""Linear layers with ReLU between."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import numpy as np

from ._case import Case, cross_entropy, dense


def case(sizes: tuple[int, ...], batch: int, steps: int) -> Case:
    """The network with layers of these sizes."""

    def model(torch: Any) -> Any:
        nn = torch.nn
        layers: list[Any] = [nn.Flatten()]
        for fan_in, fan_out in itertools.pairwise(sizes):
            layers += [nn.Linear(fan_in, fan_out), nn.ReLU()]
        return nn.Sequential(*layers[:-1]), nn.CrossEntropyLoss()

    def data() -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(0)
        return random.normal(size=(batch, sizes[0])).astype(np.float32), random.integers(0, sizes[-1], batch)

    def params(random: np.random.Generator) -> Any:
        return [dense(random, m, n) for m, n in itertools.pairwise(sizes)]

    def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
        for i, (w, b) in enumerate(params):
            X = X @ w + b
            if i < len(params) - 1:
                X = jax.nn.relu(X)
        return cross_entropy(X, y)

    return Case(model, data, params, loss, steps)
