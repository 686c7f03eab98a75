"""How functions of DTensors over several processes compute with the pieces: a rule for each function."""

from ._choices import Call as Call, Choice as Choice, Plan as Plan
from ._elementwise import ELEMENTWISE as ELEMENTWISE
from ._layers import LAYERS
from ._losses import LOSSES
from ._products import PRODUCTS
from ._random import FILLS as FILLS
from ._reductions import REDUCTIONS
from ._views import VIEWS

__all__ = ["COMPOSED", "ELEMENTWISE", "FILLS", "RULES", "Call", "Choice", "Plan"]

RULES = PRODUCTS | VIEWS | REDUCTIONS | LAYERS
COMPOSED = LOSSES
