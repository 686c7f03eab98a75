"""Options for ``linear_cross_entropy``: how it splits a batch into chunks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..._core import dtypes

if TYPE_CHECKING:
    from ..._core.annotations import Dtype


__all__ = ["LinearCrossEntropyOptions"]

_DTYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_ACCURACIES = ("accurate", "balanced", "compact", "auto")


@dataclass(frozen=True, slots=True)
class LinearCrossEntropyOptions:
    """Makes ``linear_cross_entropy`` compute the batch in chunks, so that all logits never exist at once.

    Args:
        allow_retain_graph: PyTorch needs this for a second backward pass, which torchlike always allows.
        batch_chunk_size: rows of a chunk; None: ``chunking_method`` decides.
        chunking_method: "auto", or "aspect_ratio:K": chunks whose logits have about ``K`` times as many elements as the input.
        acc_policy: PyTorch's precision for adding gradients; torchlike always adds in the dtype of the input.
        acc_dtype: the dtype that gradients are added up in.

    >>> torch.nn.LinearCrossEntropyOptions(batch_chunk_size=2).batch_chunk_size
    2

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LinearCrossEntropyOptions.html
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Dtype | None = None

    def __post_init__(self) -> None:
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise ValueError(f"batch_chunk_size must be positive int or None, got {size}")
        method = self.chunking_method
        if method not in (None, "auto") and not re.fullmatch(r"aspect_ratio:[1-9]\d*", method):
            raise ValueError(f"invalid chunking_method: {method!r}")
        if self.acc_policy not in _ACCURACIES:
            raise ValueError(f"invalid acc_policy: {self.acc_policy!r}")
        if self.acc_dtype is not None and self.acc_dtype not in _DTYPES:
            names = ", ".join(f"torch.{kind.name}" for kind in _DTYPES)
            raise ValueError(
                f"acc_dtype must be one of {{None, {names}}}, got {self.acc_dtype}. Pass acc_dtype=None to let the op pick "
                "automatically."
            )
