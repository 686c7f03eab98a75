"""torch.distributed.algorithms.ddp_comm_hooks: how DistributedDataParallel may exchange gradients."""

from . import default_hooks as default_hooks

__all__: list[str] = []
