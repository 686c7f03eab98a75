"""torchquad: integrals by Simpson's rule, Monte Carlo and VEGAS."""

import torch
from torchquad import Boole, MonteCarlo, Simpson, Trapezoid, set_up_backend

set_up_backend("torch", data_type="float64")
torch.set_default_device("cpu")


def f(x):
    return torch.sin(x[:, 0]) + torch.exp(x[:, 1])


domain = [[0, 1], [-1, 1]]
for rule in (Trapezoid(), Simpson(), Boole()):
    print(type(rule).__name__, f"{rule.integrate(f, dim=2, N=1001, integration_domain=domain).item():.6f}")
print(f"{MonteCarlo().integrate(f, dim=2, N=2000, integration_domain=domain, seed=3, backend='torch').item():.5f}")
bounds = torch.tensor([[0.0, 1.0], [-1.0, 1.0]], requires_grad=True)
result = Simpson().integrate(f, dim=2, N=901, integration_domain=bounds)
result.backward()
print(f"{result.item():.5f}", [f"{v:.4f}" for v in bounds.grad.flatten().tolist()])
