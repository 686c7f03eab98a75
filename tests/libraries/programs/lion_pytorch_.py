"""lion-pytorch: the optimizer Lion."""

import torch
from lion_pytorch import Lion

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.GELU(), torch.nn.Linear(16, 2))
optimizer = Lion(model.parameters(), lr=1e-3, weight_decay=1e-2, decoupled_weight_decay=True)
x, y = torch.randn(32, 4), torch.randint(0, 2, (32,))
for _ in range(6):
    loss = torch.nn.functional.cross_entropy(model(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f} {model[0].weight.sum().item():.5f}")
