"""A variational autoencoder: reparametrization, a loss of two parts, weights of an exponential schedule."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim
from torch.optim.lr_scheduler import ExponentialLR


class VAE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(16, 24), nn.Tanh())
        self.mean, self.logvar = nn.Linear(24, 2), nn.Linear(24, 2)
        self.decode = nn.Sequential(nn.Linear(2, 24), nn.Tanh(), nn.Linear(24, 16), nn.Sigmoid())

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        h = self.encode(x)
        mean, logvar = self.mean(h), self.logvar(h)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * logvar)
        return self.decode(z), mean, logvar


def loss_of(x: Tensor, made: Tensor, mean: Tensor, logvar: Tensor) -> tuple[Tensor, Tensor]:
    return (
        F.binary_cross_entropy(made, x, reduction="sum") / len(x),
        -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp()) / len(x),
    )


torch.manual_seed(0)
data = (torch.rand(64, 4).repeat_interleave(4, 1) > 0.5).float()
vae = VAE()
optimizer = optim.Adam(vae.parameters(), lr=5e-3)
schedule = ExponentialLR(optimizer, gamma=0.9)
for epoch in range(6):
    for batch in data.split(16):
        reconstruction, divergence = loss_of(batch, *vae(batch))
        optimizer.zero_grad()
        (reconstruction + divergence).backward()
        optimizer.step()
    schedule.step()
    print(f"{epoch} {reconstruction.item():.4f} {divergence.item():.4f} lr {schedule.get_last_lr()[0]:.6f}")
with torch.no_grad():
    print(vae.decode(torch.zeros(1, 2)).round(decimals=3))
