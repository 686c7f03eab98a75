"""``functorch.experimental``: functions that were tried out there, and the module of control flow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from .. import _higher_order_ops as control_flow
from ..func import (
    functionalize as functionalize,
    hessian as hessian,
    jacfwd as jacfwd,
    jvp as jvp,
    replace_all_batch_norm_modules_ as replace_all_batch_norm_modules_,
    vmap,
)

__all__ = ["chunk_vmap", "control_flow", "functionalize", "hessian", "jacfwd", "jvp", "replace_all_batch_norm_modules_"]


def chunk_vmap(
    func: Callable[..., object], in_dims: Any = 0, out_dims: Any = 0, randomness: str = "error", chunks: int = 2
) -> Callable[..., Any]:
    """``vmap`` that takes the examples in so many parts, one after the other."""

    @functools.wraps(func)
    def wrapper(*args: Any, **kwargs: object) -> Any:
        dims = in_dims if isinstance(in_dims, tuple) else (in_dims,) * len(args)
        size = next(arg.shape[dim] for arg, dim in zip(args, dims, strict=True) if isinstance(dim, int))
        return vmap(func, in_dims, out_dims, randomness, chunk_size=max(1, -(-size // chunks)))(*args, **kwargs)

    return wrapper
