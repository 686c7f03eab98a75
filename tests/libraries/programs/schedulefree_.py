"""schedulefree: optimizers without a schedule, in training and evaluation."""

import schedulefree
import torch

x = torch.linspace(-1, 1, 32)[:, None]
for kind, options in (
    (schedulefree.AdamWScheduleFree, {"lr": 0.02, "warmup_steps": 2}),
    (schedulefree.SGDScheduleFree, {"lr": 0.5}),
    (schedulefree.RAdamScheduleFree, {"lr": 0.02}),
):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(1, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    optimizer = kind(model.parameters(), **options)
    optimizer.train()
    for _ in range(6):
        loss = (model(x) - x.sin()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    optimizer.eval()
    print(kind.__name__, f"{loss.item():.5f} {(model(x) - x.sin()).square().mean().item():.5f}")
