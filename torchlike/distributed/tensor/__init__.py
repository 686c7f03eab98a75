"""torch.distributed.tensor: how tensors lie on several devices. Tensors that do are not there yet."""

from ..._missing import explain_missing
from .placement_types import (
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
)

__all__ = ["Partial", "Placement", "Replicate", "Shard"]

explain_missing(__name__)
