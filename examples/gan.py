"""A generative adversarial network learns to throw points onto a ring.

    python -m torchlike examples/gan.py
    python examples/gan.py                         with PyTorch itself

Exits with an error unless its points lie near the ring and in all parts of it.
"""

import math
import sys

import torch
from torch import nn

MOST_DISTANCE = 0.15  # of a point from the ring, on average
SECTORS = 8


def ring(count):
    """Points (N, 2) near a circle of radius 1."""
    angle = 2 * math.pi * torch.rand(count)
    radius = 1 + 0.05 * torch.randn(count)
    return torch.stack([radius * angle.cos(), radius * angle.sin()], dim=1)


def network(inputs, outputs):
    return nn.Sequential(
        nn.Linear(inputs, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, outputs)
    )


def main():
    torch.manual_seed(0)
    generator, critic = network(4, 2), network(2, 1)
    loss_fn = nn.BCEWithLogitsLoss()
    options = {"lr": 1e-3, "betas": (0.5, 0.999)}
    generator_optimizer = torch.optim.Adam(generator.parameters(), **options)
    critic_optimizer = torch.optim.Adam(critic.parameters(), **options)
    real, fake = torch.ones(256, 1), torch.zeros(256, 1)
    for step in range(1001):
        points = generator(torch.randn(256, 4))
        critic_loss = loss_fn(critic(ring(256)), real) + loss_fn(critic(points.detach()), fake)
        critic_optimizer.zero_grad()
        critic_loss.backward()
        critic_optimizer.step()

        generator_loss = loss_fn(critic(points), real)
        generator_optimizer.zero_grad()
        generator_loss.backward()
        generator_optimizer.step()
        if step % 200 == 0:
            print(f"step {step}: critic {critic_loss.item():.4f}, generator {generator_loss.item():.4f}")

    with torch.no_grad():
        points = generator(torch.randn(1024, 4))
    distance = (points.norm(dim=1) - 1).abs().mean().item()
    sector = ((torch.atan2(points[:, 1], points[:, 0]) / (2 * math.pi) + 0.5) * SECTORS).long().clamp(0, SECTORS - 1)
    least = torch.bincount(sector, minlength=SECTORS).min().item() / 1024
    print(f"Distance from the ring {distance:.3f}; the emptiest eighth has {100 * least:.1f}% of the points")
    if distance > MOST_DISTANCE or least < 0.02:
        sys.exit(f"Expected at most {MOST_DISTANCE}, and 2% in each eighth.")


if __name__ == "__main__":
    main()
