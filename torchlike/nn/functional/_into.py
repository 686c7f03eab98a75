"""Where a function's result goes when ``inplace`` is asked for."""

from __future__ import annotations

from ..._core.tensor import Tensor
from ...dispatch.inplace import check_writable, watch_in_place, write

__all__ = ["into"]


def into(input: Tensor, inplace: bool, result: Tensor) -> Tensor:
    """The result, put into the input where that was asked for."""
    if not inplace:
        return result
    check_writable(input)
    watch_in_place(input, result)
    return write(input, result)
