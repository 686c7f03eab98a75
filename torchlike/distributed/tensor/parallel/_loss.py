"""loss_parallel: a loss of logits whose classes are spread over devices."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._rules._losses import settings

__all__ = ["loss_parallel"]


@contextmanager
def loss_parallel() -> Iterator[None]:
    """A context for ``cross_entropy`` of logits that are split along their classes.

    Over several processes the loss is computed without gathering the logits, and ``target`` may be a plain tensor. In one process
    the context changes nothing: XLA computes the loss from the pieces outside of it, too.

    Source: https://docs.pytorch.org/docs/stable/distributed.tensor.parallel.html#torch.distributed.tensor.parallel.loss_parallel
    """
    before, settings.parallel = settings.parallel, True
    try:
        yield
    finally:
        settings.parallel = before
