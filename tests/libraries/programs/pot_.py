"""POT: optimal transport, exact, entropic and sliced, with gradients through it."""

import ot
import torch

torch.manual_seed(0)
x, y = torch.randn(20, 2, dtype=torch.float64, requires_grad=True), torch.randn(15, 2, dtype=torch.float64) + 1
a, b = torch.full((20,), 1 / 20, dtype=torch.float64), torch.full((15,), 1 / 15, dtype=torch.float64)
cost = ot.dist(x, y)
exact = ot.emd2(a, b, cost)
exact.backward()
print(f"{exact.item():.5f} {x.grad.norm().item():.5f} {ot.emd(a, b, cost.detach()).sum().item():.4f}")
entropic = ot.sinkhorn2(a, b, cost, 0.5)
print(f"{entropic.item():.5f}")
print(f"{ot.sliced_wasserstein_distance(x.detach(), y, n_projections=20, seed=1).item():.5f}")
print(f"{ot.solve(cost.detach(), a, b, reg=1.0).value.item():.5f}")
gromov = ot.gromov_wasserstein2(ot.dist(x, x).detach()[:15, :15], ot.dist(y, y), b, b)
print(f"{float(gromov):.4f}")
