"""The engine records operations, runs cold traces op by op, and compiles hot ones whole. It uses JAX and knows nothing of tensors."""

from .aval import Aval as Aval, OutOfMemoryError as OutOfMemoryError, Placement as Placement, jax_devices as jax_devices
from .interpreter.sharing import set_threads as set_threads
from .kernel import Kernel as Kernel, Pieces as Pieces, tracing as tracing
from .processes import exits as exits, forks as forks
from .recorder import (
    Recorder as Recorder,
    boundary as boundary,
    compiling as compiling,
    flush as flush,
    forget as forget,
    hand_over as hand_over,
    op_by_op as op_by_op,
    recorder as recorder,
    set_op_by_op as set_op_by_op,
)
from .report import explain as explain
from .value import Value as Value
