"""torch.distributed.constants: PyTorch's timeouts of processes that wait for each other."""

from datetime import timedelta

__all__ = ["default_pg_timeout"]

default_pg_timeout = timedelta(minutes=30)
