"""DataParallel: a module under the name ``module``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..modules.module import Module

__all__ = ["DataParallel"]


class DataParallel(Module):
    """Calls a module. Names in its state begin with "module.", as in PyTorch.

    PyTorch splits each batch between GPUs; here the module runs on its own device.

    Args:
        module: the module to call.
        device_ids: at most one device.

    Raises:
        NotImplementedError: several devices.

    >>> list(torch.nn.DataParallel(torch.nn.Linear(2, 2, bias=False)).state_dict())
    ['module.weight']

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.DataParallel.html
    """

    def __init__(
        self, module: Module, device_ids: Sequence[object] | None = None, output_device: object = None, dim: int = 0
    ) -> None:
        super().__init__()
        if device_ids is not None and len(device_ids) > 1:
            raise NotImplementedError("torchlike does not support DataParallel over several devices yet")
        self.module = module
        self.device_ids = [] if device_ids is None else list(device_ids)
        self.output_device = output_device
        self.dim = dim

    def forward(self, *inputs: object, **kwargs: object) -> Any:
        return self.module(*inputs, **kwargs)
