"""The policies of fully_shard: for dtypes, and for parameters in the host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core.dtypes import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """The dtypes in which a module computes. Parameters and optimizer state keep their dtypes.

    Args:
        param_dtype: the dtype of gathered parameters, and so of most computations.
        reduce_dtype: the dtype of gradients when they leave the module. XLA chooses the dtype in which it adds the terms of the devices.
        output_dtype: the dtype of the module's outputs.
        cast_forward_inputs: whether inputs are cast to ``param_dtype``.

    Source: https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html#torch.distributed.fsdp.MixedPrecisionPolicy
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Keep nothing on the host."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Keep parameters, gradients and state on the host. torchlike does not support this policy."""

    pin_memory: bool = True
