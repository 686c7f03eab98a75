"""A table of all learning rate schedules, and the options of the groups after each step."""

from __future__ import annotations

import warnings
from typing import Any

# Name of the row -> class in `torch.optim.lr_scheduler`, arguments.
SCHEDULES: dict[str, tuple[str, dict[str, Any]]] = {
    "StepLR": ("StepLR", {"step_size": 3}),
    "MultiStepLR": ("MultiStepLR", {"milestones": [2, 5, 5]}),
    "ConstantLR": ("ConstantLR", {"factor": 0.5, "total_iters": 3}),
    "LinearLR": ("LinearLR", {}),
    "ExponentialLR": ("ExponentialLR", {"gamma": 0.9}),
    "PolynomialLR": ("PolynomialLR", {"power": 2.0}),
    "CosineAnnealingLR": ("CosineAnnealingLR", {"T_max": 4, "eta_min": 0.01}),
    "CosineAnnealingWarmRestarts": ("CosineAnnealingWarmRestarts", {"T_0": 2, "T_mult": 2}),
    "CyclicLR": ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.3, "step_size_up": 3}),
    "CyclicLR_triangular2": ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.3, "step_size_up": 2, "step_size_down": 1, "mode": "triangular2"}),
    "CyclicLR_exp_range": ("CyclicLR", {"base_lr": 0.1, "max_lr": 0.3, "step_size_up": 3, "mode": "exp_range", "gamma": 0.9}),
    "OneCycleLR": ("OneCycleLR", {"max_lr": 0.5, "total_steps": 12}),
    "OneCycleLR_linear": (
        "OneCycleLR", {"max_lr": 0.5, "epochs": 3, "steps_per_epoch": 4, "three_phase": True, "anneal_strategy": "linear"},
    ),
    "LambdaLR": ("LambdaLR", {"lr_lambda": lambda epoch: 0.9**epoch}),
    "MultiplicativeLR": ("MultiplicativeLR", {"lr_lambda": lambda epoch: 0.9}),
}  # fmt: skip

STEPS = 11


def two_groups(torch: Any, kind: str) -> Any:
    first, second = torch.ones(2).requires_grad_(), torch.ones(1).requires_grad_()
    more = {"momentum": 0.9} if kind == "SGD" else {}
    return getattr(torch.optim, kind)([{"params": [first], "lr": 0.2}, {"params": [second]}], lr=0.1, **more)


def trace(optimizer: Any, scheduler: Any, steps: int, closed: bool = False) -> list[list[Any]]:
    """Returns the rate of each group, and its momentum or betas, after each step."""
    seen = []
    for epoch in range(steps):
        optimizer.step()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch warns about the old way of stepping
            scheduler.step(*([epoch] if closed else []))
        seen.append([[g["lr"], g.get("momentum", g.get("betas"))] for g in optimizer.param_groups])
    return seen


def run(torch: Any, name: str, kind: str = "SGD", closed: bool = False) -> Any:
    schedule, arguments = SCHEDULES[name]
    optimizer = two_groups(torch, kind)
    return trace(optimizer, getattr(torch.optim.lr_scheduler, schedule)(optimizer, **arguments), STEPS, closed)


def composed(torch: Any) -> Any:
    """Returns the rates under schedules that run in sequence, that run at once, and that follow a number."""
    schedules = torch.optim.lr_scheduler
    optimizer = two_groups(torch, "SGD")
    parts = [schedules.LinearLR(optimizer, total_iters=3), schedules.ExponentialLR(optimizer, 0.9), schedules.CosineAnnealingLR(optimizer, 4)]  # fmt: skip  # noqa: E501
    seen = {"SequentialLR": trace(optimizer, schedules.SequentialLR(optimizer, parts, [3, 6]), STEPS)}
    optimizer = two_groups(torch, "SGD")
    parts = [schedules.ConstantLR(optimizer, 0.1, 2), schedules.ExponentialLR(optimizer, 0.9)]
    seen["ChainedScheduler"] = trace(optimizer, schedules.ChainedScheduler(parts), STEPS)
    for mode, threshold_mode in (("min", "rel"), ("max", "abs")):
        optimizer = two_groups(torch, "SGD")
        scheduler = schedules.ReduceLROnPlateau(optimizer, mode, patience=1, cooldown=1, threshold_mode=threshold_mode)
        rates = seen[f"ReduceLROnPlateau_{mode}"] = []
        for metric in [5, 4, 4, 4, 4, 6, 7, 7, 7, 3, 3, 3]:
            optimizer.step()
            scheduler.step(metric)
            rates.append([scheduler.get_last_lr(), scheduler.num_bad_epochs])
    return seen


OPTIMIZERS = ("SGD", "Adam")


def everything(torch: Any) -> dict[str, Any]:
    rates = {
        f"{name}/{kind}/{closed}": run(torch, name, kind, closed)
        for name in SCHEDULES
        for kind in OPTIMIZERS
        for closed in (False, True)
    }
    return rates | composed(torch)
