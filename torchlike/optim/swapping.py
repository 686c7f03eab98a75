"""Parameters and state of an optimizer replaced for a while."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from .optimizer import Optimizer

__all__ = ["swap_in_optimizer_params_and_state"]


@contextmanager
def swap_in_optimizer_params_and_state(
    optimizer: Optimizer, swapin_parameters: Mapping[str, object], swapin_optim_state: dict[str, Any]
) -> Iterator[None]:
    """Inside the context the optimizer has other parameters and another state; afterwards its own again.

    Args:
        optimizer: one that has a state.
        swapin_parameters: tensors in the order of the optimizer's.
        swapin_optim_state: as ``optimizer.state_dict()`` is; its tensors are used as they are, and so changed by a step.

    Raises:
        RuntimeError: the optimizer has no state, or what is given does not fit its groups.

    >>> w = torch.nn.Parameter(torch.ones(1))
    >>> optimizer = torch.optim.Adam([w], lr=0.1)
    >>> w.grad = torch.ones(1)
    >>> optimizer.step()
    >>> other = torch.nn.Parameter(torch.zeros(1))
    >>> with torch.optim.swap_in_optimizer_params_and_state(optimizer, {"w": other}, optimizer.state_dict()):
    ...     optimizer.param_groups[0]["params"][0] is other
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.swap_in_optimizer_params_and_state.html
    """
    name = "swap_in_optimizer_params_and_state"
    if not optimizer.state:
        raise RuntimeError(f"{name} requires initialized optimizer state.")
    groups = swapin_optim_state.get("param_groups")
    if not isinstance(groups, list):
        raise RuntimeError(
            f"{name} requires swapin_optim_state['param_groups'] to be a list of param-group dicts, got "
            f"{type(groups).__name__}."
        )
    mine, state = optimizer.param_groups, optimizer.state
    if len(groups) != len(mine):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    given = list(swapin_parameters.values())
    if len(given) != sum(len(group["params"]) for group in mine):
        raise RuntimeError(f"{name} requires the explicit parameter state to match optimizer.param_groups ordering.")
    remaining, by_number, swapped = iter(given), {}, []
    for group, other in zip(mine, groups, strict=True):
        if len(other["params"]) != len(group["params"]):
            raise RuntimeError(
                f"{name} requires the explicit parameter state to match optimizer.param_groups ordering."
            )
        params = [next(remaining) for _ in other["params"]]
        by_number |= dict(zip(other["params"], params, strict=True))
        swapped.append(other | {"params": params})
    inside = defaultdict(dict)
    for key, own in swapin_optim_state["state"].items():
        inside[by_number.get(key, key)] = dict(own)
    optimizer.param_groups, optimizer.state = swapped, inside
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = mine, state
