"""DistributedDataParallel: a module under the name ``module``, its gradients those of all processes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from ...distributed import get_world_size
from ..modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """Calls a module; its state has the names that PyTorch's has, each after "module.".

    In a world of one process, the only one there is yet, gradients are those of this process.

    Args:
        module: the module to call.
        device_ids: at most one device.

    Raises:
        ValueError: no process group. RuntimeError: a module without parameters that require a gradient. NotImplementedError: several
            devices.

    >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2, bias=False))
    >>> list(model.state_dict())
    ['module.weight']
    >>> torch.distributed.destroy_process_group()

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    def __init__(
        self,
        module: Module,
        device_ids: Sequence[int] | None = None,
        output_device: object = None,
        dim: int = 0,
        broadcast_buffers: bool | None = None,
        init_sync: bool = True,
        process_group: object = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
    ) -> None:
        super().__init__()
        get_world_size(process_group)
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError("torchlike does not support DistributedDataParallel over several devices yet")
        if not any(parameter.requires_grad for parameter in module.parameters()):
            raise RuntimeError(
                "DistributedDataParallel is not needed when a module doesn't have any parameter that requires a gradient."
            )
        self.module = module
        self.process_group, self.device_ids, self.output_device, self.dim = (
            process_group,
            device_ids,
            output_device,
            dim,
        )
        self.require_backward_grad_sync = True

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """A context in which gradients are not exchanged between processes. The next backward pass outside of it does that."""
        before, self.require_backward_grad_sync = self.require_backward_grad_sync, False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        return self.module(*inputs, **kwargs)
