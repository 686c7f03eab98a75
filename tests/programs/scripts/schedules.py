"""Learning rates by several schedules, parameter groups, mixed precision on the CPU with a gradient scaler, accumulated gradients."""

import torch
from torch.amp import GradScaler, autocast
from torch.optim.lr_scheduler import CosineAnnealingLR, LambdaLR, LinearLR, OneCycleLR, ReduceLROnPlateau, SequentialLR

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 1))
x, y = torch.randn(64, 8), torch.randn(64, 1)
groups = [{"params": model[0].parameters(), "lr": 0.02}, {"params": model[2].parameters(), "weight_decay": 0.01}]
optimizer = torch.optim.SGD(groups, lr=0.05, momentum=0.9, nesterov=True)
warm = LinearLR(optimizer, start_factor=0.25, total_iters=3)
schedule = SequentialLR(optimizer, [warm, CosineAnnealingLR(optimizer, T_max=6)], milestones=[3])
scaler = GradScaler("cpu", init_scale=128.0, enabled=True)
for step in range(8):
    optimizer.zero_grad()
    for part in range(2):
        with autocast("cpu", dtype=torch.bfloat16):
            out = model(x[part::2])
            loss = torch.nn.functional.mse_loss(out.float(), y[part::2]) / 2
        scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    schedule.step()
    print(out.dtype, f"{loss.item():.2f}", [f"{rate:.5f}" for rate in schedule.get_last_lr()])


def rates(make, steps, *args):
    optimizer = torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    made = make(optimizer)
    found = []
    for step in range(steps):
        optimizer.step()
        made.step(*(each[step] for each in args))
        found.append(round(optimizer.param_groups[0]["lr"], 6))
    return found


print(rates(lambda o: OneCycleLR(o, max_lr=1.0, total_steps=8), 7))
print(rates(lambda o: LambdaLR(o, lambda epoch: 0.9**epoch), 4))
print(rates(lambda o: ReduceLROnPlateau(o, factor=0.5, patience=1), 6, [1.0, 0.9, 0.95, 0.95, 0.95, 0.8]))
