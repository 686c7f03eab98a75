"""torch.distributed.tensor: tensors that are spread over the devices of one process, or over several processes."""

from typing import TYPE_CHECKING

from ..._missing import explain_missing
from ..device_mesh import DeviceMesh as DeviceMesh, init_device_mesh as init_device_mesh
from . import _calls as _calls  # gives DTensors their functions
from ._dtensor import (
    DTensor as DTensor,
    distribute_module as distribute_module,
    distribute_tensor as distribute_tensor,
)
from ._factories import (
    empty as empty,
    full as full,
    ones as ones,
    rand as rand,
    randn as randn,
    zeros as zeros,
)
from .placement_types import (
    Partial as Partial,
    Placement as Placement,
    Replicate as Replicate,
    Shard as Shard,
)

if TYPE_CHECKING:  # imported at its first use
    from . import parallel as parallel

__all__ = [
    "DTensor",
    "Partial",
    "Placement",
    "Replicate",
    "Shard",
    "distribute_module",
    "distribute_tensor",
    "empty",
    "full",
    "ones",
    "rand",
    "randn",
    "zeros",
]

explain_missing(__name__)
