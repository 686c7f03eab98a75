"""Uses a module written in flax as a part of a torchlike model, trains it with a torchlike optimizer, and saves and loads it.

    python examples/flax_module.py

Exits with an error unless the loss falls to a hundredth and the loaded model predicts the same as the saved one.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import jax
from flax import nnx

import torchlike as torch
from torchlike import nn


class Residual(nnx.Module):
    """Computes x + W2 gelu(W1 norm(x)), written in flax."""

    def __init__(self, width: int, rngs: nnx.Rngs) -> None:
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.inner = nnx.Linear(width, 4 * width, rngs=rngs)
        self.outer = nnx.Linear(4 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array) -> jax.Array:
        return x + self.outer(nnx.gelu(self.inner(self.norm(x))))


class Model(nn.Module):
    def __init__(self, seed: int) -> None:
        super().__init__()
        self.enter = nn.Linear(2, 16)
        self.body = Residual(16, nnx.Rngs(seed))  # becomes an nn.Flax, whose parameters the model sees
        self.leave = nn.Linear(16, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.leave(self.body(self.enter(x)))


def main() -> None:
    torch.manual_seed(0)
    X = torch.rand(256, 2) * 4 - 2
    y = torch.sin(X[:, :1]) * X[:, 1:]
    model = Model(seed=0)
    print(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
    losses = []
    for step in range(301):
        loss = nn.functional.mse_loss(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 50 == 0:
            losses.append(loss.item())
            print(f"step {step}: loss {losses[-1]:.5f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt"
        torch.save(model.state_dict(), path)
        other = Model(seed=1)
        other.load_state_dict(torch.load(path))
    same = torch.equal(model(X), other(X))
    print(f"The loaded model predicts the same: {same}")
    if losses[-1] > losses[0] / 100 or not same:
        sys.exit(f"Expected a loss of less than {losses[0] / 100:.5f}, and the same answers.")


if __name__ == "__main__":
    main()
