"""higher: MAML, whose outer loss differentiates through steps of an optimizer."""

import higher
import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
outer = torch.optim.Adam(model.parameters(), lr=1e-2)
inner = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.5)
x = torch.linspace(-1, 1, 20)[:, None]
for _ in range(4):
    outer.zero_grad()
    total = 0.0
    for phase in (0.0, 1.0):
        target = torch.sin(3 * x + phase)
        with higher.innerloop_ctx(model, inner, copy_initial_weights=False) as (fast, optimizer):
            for _ in range(3):
                optimizer.step((fast(x[::2]) - target[::2]).square().mean())
            loss = (fast(x[1::2]) - target[1::2]).square().mean()
            loss.backward()
            total += loss.item()
    outer.step()
    print(f"{total:.5f} {model[0].weight.grad.abs().sum().item():.5f}")
