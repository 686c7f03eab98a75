"""What PyTorch makes of its functions before a handler sees them: ``linear`` is ``t`` and ``addmm``. See ``table.py``."""

from . import conversion, indexing, layers, losses, products, reductions, shapes
from .properties import HIDDEN, PROPERTIES, WHOLE
from .table import call_expansion, expansion_of, operator_name

__all__ = ["HIDDEN", "PROPERTIES", "WHOLE", "call_expansion", "expansion_of", "operator_name"]

_DECLARED = (conversion, indexing, layers, losses, products, reductions, shapes)
