"""Averaged models and their schedule, for PyTorch's recording and for torchlike."""

from __future__ import annotations

from typing import Any

import numpy as np


def model(torch: Any) -> Any:
    made = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    rng = np.random.default_rng(0)
    with torch.no_grad():
        for param in made.parameters():
            param.copy_(torch.tensor(rng.normal(size=tuple(param.shape)).astype("float32")))
    return made


def averaged(torch: Any, kind: str) -> list[Any]:
    """Returns the state of an average after three updates, with the batch statistics computed anew at the end."""
    utils, source = torch.optim.swa_utils, model(torch)
    arguments = {
        "plain": {},
        "ema": {"avg_fn": utils.get_ema_avg_fn(0.9)},
        "ema_multi": {"multi_avg_fn": utils.get_ema_multi_avg_fn(0.9), "use_buffers": True},
        "swa_multi": {"multi_avg_fn": utils.get_swa_multi_avg_fn()},
    }[kind]
    mean, rng = utils.AveragedModel(source, **arguments), np.random.default_rng(1)
    data = [torch.tensor(rng.normal(size=(4, 2)).astype("float32")) for _ in range(3)]
    for batch in data:
        with torch.no_grad():
            for param in source.parameters():
                param.mul_(1.5)
        source(batch)
        mean.update_parameters(source)
    found = [[name, value.tolist()] for name, value in mean.state_dict().items()]
    utils.update_bn([(batch, None) for batch in data], mean)
    return [*found, mean.module[1].running_mean.tolist(), mean.module[1].running_var.tolist(), mean.module[1].momentum]


def rates(torch: Any, strategy: str, epochs: int) -> list[Any]:
    """Returns the rates of two groups under SWALR, which replaces another schedule."""
    params = [{"params": [torch.ones(1).requires_grad_()], "lr": lr} for lr in (0.1, 0.3)]
    optimizer, seen = torch.optim.SGD(params), []
    first = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
    second = torch.optim.swa_utils.SWALR(optimizer, [0.05, 0.2], epochs, strategy)
    for step in range(7):
        optimizer.step()
        (second if step > 1 else first).step()
        seen.append([group["lr"] for group in optimizer.param_groups])
    return seen


KINDS = ("plain", "ema", "ema_multi", "swa_multi")
STRATEGIES = (("cos", 3), ("linear", 3), ("cos", 0), ("linear", 10))


def everything(torch: Any) -> dict[str, Any]:
    return {kind: averaged(torch, kind) for kind in KINDS} | {f"{s}/{n}": rates(torch, s, n) for s, n in STRATEGIES}
