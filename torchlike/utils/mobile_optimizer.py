"""torch.utils.mobile_optimizer: prepares TorchScript for phones in PyTorch. torchlike writes no TorchScript."""

from __future__ import annotations

from typing import Any

__all__ = ["optimize_for_mobile"]


def optimize_for_mobile(script_module: object, **options: object) -> Any:
    """Raises NotImplementedError: there are no TorchScript programs to prepare."""
    raise NotImplementedError("torchlike does not support optimize_for_mobile: it writes no TorchScript programs")
