"""torch.distributed.tensor.parallel: splits the layers of a module over the devices of a mesh, as a plan describes."""

from ...._missing import explain_missing
from ._loss import loss_parallel as loss_parallel
from ._plans import parallelize_module as parallelize_module
from ._styles import (
    ColwiseParallel as ColwiseParallel,
    ParallelStyle as ParallelStyle,
    PrepareModuleInput as PrepareModuleInput,
    PrepareModuleInputOutput as PrepareModuleInputOutput,
    PrepareModuleOutput as PrepareModuleOutput,
    RowwiseParallel as RowwiseParallel,
    SequenceParallel as SequenceParallel,
)

__all__ = [
    "ColwiseParallel",
    "ParallelStyle",
    "PrepareModuleInput",
    "PrepareModuleInputOutput",
    "PrepareModuleOutput",
    "RowwiseParallel",
    "SequenceParallel",
    "loss_parallel",
    "parallelize_module",
]

explain_missing(__name__)
