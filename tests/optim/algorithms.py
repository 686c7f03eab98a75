"""Every optimiser as a row, which meets all tests of `test_algorithms.py`, and the small problem they solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

# Name of the row -> class in `torch.optim`, arguments.
ALGORITHMS: dict[str, tuple[str, dict[str, Any]]] = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD_momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD_dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "weight_decay": 0.1}),
    "SGD_nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD_maximize": ("SGD", {"lr": 0.01, "maximize": True, "weight_decay": 0.1}),
    "Adam": ("Adam", {"lr": 0.05}),
    "Adam_decay": ("Adam", {"lr": 0.05, "weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    "Adam_amsgrad": ("Adam", {"lr": 0.05, "amsgrad": True}),
    "Adam_maximize": ("Adam", {"lr": 0.01, "maximize": True}),
    "AdamW": ("AdamW", {"lr": 0.05}),
    "AdamW_amsgrad": ("AdamW", {"lr": 0.05, "amsgrad": True, "weight_decay": 0.2}),
}

STEPS = 20
SHAPES = ((4, 8), (8,), (8, 3), (3,))


def problem(torch: Any, dtype: str) -> tuple[list[Any], Callable[[], Any]]:
    """Parameters of two layers, and their loss on fixed data."""
    rng = np.random.default_rng(0)
    params = [torch.tensor(rng.uniform(-0.5, 0.5, s).astype(dtype)).requires_grad_() for s in SHAPES]
    x, y = (torch.tensor(rng.uniform(-1, 1, s).astype(dtype)) for s in ((16, 4), (16, 3)))

    def loss() -> Any:
        hidden = torch.tanh(x @ params[0] + params[1])
        return ((hidden @ params[2] + params[3] - y) ** 2).mean()

    return params, loss


def bowl(torch: Any) -> tuple[list[Any], Callable[[], Any]]:
    """A problem that compiles quickly: two parameters, the sum of whose squares is the loss."""
    params = [torch.tensor([1.0, -2.0]).requires_grad_(), torch.tensor([0.5]).requires_grad_()]
    return params, lambda: (params[0] ** 2).sum() + (params[1] ** 2).sum()


def make(torch: Any, name: str, params: Any) -> Any:
    """The optimiser of a row."""
    kind, arguments = ALGORITHMS[name]
    return getattr(torch.optim, kind)(params, **arguments)


def train(optimizer: Any, loss: Callable[[], Any], steps: int) -> None:
    for _ in range(steps):
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()


def run(torch: Any, name: str, dtype: str, numpy: Callable[[Any], Any]) -> dict[str, Any]:
    """Parameters and state after some steps, as arrays by name."""
    params, loss = problem(torch, dtype)
    optimizer = make(torch, name, params)
    train(optimizer, loss, STEPS)
    found = {f"param{i}": numpy(p.detach()) for i, p in enumerate(params)}
    for i, state in optimizer.state_dict()["state"].items():
        found |= {f"state{i}.{key}": numpy(value) for key, value in state.items()}
    return found
