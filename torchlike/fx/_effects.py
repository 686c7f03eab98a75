"""Which functions do more than compute their result: a graph must keep a call of one that nothing uses."""

from __future__ import annotations

import operator
from typing import Any

from .._ops import OpOverload, OpOverloadPacket
from ._targets import is_from_torch

__all__ = ["has_effect", "side_effectful_functions"]

side_effectful_functions: set[Any] = {operator.setitem}

# Functions of torch's that check something or switch a mode, by their names, since those who have them are in layers above.
_EFFECTS = frozenset(
    ["_assert", "_assert_async", "_assert_scalar", "_assert_tensor_metadata", "_enter_autocast", "_exit_autocast",
     "_set_grad_enabled"]
)  # fmt: skip
# Those of PyTorch's functions that stay because they draw; dropout goes.
_RANDOM = frozenset(
    ["bernoulli", "multinomial", "normal", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
     "randperm"]
)  # fmt: skip


def has_effect(target: Any, random_counts: bool) -> bool:
    """Whether a call of it writes to an argument, draws random numbers, checks something or switches a mode.

    Args:
        random_counts: whether operators of ``torch.ops`` that draw random numbers count.
    """
    if target in side_effectful_functions:
        return True
    if isinstance(target, OpOverloadPacket):
        target = getattr(target, "default", target)
    if isinstance(target, OpOverload):
        return target in side_effectful_functions or _writes_or_draws(target, random_counts)
    return getattr(target, "__name__", "") in _EFFECTS | _RANDOM and is_from_torch(target)


def _writes_or_draws(target: OpOverload, random_counts: bool) -> bool:
    name = str(target).split(".")[1]
    if name in _EFFECTS:
        return True
    try:
        schema = target._schema
    except NotImplementedError:  # not recorded: an operator in place has a name of that form
        return name.endswith("_")
    if schema.is_mutable:
        return True
    # Dropout draws without a form that takes a generator, by itself and in attention and recurrent layers.
    takes = any("Generator" in each.type or each.name.startswith("dropout") for each in schema.arguments)
    return random_counts and (takes or "dropout" in name or name in _RANDOM)
