"""torch.distributed.constants: how long processes wait for each other in PyTorch."""

from datetime import timedelta

__all__ = ["default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
