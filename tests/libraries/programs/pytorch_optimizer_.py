"""pytorch_optimizer: seven optimizers and a schedule."""

import pytorch_optimizer
import torch

x = torch.linspace(-1, 1, 32)[:, None]
for name in ("AdaBelief", "Adan", "LAMB", "Prodigy", "Ranger21", "DAdaptAdam", "MADGRAD"):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    kind = pytorch_optimizer.load_optimizer(name)
    options = {"num_iterations": 10} if name == "Ranger21" else {}
    optimizer = kind(model.parameters(), lr=1e-2, **options)
    for _ in range(6):
        loss = (model(x) - x.sin()).square().mean()
        optimizer.zero_grad()
        loss.backward(create_graph=getattr(optimizer, "requires_create_graph", False))
        optimizer.step()
    print(name, f"{loss.item():.5f}")
base = torch.optim.SGD(model.parameters(), lr=0.1)
schedule = pytorch_optimizer.get_wsd_schedule(base, 2, 4, 4)
for _ in range(8):
    base.step()
    schedule.step()
    print(f"{schedule.get_last_lr()[0]:.4f}")
