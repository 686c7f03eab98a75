"""norse: layers of leaky integrate-and-fire neurons over time, trained through their spikes."""

import norse.torch as norse
import torch

torch.manual_seed(0)
model = norse.SequentialState(
    torch.nn.Linear(4, 12), norse.LIFCell(norse.LIFParameters(alpha=100.0)), torch.nn.Linear(12, 2), norse.LICell()
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
data, target = (torch.rand(20, 8, 4) < 0.5).float() * 4, torch.randint(0, 2, (8,))
for _ in range(4):
    state, outputs = None, []
    for step in data:
        out, state = model(step, state)
        outputs.append(out)
    loss = torch.nn.functional.cross_entropy(torch.stack(outputs).max(0)[0], target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {outputs[-1].sum().item():.5f}")
spikes, state = norse.LIF()(torch.ones(30, 3) * 5)
print(spikes.sum().item(), f"{state.v.sum().item():.4f}")
