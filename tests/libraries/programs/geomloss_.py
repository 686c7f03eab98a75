"""geomloss: distances between clouds of points, with gradients."""

import torch
from geomloss import SamplesLoss

torch.manual_seed(0)
x, y = torch.randn(30, 2, requires_grad=True), torch.randn(25, 2) + 1
for kind in ("sinkhorn", "energy", "gaussian", "laplacian"):
    loss = SamplesLoss(kind, p=2, blur=0.1, backend="tensorized")(x, y)
    (gradient,) = torch.autograd.grad(loss, x)
    print(kind, f"{loss.item():.5f} {gradient.norm().item():.5f}")
debiased = SamplesLoss("sinkhorn", p=1, blur=0.05, scaling=0.7, debias=False, backend="tensorized")
print(f"{debiased(torch.full((30,), 1 / 30), x, torch.full((25,), 1 / 25), y).item():.5f}")
