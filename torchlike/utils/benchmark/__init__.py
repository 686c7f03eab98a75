"""torch.utils.benchmark: measures statements, including the computation of what they record, and prints tables of the times."""

from .compare import Colorize as Colorize, Compare as Compare
from .measurement import (
    Measurement as Measurement,
    TaskSpec as TaskSpec,
    ordered_unique as ordered_unique,
    select_unit as select_unit,
    set_torch_threads as set_torch_threads,
    trim_sigfig as trim_sigfig,
    unit_to_english as unit_to_english,
)
from .timer import Language as Language, Timer as Timer, timer as timer
