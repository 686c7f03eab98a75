"""A classifier of points on spirals: Sequential, CrossEntropyLoss, Adam."""

import torch
from torch import nn

torch.manual_seed(0)
classes, each = 3, 60
turn = torch.linspace(0.0, 1.0, each)
angles = torch.cat([4 * turn + 2.1 * k + 0.1 * torch.randn(each) for k in range(classes)])
X = turn.repeat(classes).unsqueeze(1) * torch.stack([angles.sin(), angles.cos()], 1)
y = torch.arange(classes).repeat_interleave(each)

model = nn.Sequential(nn.Linear(2, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, classes))
loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.Adam(model.parameters(), lr=1e-2)
print(model)
for step in range(60):
    loss = loss_fn(model(X), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 15 == 0:
        print(f"step {step:3d}  loss {loss.item():.5f}")
with torch.no_grad():
    accuracy = (model(X).argmax(1) == y).float().mean()
print(f"accuracy {accuracy.item():.2f}, parameters {sum(p.numel() for p in model.parameters())}")
