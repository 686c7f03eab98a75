"""A generative adversarial network: two optimizers, detach, weights by apply, spectral normalization."""

import torch
import torch.nn as nn
from torch.nn.utils import parametrizations


def init(module):
    if type(module) is nn.Linear:
        nn.init.xavier_uniform_(module.weight)
        nn.init.zeros_(module.bias)


torch.manual_seed(3)
generator = nn.Sequential(nn.Linear(4, 16), nn.LeakyReLU(0.2), nn.BatchNorm1d(16), nn.Linear(16, 2)).apply(init)
critic = nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1)).apply(init)
parametrizations.spectral_norm(critic[0])
g_opt = torch.optim.Adam(generator.parameters(), lr=2e-3, betas=(0.5, 0.999))
d_opt = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.5, 0.999))
bce = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(32, 1), torch.zeros(32, 1)
for step in range(24):
    real = torch.randn(32, 2) * torch.tensor([0.5, 0.1]) + torch.tensor([1.0, -1.0])
    fake = generator(torch.randn(32, 4))
    d_opt.zero_grad()
    d_loss = bce(critic(real), 0.9 * ones) + bce(critic(fake.detach()), zeros)
    d_loss.backward()
    d_opt.step()
    g_opt.zero_grad()
    g_loss = bce(critic(fake), ones)
    g_loss.backward()
    g_opt.step()
    if step % 6 == 0:
        print(f"[{step:2d}] D {d_loss.item():.4f} G {g_loss.item():.4f}")
print(generator.eval()(torch.randn(500, 4)).mean(0).detach().numpy().round(3))
