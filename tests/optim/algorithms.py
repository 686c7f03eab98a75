"""A table of all optimizers for `test_algorithms.py`, and the small problems that they solve."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

DTYPES = ("float32", "float64")

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
    "Adadelta": ("Adadelta", {}),
    "Adadelta_decay": ("Adadelta", {"lr": 2.0, "rho": 0.99, "eps": 1e-3, "weight_decay": 0.1}),
    "Adagrad": ("Adagrad", {"lr": 0.1}),
    "Adagrad_decay": ("Adagrad", {"lr": 0.1, "lr_decay": 0.2, "weight_decay": 0.1, "initial_accumulator_value": 0.1, "eps": 1e-3}),
    "Adagrad_maximize": ("Adagrad", {"lr": 0.01, "maximize": True}),
    "Adamax": ("Adamax", {"lr": 0.05}),
    "Adamax_decay": ("Adamax", {"lr": 0.05, "betas": (0.8, 0.99), "weight_decay": 0.1}),
    "Adadelta_maximize": ("Adadelta", {"maximize": True}),
    "NAdam": ("NAdam", {"lr": 0.05}),
    "NAdam_decay": ("NAdam", {"lr": 0.05, "betas": (0.8, 0.99), "momentum_decay": 0.1, "weight_decay": 0.1}),
    "NAdam_decoupled": ("NAdam", {"lr": 0.01, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    "RAdam": ("RAdam", {"lr": 0.05}),
    "RAdam_decay": ("RAdam", {"lr": 0.05, "betas": (0.8, 0.99), "eps": 1e-3, "weight_decay": 0.1}),
    "RAdam_decoupled": ("RAdam", {"lr": 0.05, "weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    "RMSprop": ("RMSprop", {"lr": 0.01}),
    "RMSprop_momentum": ("RMSprop", {"lr": 0.01, "alpha": 0.9, "eps": 0.1, "momentum": 0.9, "weight_decay": 0.1}),
    "RMSprop_centered": ("RMSprop", {"lr": 0.001, "eps": 0.1, "centered": True, "momentum": 0.5, "maximize": True}),
    "Rprop": ("Rprop", {"lr": 0.01}),
    "Rprop_narrow": ("Rprop", {"lr": 0.01, "etas": (0.4, 1.1), "step_sizes": (1e-3, 0.1), "maximize": True}),
    "ASGD": ("ASGD", {"lr": 0.1}),
    "ASGD_averaging": ("ASGD", {"lr": 0.1, "t0": 5, "lambd": 0.1, "alpha": 0.5, "weight_decay": 0.1}),
    "ASGD_maximize": ("ASGD", {"lr": 0.01, "t0": 5, "maximize": True}),
    "Adafactor": ("Adafactor", {"lr": 0.03}),
    "Adafactor_decay": ("Adafactor", {"lr": 1.0, "beta2_decay": -0.5, "eps": (1e-4, 0.1), "weight_decay": 0.1}),
    "Adafactor_maximize": ("Adafactor", {"lr": 0.01, "d": 2.0, "maximize": True}),
    "Muon": ("Muon", {"lr": 0.01}),
    "Muon_plain": ("Muon", {"lr": 0.01, "nesterov": False, "momentum": 0.8, "ns_steps": 3, "adjust_lr_fn": "match_rms_adamw"}),
}  # fmt: skip

STEPS = 20
SHAPES = ((4, 8), (8,), (8, 3), (3,))


def problem(torch: Any, dtype: str) -> tuple[list[Any], Callable[[], Any]]:
    """Returns parameters of two layers, and their loss on fixed data."""
    rng = np.random.default_rng(0)
    params = [torch.tensor(rng.uniform(-0.5, 0.5, s).astype(dtype)).requires_grad_() for s in SHAPES]
    x, y = (torch.tensor(rng.uniform(-1, 1, s).astype(dtype)) for s in ((16, 4), (16, 3)))

    def loss() -> Any:
        hidden = torch.tanh(x @ params[0] + params[1])
        return ((hidden @ params[2] + params[3] - y) ** 2).mean()

    return params, loss


def bowl(torch: Any) -> tuple[list[Any], Callable[[], Any]]:
    """Returns a problem that compiles quickly: two matrices, the sum of whose squares is the loss."""
    params = [torch.tensor([[1.0, -2.0]]).requires_grad_(), torch.tensor([[0.5]]).requires_grad_()]
    return params, lambda: (params[0] ** 2).sum() + (params[1] ** 2).sum()


def make(torch: Any, name: str, params: Any) -> Any:
    """Makes the optimizer of a row."""
    kind, arguments = ALGORITHMS[name]
    return getattr(torch.optim, kind)(params, **arguments)


def train(optimizer: Any, loss: Callable[[], Any], steps: int) -> None:
    for _ in range(steps):
        loss().backward()
        optimizer.step()
        optimizer.zero_grad()


def run(torch: Any, name: str, dtype: str, numpy: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns parameters and state after some steps, as arrays by name."""
    params, loss = problem(torch, dtype)
    matrices = ALGORITHMS[name][0] == "Muon"  # Muon takes matrices only
    optimizer = make(torch, name, [p for p in params if p.dim() == 2 or not matrices])
    train(optimizer, loss, STEPS)
    found = {f"param{i}": numpy(p.detach()) for i, p in enumerate(params)}
    for i, state in optimizer.state_dict()["state"].items():
        found |= {f"state{i}.{key}": numpy(value) for key, value in state.items()}
    return found


# State keeps its dtype if the parameter's dtype changes between two steps, or else PyTorch refuses the step.
OTHER_DTYPES = ("double", "half")
FUSED: dict[str, tuple[str, dict[str, Any]]] = {
    "fused Adam": ("Adam", {"fused": True}),
    "fused SGD": ("SGD", {"fused": True, "momentum": 0.9}),
    "fused SGD without state": ("SGD", {"fused": True}),
    "fused Adagrad": ("Adagrad", {"fused": True}),
    "LBFGS": ("LBFGS", {}),
}


def run_in_other_dtype(torch: Any, name: str, change: str) -> Any:
    """Returns dtypes and numbers of a parameter and its state after two steps in float32 and two in another dtype, or the error."""
    kind, arguments = (ALGORITHMS | FUSED)[name]
    layer = torch.nn.Linear(3, 2, bias=False)
    with torch.no_grad():
        layer.weight.copy_(torch.linspace(-1, 1, 6).view(2, 3))
    optimizer = getattr(torch.optim, kind)(layer.parameters(), **arguments)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = layer(torch.linspace(-1, 1, 12).view(4, 3).to(layer.weight.dtype)).pow(2).mean()
        loss.backward()
        return loss

    try:
        for number in range(4):
            if number == 2:
                getattr(layer, change)()
            optimizer.step(closure)
    except RuntimeError as error:
        return str(error)
    state = optimizer.state[layer.weight]
    tensors = {"param": layer.weight, **{name: x for name, x in state.items() if isinstance(x, torch.Tensor)}}
    return {key: [str(x.dtype)[6:], x.detach().double().flatten().tolist()] for key, x in tensors.items()}


def in_other_dtypes(torch: Any) -> dict[str, Any]:
    names = [*ALGORITHMS, *FUSED]
    return {f"{name}/{change}": run_in_other_dtype(torch, name, change) for name in names for change in OTHER_DTYPES}


# LBFGS needs a closure: name of the row -> arguments.
SEARCHES: dict[str, dict[str, Any]] = {
    "fixed": {"lr": 0.3},
    "strong_wolfe": {"lr": 0.3, "line_search_fn": "strong_wolfe"},
    "strong_wolfe_long": {"lr": 2, "line_search_fn": "strong_wolfe", "history_size": 5},
}


def valley(torch: Any, dtype: str, **arguments: Any) -> tuple[Any, list[Any], Callable[[], Any]]:
    """Returns LBFGS, its parameters and its closure, for a loss of fourth degree."""
    rng = np.random.default_rng(0)
    a, b = (torch.tensor(rng.uniform(-2, 2, s).astype(dtype)).requires_grad_() for s in ((3,), (2, 2)))
    optimizer = torch.optim.LBFGS([a, b], max_iter=6, **arguments)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = ((a - 3) ** 4).sum() + (a * a.roll(1)).sum() + (b @ b - 1).pow(2).sum() + b.sin().sum() * a.sum()
        loss.backward()
        return loss

    return optimizer, [a, b], closure


def run_search(torch: Any, name: str, dtype: str, numpy: Callable[[Any], Any]) -> dict[str, Any]:
    """Returns parameters and counts after some steps of LBFGS, as arrays by name."""
    optimizer, params, closure = valley(torch, dtype, **SEARCHES[name])
    losses = [optimizer.step(closure).item() for _ in range(3)]
    (state,) = optimizer.state_dict()["state"].values()
    counts = {key: np.asarray(state[key]) for key in ("func_evals", "n_iter")}
    found = {f"param{i}": numpy(p.detach()) for i, p in enumerate(params)}
    return found | counts | {"losses": np.asarray(losses), "d": numpy(state["d"]), "ro": np.asarray([float(r) for r in state["ro"]])}  # fmt: skip  # noqa: E501
