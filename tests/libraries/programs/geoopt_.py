"""geoopt: optimization on the sphere, in the Poincare ball and of orthogonal matrices."""

import geoopt
import torch

torch.manual_seed(0)
sphere = geoopt.ManifoldParameter(torch.randn(5), manifold=geoopt.Sphere())
with torch.no_grad():
    sphere.proj_()
matrix = torch.randn(5, 5)
matrix = matrix + matrix.T
optimizer = geoopt.optim.RiemannianAdam([sphere], lr=0.1)
for _ in range(6):
    loss = -sphere @ matrix @ sphere
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {sphere.norm().item():.5f}")
ball = geoopt.PoincareBall(c=1.0)
a, b = ball.expmap0(torch.randn(4, 3) * 0.3), ball.expmap0(torch.randn(4, 3) * 0.3)
print([f"{v:.4f}" for v in ball.dist(a, b).tolist()], f"{ball.mobius_add(a, b).sum().item():.5f}")
w = geoopt.ManifoldParameter(torch.linalg.qr(torch.randn(4, 2))[0], manifold=geoopt.Stiefel())
optimizer = geoopt.optim.RiemannianSGD([w], lr=0.05, momentum=0.9)
for _ in range(4):
    loss = (w.T @ matrix[:4, :4] @ w).trace()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {(w.T @ w - torch.eye(2)).abs().max().item() < 1e-4}")
