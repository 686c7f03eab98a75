"""torch.distributed.algorithms: uneven inputs, communication hooks, and what libraries use within one process."""

from .join import Join as Join, Joinable as Joinable, JoinHook as JoinHook

__all__ = ["Join", "JoinHook", "Joinable"]
