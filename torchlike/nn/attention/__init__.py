"""torch.nn.attention: which way attention is computed, and attention with scores of one's own."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator

from . import flex_attention as flex_attention

__all__ = ["SDPBackend", "sdpa_kernel"]


class SDPBackend(enum.IntEnum):
    """PyTorch's ways to compute attention. XLA has one, which serves for all."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4

    def __str__(self) -> str:
        return f"SDPBackend.{self.name}"


@contextlib.contextmanager
def sdpa_kernel(backends: list[SDPBackend] | SDPBackend, set_priority: bool = False) -> Iterator[None]:
    """Within it, or in a function decorated by it, attention is computed as ever: the numbers do not depend on the way.

    >>> with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
    ...     torch.nn.functional.scaled_dot_product_attention(*[torch.ones(1, 1, 2)] * 3)
    tensor([[[1., 1.]]])

    Raises:
        AssertionError: it is no SDPBackend, or list of them.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.attention.sdpa_kernel.html
    """
    given = backends if isinstance(backends, list) else [backends]
    for each in given:
        if not isinstance(each, SDPBackend):
            raise AssertionError(
                "Backend must be an instance of SDPBackend or a list of SDPBackend instances, got "
                + type(each).__name__
            )
    yield
