"""Creation of modules without initialising their parameters."""

from __future__ import annotations

import inspect

from ...random import get_rng_state, set_rng_state
from ..modules.module import Module

__all__ = ["skip_init"]


def skip_init(module_cls: object, *args: object, **kwargs: object) -> Module:
    """Creates a module with uninitialised parameters. It draws no random numbers.

    Args:
        module_cls: its class, which takes a ``device``.
        args, kwargs: for its constructor.

    >>> torch.nn.utils.skip_init(torch.nn.Linear, 2, 3)
    Linear(in_features=2, out_features=3, bias=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.skip_init.html
    """
    if not (isinstance(module_cls, type) and issubclass(module_cls, Module)):
        raise RuntimeError(f"Expected a Module; got {module_cls}")
    if "device" not in inspect.signature(module_cls).parameters:
        raise RuntimeError("Module must support a 'device' arg to skip initialization")
    state = get_rng_state()
    try:
        return module_cls(*args, **kwargs)
    finally:
        set_rng_state(state)
