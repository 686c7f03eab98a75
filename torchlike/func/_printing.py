"""The text of a tensor within a function that is transformed: which transforms it takes part in, and all its examples."""

from __future__ import annotations

import textwrap
from typing import Any

from .._core.modes import modes
from .._core.sparse import FORMS
from .._core.tensor import Tensor, from_value
from .._core.vmapped import examples, levels_of

__all__: list[str] = []


def _in_progress() -> list[Any]:
    """The transforms in progress, outermost first: derivatives and mappings."""
    found, begun = [], 0
    for mapping in modes.vmaps:
        found += [*modes.derivatives[begun : mapping.derivatives], mapping]
        begun = mapping.derivatives
    return [*found, *modes.derivatives[begun:]]


def shown(tensor: Tensor) -> str:
    """PyTorch's text: a line for each transform that the tensor takes part in, around the tensor as it is outside."""
    value, wrappers = tensor._value(), []
    levels = levels_of(value.aval)
    for number, transform in enumerate(_in_progress(), 1):
        if transform in modes.vmaps:
            if transform in levels:  # its examples are along the first dimension that is not hidden by an older one
                wrappers.append(f"BatchedTensor(lvl={number}, bdim=0")
        elif tensor._tracked and transform.leads_here(tensor):
            wrappers.append(f"GradTrackingTensor(lvl={number}")
    if not wrappers:
        return tensor._shown()
    text = from_value(examples(value))._shown()
    for wrapper in wrappers:
        indented = textwrap.indent(text, "    ")
        text = f"{wrapper}, value=\n{indented}\n)"
    return text


FORMS["in a transform"] = shown
