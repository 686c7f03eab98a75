"""Trains a variational autoencoder on pictures of a bright spot; its two codes should give the spot's position.

    python -m torchlike examples/vae.py
    python examples/vae.py                         with PyTorch itself

Exits with an error unless a linear map from the two codes explains 90 % of the variance of the spot's position.
"""

import sys

import torch
from torch import nn
from torch.distributions import Normal, kl_divergence

TARGET = 0.9
SIZE = 12


def spots(count):
    """Returns positions (N, 2) in the unit square, and pictures (N, 144) with a spot at each."""
    place = torch.rand(count, 2)
    grid = torch.linspace(0, 1, SIZE)
    rows = (grid[None, :, None] - place[:, 0, None, None]) ** 2
    columns = (grid[None, None, :] - place[:, 1, None, None]) ** 2
    return place, torch.exp(-(rows + columns) / 0.08).flatten(1)


class VAE(nn.Module):
    def __init__(self, latent=2):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(SIZE * SIZE, 128), nn.ReLU(), nn.Linear(128, 2 * latent))
        self.decoder = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, SIZE * SIZE))

    def encode(self, x):
        mean, log_scale = self.encoder(x).chunk(2, dim=-1)
        return Normal(mean, log_scale.exp())

    def forward(self, x):
        posterior = self.encode(x)
        return self.decoder(posterior.rsample()), posterior


def explained(codes, place):
    """Returns the share of the positions' variance that a linear map from the codes explains."""
    inputs = torch.cat([codes, torch.ones(len(codes), 1)], dim=1)
    rest = place - inputs @ torch.linalg.lstsq(inputs, place).solution
    return 1 - (rest.var(0) / place.var(0)).mean().item()


def main():
    torch.manual_seed(0)
    _, pictures = spots(2048)
    model = VAE()
    prior = Normal(torch.zeros(2), torch.ones(2))
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    for epoch in range(30):
        total = 0.0
        for x in pictures[torch.randperm(len(pictures))].split(128):
            shown, posterior = model(x)
            reconstruction = ((shown - x) ** 2).sum(1) / 0.02
            loss = (reconstruction + kl_divergence(posterior, prior).sum(1)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1}: loss {total / 16:.2f}")

    place, pictures = spots(512)
    with torch.no_grad():
        share = explained(model.encode(pictures).mean, place)
    print(f"The codes explain {100 * share:.1f}% of the variance of the place")
    if share < TARGET:
        sys.exit(f"Expected {100 * TARGET:.0f}%.")


if __name__ == "__main__":
    main()
