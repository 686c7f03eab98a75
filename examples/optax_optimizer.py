"""Composes an optimizer from optax's transformations: clipping, Adam's moments, weight decay, a warm-up and a cosine schedule.

    python examples/optax_optimizer.py

Exits with an error unless the loss falls to a hundredth. optax and JAX are installed with torchlike, whose own optimizers use them.
"""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

import torchlike as torch
from torchlike import nn


class Trend(NamedTuple):
    """The state of `agree`: the sign of the last update of each parameter."""

    sign: Any


def agree(shrink: float = 0.5) -> optax.GradientTransformation:
    """A transformation of our own: shrinks an element's update if its sign has changed since the last step."""

    def init(params: Any) -> Trend:
        return Trend(jax.tree.map(jnp.zeros_like, params))

    def update(updates: Any, state: Any, params: Any = None) -> tuple[Any, Trend]:
        shrunk = jax.tree.map(lambda u, last: jnp.where(u * last < 0, shrink * u, u), updates, state.sign)
        return shrunk, Trend(jax.tree.map(jnp.sign, updates))

    return optax.GradientTransformation(init, update)


def main() -> None:
    torch.manual_seed(0)
    X = torch.randn(256, 8)
    y = torch.sin(X @ torch.randn(8, 1)) + X[:, :1] ** 2
    model = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 1))
    schedule = optax.warmup_cosine_decay_schedule(0.0, 0.01, warmup_steps=50, decay_steps=600)
    transformation = optax.chain(
        optax.clip_by_global_norm(1.0),
        optax.scale_by_adam(),
        optax.add_decayed_weights(1e-4),
        agree(),
        optax.scale_by_learning_rate(schedule),
    )
    optimizer = torch.optim.Optax(model.parameters(), transformation)

    losses = []
    for step in range(601):
        loss = nn.functional.mse_loss(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            losses.append(loss.item())
            print(f"step {step}: loss {losses[-1]:.5f}")
    if losses[-1] > losses[0] / 100:
        sys.exit(f"Expected less than {losses[0] / 100:.5f}.")


if __name__ == "__main__":
    main()
