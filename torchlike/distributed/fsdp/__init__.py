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

__all__ = [
    "CPUOffloadPolicy",
    "FSDPModule",
    "MixedPrecisionPolicy",
    "OffloadPolicy",
    "UnshardHandle",
    "fully_shard",
    "register_fsdp_forward_method",
]

explain_missing(__name__)
