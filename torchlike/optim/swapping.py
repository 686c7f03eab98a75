"""A context in which an optimizer works with other parameters and another state."""

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
    """Replaces the parameters and the state of an optimizer inside the context, and restores its own afterwards.

    Args:
        optimizer: an optimizer that has a state.
        swapin_parameters: tensors in the order of the optimizer's parameters.
        swapin_optim_state: a state in the format of ``optimizer.state_dict()``. A step changes its tensors: they are not copied.

    Raises:
        RuntimeError: the optimizer has no state, or the parameters or the state do not fit its groups.

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
    own_groups, own_state = optimizer.param_groups, optimizer.state
    if len(groups) != len(own_groups):
        raise RuntimeError("swapin_optim_state has a different number of parameter groups than the live optimizer.")
    tensors = list(swapin_parameters.values())
    if len(tensors) != sum(len(group["params"]) for group in own_groups):
        raise RuntimeError(f"{name} requires the explicit parameter state to match optimizer.param_groups ordering.")
    remaining, param_of_number, new_groups = iter(tensors), {}, []
    for group, other in zip(own_groups, groups, strict=True):
        if len(other["params"]) != len(group["params"]):
            raise RuntimeError(
                f"{name} requires the explicit parameter state to match optimizer.param_groups ordering."
            )
        params = [next(remaining) for _ in other["params"]]
        param_of_number |= dict(zip(other["params"], params, strict=True))
        new_groups.append(other | {"params": params})
    new_state = defaultdict(dict)
    for key, own in swapin_optim_state["state"].items():
        new_state[param_of_number.get(key, key)] = dict(own)
    optimizer.param_groups, optimizer.state = new_groups, new_state
    try:
        yield
    finally:
        optimizer.param_groups, optimizer.state = own_groups, own_state
