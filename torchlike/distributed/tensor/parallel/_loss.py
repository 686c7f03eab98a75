"""loss_parallel: a loss of logits whose classes are spread over devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A context for ``cross_entropy`` of logits that are cut along their classes.

    The loss is the same outside of it: XLA always computes it from the pieces.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.loss_parallel
    """
    yield
