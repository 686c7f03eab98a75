"""Runs traced functions with NumPy instead of compiling them. Operations that have not been repeated yet run this way."""

from . import (
    control,
    convolutions,
    elementwise,
    indexing,
    linalg,
    products,
    reductions,
    shapes,
    sorting,
    special,
    windows,
)
from .differentiation import vjp as vjp
from .joined import JoinedPlan as JoinedPlan
from .loops import scan as scan
from .plan import Plan as Plan
from .rules import ShapedDtype as ShapedDtype, Unsupported as Unsupported
from .traces.by_size import Calls as Calls, Traces as Traces
from .traces.generic import Make as Make, Shaped as Shaped, as_constant as as_constant
from .traces.kept import found_or_traced as found_or_traced
from .tracing import (
    Traced as Traced,
    for_numpy as for_numpy,
    runs_undifferentiated as runs_undifferentiated,
    tie as tie,
    trace as trace,
    traced_once as traced_once,
)

del (
    control,
    convolutions,
    elementwise,
    indexing,
    linalg,
    products,
    reductions,
    shapes,
    sorting,
    special,
    windows,
)  # imported for their rules
