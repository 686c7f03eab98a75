"""torch.nn.attention: the choice among PyTorch's kernels, causal masks, and attention with a function of the scores."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from enum import IntEnum

from ...backends.cuda import kernels
from . import bias as bias, flex_attention as flex_attention

__all__ = ["WARN_FOR_UNFUSED_KERNELS", "SDPBackend", "sdpa_kernel"]

WARN_FOR_UNFUSED_KERNELS = False


class SDPBackend(IntEnum):
    """PyTorch's kernels for ``scaled_dot_product_attention``.

    ``MATH`` is the formula as it stands. All others are the same here: the device's own kernel, or blocks.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.SDPBackend.html
    """

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[dict[str, object]]:
    """Allows only these kernels for attention, as a context or a decorator. Attention fails if PyTorch could use none of them.

    With ``MATH`` alone the formula is computed as it stands, without it by a kernel or in blocks, and with both in the faster way.

    Args:
        backends: one kernel or several.
        set_priority: whether the first of them is preferred. It has no effect here.

    Raises:
        AssertionError: a value is not a kernel.

    >>> x = torch.ones(1, 1, 2, 4)
    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(x, x, x).shape
    torch.Size([1, 1, 2, 4])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    """
    if not isinstance(backends, (list, SDPBackend)):
        raise AssertionError(
            f"Backend must be an instance of SDPBackend or a list of SDPBackend instances, got {type(backends).__name__}"
        )
    choices = [backends] if isinstance(backends, SDPBackend) else backends
    before = kernels.enabled
    kernels.choose(choice.name for choice in choices if isinstance(choice, SDPBackend))
    try:
        yield {}
    finally:
        kernels.choose(before)
