"""ema-pytorch: a moving average of a model, its copy, and its state."""

import torch
from ema_pytorch import EMA

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8), torch.nn.Linear(8, 1))
ema = EMA(model, beta=0.9, update_after_step=2, update_every=1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
x = torch.randn(16, 4)
for _ in range(6):
    loss = (model(x) - x.sum(1, keepdim=True)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    ema.update()
    print(f"{loss.item():.5f} {ema.get_current_decay():.4f} {ema.ema_model[0].weight.sum().item():.5f}")
ema.eval()
print(f"{ema(x).sum().item():.5f}", len(ema.state_dict()))
