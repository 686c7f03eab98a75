"""torch.distributed.fsdp.api: the options of FullyShardedDataParallel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, auto

from ...._core.dtypes import dtype
from ...modules.batchnorm import _BatchNorm
from ...modules.module import Module

__all__ = [
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig", "LocalOptimStateDictConfig",
    "LocalStateDictConfig", "MixedPrecision", "OptimStateDictConfig", "ShardedOptimStateDictConfig", "ShardedStateDictConfig",
    "ShardingStrategy", "StateDictConfig", "StateDictSettings", "StateDictType",
]  # fmt: skip


class ShardingStrategy(Enum):
    """What is spread over the processes.

    ``FULL_SHARD``: parameters, gradients and optimizer state; parameters are gathered for the forward pass, and again for backward.
    ``SHARD_GRAD_OP``: the same, with parameters that stay gathered from the forward to the backward pass. ``NO_SHARD``: nothing, as in
    ``DistributedDataParallel``. ``HYBRID_SHARD`` and ``_HYBRID_SHARD_ZERO2``: ``FULL_SHARD`` and ``SHARD_GRAD_OP`` in groups of processes,
    between which gradients are averaged.

    Source: https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.ShardingStrategy
    """

    FULL_SHARD = auto()
    SHARD_GRAD_OP = auto()
    NO_SHARD = auto()
    HYBRID_SHARD = auto()
    _HYBRID_SHARD_ZERO2 = auto()


class BackwardPrefetch(Enum):
    """When the next parameters are gathered in the backward pass. XLA orders the exchanges, so that both mean the same here."""

    BACKWARD_PRE = auto()
    BACKWARD_POST = auto()


@dataclass
class MixedPrecision:
    """The dtypes in which a module computes. Parameters and optimizer state keep their dtypes.

    Args:
        param_dtype: the dtype of gathered parameters and of the inputs of the outermost module.
        reduce_dtype: the dtype in which gradients are reduced, by default ``param_dtype``.
        buffer_dtype: the dtype of buffers.
        keep_low_precision_grads: not supported.
        cast_forward_inputs: whether the inputs of inner modules are cast to ``param_dtype``.
        cast_root_forward_inputs: whether those of the outermost module are.

    Source: https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.MixedPrecision
    """

    param_dtype: dtype | None = None
    reduce_dtype: dtype | None = None
    buffer_dtype: dtype | None = None
    keep_low_precision_grads: bool = False
    cast_forward_inputs: bool = False
    cast_root_forward_inputs: bool = True
    _module_classes_to_ignore: Sequence[type[Module]] = (_BatchNorm,)


@dataclass
class CPUOffload:
    """Whether parameters, gradients and state are kept on the host. Where the processes compute on CPUs they always are."""

    offload_params: bool = False


class StateDictType(Enum):
    """What ``state_dict`` returns: whole parameters, what this process has, or pieces that know the whole. Only the first is supported."""

    FULL_STATE_DICT = auto()
    LOCAL_STATE_DICT = auto()
    SHARDED_STATE_DICT = auto()


@dataclass
class StateDictConfig:
    """Options of a model's state dictionary.

    Args:
        offload_to_cpu: return tensors on the host.
    """

    offload_to_cpu: bool = False


@dataclass
class FullStateDictConfig(StateDictConfig):
    """Options of state dictionaries of whole parameters.

    Args:
        rank0_only: only process 0 gets them; the dictionaries of the others are empty.
    """

    rank0_only: bool = False


@dataclass
class LocalStateDictConfig(StateDictConfig):
    """Options of state dictionaries of what this process has."""


@dataclass
class ShardedStateDictConfig(StateDictConfig):
    """Options of state dictionaries of pieces."""

    _use_dtensor: bool = False


@dataclass
class OptimStateDictConfig:
    """Options of an optimizer's state dictionary.

    Args:
        offload_to_cpu: return tensors on the host.
    """

    offload_to_cpu: bool = True


@dataclass
class FullOptimStateDictConfig(OptimStateDictConfig):
    """Options of state dictionaries of an optimizer for whole parameters.

    Args:
        rank0_only: only process 0 gets them, and only process 0 has to give one to ``optim_state_dict_to_load``.
    """

    rank0_only: bool = False


@dataclass
class LocalOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state dictionaries of what this process has."""

    offload_to_cpu: bool = False


@dataclass
class ShardedOptimStateDictConfig(OptimStateDictConfig):
    """Options of an optimizer's state dictionaries of pieces."""

    _use_dtensor: bool = False


@dataclass
class StateDictSettings:
    """The kind of state dictionary that a module returns, and its options."""

    state_dict_type: StateDictType
    state_dict_config: StateDictConfig
    optim_state_dict_config: OptimStateDictConfig
