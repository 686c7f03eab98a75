"""The policies that fully_shard takes: of dtypes, and of parameters in the host's memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..._core.dtypes import dtype

__all__ = ["CPUOffloadPolicy", "MixedPrecisionPolicy", "OffloadPolicy"]


@dataclass(frozen=True)
class MixedPrecisionPolicy:
    """In which dtypes a module computes. Parameters and optimizer state keep their own.

    Args:
        param_dtype: of parameters where they are gathered, and so of most of the computation.
        reduce_dtype: of gradients as they leave the module. XLA chooses in which dtype it adds the terms of the devices.
        output_dtype: of what the module returns.
        cast_forward_inputs: whether inputs get ``param_dtype`` too.

    Source: https://docs.pytorch.org/docs/stable/distributed.fsdp.fully_shard.html#torch.distributed.fsdp.MixedPrecisionPolicy
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    output_dtype: dtype | None = None
    cast_forward_inputs: bool = True


@dataclass
class OffloadPolicy:
    """Nothing is kept on the host."""


@dataclass
class CPUOffloadPolicy(OffloadPolicy):
    """Parameters, gradients and state are kept on the host, which torchlike does not support."""

    pin_memory: bool = True
