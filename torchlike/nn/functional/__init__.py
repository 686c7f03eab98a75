"""Functions of neural networks under PyTorch's names and signatures, a file for each family; the arithmetic is in ``ops``."""

from inspect import isfunction as _isfunction

from ..._core.overridable import offer as _offer
from ...ops.linalg.grouped import _grouped_mm as grouped_mm
from ...ops.linalg.matmul import linear as linear
from ._activation import *
from ._attention import *
from ._derived import *
from ._dropout import *
from ._embedding import *
from ._loss import *
from ._margin_loss import *
from ._normalization import *
from ._pooling import *
from ._unpooling import *
from ._vision import *

# The public address of each function is this module. The two operators have other names where they are declared.
for _name, _function in list(globals().items()):
    if _isfunction(_function) and (
        _function.__module__.startswith(f"{__name__}.") or _name in ("grouped_mm", "linear")
    ):
        _function.__module__, _function.__name__, _function.__qualname__ = __name__, _name, _name

_offer("torch.nn.functional", globals())
