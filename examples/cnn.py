"""Trains a convolutional network to recognize squares, discs, crosses and rings anywhere in a noisy picture.

    python -m torchlike examples/cnn.py
    python examples/cnn.py                         with PyTorch itself

Exits with an error unless it classifies 95 % of new pictures correctly.
"""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

TARGET = 0.95
SIZE = 20


def pictures(count):
    """Pictures (N, 1, 20, 20), and the shape that each shows (N,)."""
    label = torch.arange(count) % 4
    center = torch.randint(7, SIZE - 7, (count, 2, 1, 1))
    radius = torch.randint(4, 7, (count, 1, 1))
    row = (torch.arange(SIZE)[None, :, None] - center[:, 0]).abs()
    column = (torch.arange(SIZE)[None, None, :] - center[:, 1]).abs()
    distance = (row**2 + column**2).float().sqrt()
    inside = torch.maximum(row, column) <= radius
    disc = distance <= radius + 0.3
    shapes = [inside, disc, inside & ((row == 0) | (column == 0)), disc & (distance >= radius - 0.7)]
    shown = torch.stack(shapes, dim=1)[torch.arange(count), label].float()
    return (shown + 0.2 * torch.randn(count, SIZE, SIZE)).unsqueeze(1), label


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2),
        )  # fmt: skip
        self.classify = nn.Linear(32 * 4, 4)

    def forward(self, x):
        x = self.features(x)  # (N, 1, 20, 20) -> (N, 32, 2, 2)
        return self.classify(x.flatten(1))  # (N, 4)


def main():
    torch.manual_seed(0)
    loader = DataLoader(TensorDataset(*pictures(1600)), batch_size=64, shuffle=True)
    X_test, y_test = pictures(400)
    model = Network()
    optimizer = torch.optim.AdamW(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=5 * len(loader))
    for epoch in range(5):
        model.train()
        total = 0.0
        for X, y in loader:
            loss = nn.functional.cross_entropy(model(X), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            accuracy = (model(X_test).argmax(1) == y_test).float().mean().item()
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, {100 * accuracy:.1f}% right")
    if accuracy < TARGET:
        sys.exit(f"Expected {100 * TARGET:.0f}%.")


if __name__ == "__main__":
    main()
