"""torchsde: a stochastic differential equation with learned drift and diffusion, solved and trained."""

import torch
import torchsde

torch.manual_seed(0)


class Equation(torch.nn.Module):
    noise_type, sde_type = "diagonal", "ito"

    def __init__(self):
        super().__init__()
        self.drift = torch.nn.Sequential(torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 3))
        self.size = torch.nn.Parameter(torch.full((3,), 0.1))

    def f(self, t, y):
        return self.drift(y) * torch.cos(t)

    def g(self, t, y):
        return self.size.expand_as(y)


sde = Equation()
optimizer = torch.optim.Adam(sde.parameters(), lr=1e-2)
ts = torch.linspace(0, 1, 6)
for step in range(4):
    noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(8, 3), entropy=step)
    ys = torchsde.sdeint(sde, torch.ones(8, 3), ts, bm=noise, method="euler", dt=0.1)
    loss = (ys[-1] - 2).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(tuple(ys.shape), f"{loss.item():.5f} {sde.size.grad.sum().item():.5f}")
noise = torchsde.BrownianInterval(t0=0.0, t1=1.0, size=(4, 3), entropy=9, levy_area_approximation="space-time")
print(f"{torchsde.sdeint(sde, torch.ones(4, 3), ts, bm=noise, method='srk', dt=0.1)[-1].mean().item():.5f}")
