"""torch.distributed.fsdp: parameters, gradients and optimizer state spread over devices, each parameter gathered where it is used."""

from ..._missing import explain_missing
from ._fully_shard import (
    FSDPModule as FSDPModule,
    UnshardHandle as UnshardHandle,
    fully_shard as fully_shard,
    register_fsdp_forward_method as register_fsdp_forward_method,
)
from ._policies import (
    CPUOffloadPolicy as CPUOffloadPolicy,
    MixedPrecisionPolicy as MixedPrecisionPolicy,
    OffloadPolicy as OffloadPolicy,
)

# The names without an import are those of ``nn/parallel/fully_sharded``, which ``explain_missing`` finds.
__all__ = [
    "CPUOffloadPolicy", "FSDPModule", "MixedPrecisionPolicy", "OffloadPolicy", "UnshardHandle", "fully_shard",
    "register_fsdp_forward_method",
    "BackwardPrefetch", "CPUOffload", "FullOptimStateDictConfig", "FullStateDictConfig",  # pyright: ignore[reportUnsupportedDunderAll]
    "FullyShardedDataParallel", "LocalOptimStateDictConfig", "LocalStateDictConfig",  # pyright: ignore[reportUnsupportedDunderAll]
    "MixedPrecision", "OptimStateDictConfig", "OptimStateKeyType", "ShardingStrategy",  # pyright: ignore[reportUnsupportedDunderAll]
    "ShardedOptimStateDictConfig", "ShardedStateDictConfig", "StateDictConfig",  # pyright: ignore[reportUnsupportedDunderAll]
    "StateDictSettings", "StateDictType",  # pyright: ignore[reportUnsupportedDunderAll]
]  # fmt: skip

explain_missing(__name__)
