"""Trains a small network to classify points by which of three spirals they lie on.

    python -m torchlike examples/classifier.py
    python examples/classifier.py                  with PyTorch itself

Exits with an error unless it classifies 97 % of new points correctly.
"""

import math
import sys

import torch
from torch import nn

TARGET = 0.97


def spirals(count, arms=3):
    """Points (N, 2) on arms that wind around the origin, and the arm of each (N,)."""
    label = torch.arange(count) % arms
    radius = torch.rand(count)
    angle = 4 * radius + 2 * math.pi / arms * label + 0.1 * torch.randn(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1), label


def main():
    torch.manual_seed(0)
    X, y = spirals(1500)
    X_test, y_test = spirals(600)
    model = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3))
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for step in range(401):
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")

    model.eval()
    with torch.no_grad():
        accuracy = (model(X_test).argmax(1) == y_test).float().mean().item()
    print(f"{100 * accuracy:.1f}% of new points are right")
    if accuracy < TARGET:
        sys.exit(f"Expected {100 * TARGET:.0f}%.")


if __name__ == "__main__":
    main()
