"""loss_parallel: a loss of logits whose classes are spread over devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A context for ``cross_entropy`` of logits that are split along their classes.

    It changes nothing: XLA computes the loss from the pieces outside of the context, too.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.loss_parallel
    """
    yield
