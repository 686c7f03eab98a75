"""The reduction of a loss, from ``reduction`` or from the two old arguments."""

from __future__ import annotations

import warnings

from ...ops.nn import loss as _loss

__all__ = ["legacy"]


def legacy(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction, from the two old arguments if one of them is passed."""
    if size_average is None and reduce is None:
        _loss.check_reduction(reduction)
        return reduction
    keeps_elements = reduce is False
    name = "none" if keeps_elements else "mean" if size_average is None or size_average else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{name}' instead.", stacklevel=3
    )
    return name
