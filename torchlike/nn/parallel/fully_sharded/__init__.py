"""FullyShardedDataParallel and its options. PyTorch's address of them is ``torch.distributed.fsdp``."""

from .options import (
    BackwardPrefetch as BackwardPrefetch,
    CPUOffload as CPUOffload,
    FullOptimStateDictConfig as FullOptimStateDictConfig,
    FullStateDictConfig as FullStateDictConfig,
    LocalOptimStateDictConfig as LocalOptimStateDictConfig,
    LocalStateDictConfig as LocalStateDictConfig,
    MixedPrecision as MixedPrecision,
    OptimStateDictConfig as OptimStateDictConfig,
    ShardedOptimStateDictConfig as ShardedOptimStateDictConfig,
    ShardedStateDictConfig as ShardedStateDictConfig,
    ShardingStrategy as ShardingStrategy,
    StateDictConfig as StateDictConfig,
    StateDictSettings as StateDictSettings,
    StateDictType as StateDictType,
)
from .wrapper import (
    FullyShardedDataParallel as FullyShardedDataParallel,
    OptimStateKeyType as OptimStateKeyType,
)
