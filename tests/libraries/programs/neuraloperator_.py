"""neuraloperator: Fourier neural operators in one and two dimensions, factorised too, trained with its losses."""

import torch
from neuralop.losses import H1Loss, LpLoss
from neuralop.models import FNO, TFNO

torch.manual_seed(0)
x = torch.randn(4, 1, 16, 16)
y = x.roll(1, -1) * 0.5
model = FNO(n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2)
optimizer = torch.optim.Adam(model.parameters(), 1e-2)
for loss_of in (LpLoss(d=2, p=2), H1Loss(d=2)) * 2:
    loss = loss_of(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.4f}")
print(f"{model(torch.randn(2, 1, 24, 24)).shape}")
line = FNO(n_modes=(8,), hidden_channels=6, in_channels=2, out_channels=1, n_layers=2, positional_embedding=None)
out = line(torch.randn(3, 2, 32))
out.square().mean().backward()
print(out.shape, f"{out.sum().item():.4f}", sum(p.grad is not None for p in line.parameters()))
small = TFNO(
    n_modes=(6, 6), hidden_channels=8, in_channels=1, out_channels=1, n_layers=2, factorization="tucker", rank=0.5
)
print(sum(p.numel() for p in small.parameters()), small(x).shape)
