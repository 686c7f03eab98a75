"""Functions of neural networks under PyTorch's names and signatures, a file for each family; the arithmetic is in ``ops``."""

from inspect import isfunction as _isfunction

from ...ops.linalg.grouped import _grouped_mm as grouped_mm
from ...ops.linalg.matmul import bilinear as bilinear, linear as linear
from ...ops.nn.conv import (
    conv1d as conv1d,
    conv2d as conv2d,
    conv3d as conv3d,
    conv_tbc as conv_tbc,
    conv_transpose1d as conv_transpose1d,
    conv_transpose2d as conv_transpose2d,
    conv_transpose3d as conv_transpose3d,
)
from ...ops.nn.pad import pad as pad
from ._activation import *
from ._attention import *
from ._distance import *
from ._dropout import *
from ._embedding import *
from ._loss import *
from ._margin_loss import *
from ._normalization import *
from ._pooling import *
from ._unpooling import *
from ._vision import *

# Every function says its public address, which is here; ops that have a name at the top level as well say that.
_OPS_OF_THIS_NAMESPACE_ALONE = {
    "bilinear", "gelu", "glu", "grouped_mm", "linear", "logsigmoid", "one_hot", "pad", "softplus", "softshrink", "softsign", "tanhshrink",
}  # fmt: skip
for _name, _function in list(globals().items()):
    if _isfunction(_function) and (
        _function.__module__.startswith(f"{__name__}.") or _name in _OPS_OF_THIS_NAMESPACE_ALONE
    ):
        _function.__module__, _function.__name__, _function.__qualname__ = __name__, _name, _name
