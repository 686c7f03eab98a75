"""Every op, declared once in its family's file."""

from . import cast, creation, index, joining, matmul, pointwise, reduce, shape, slicing
from .cast import *
from .creation import *
from .index import *
from .joining import *
from .matmul import *
from .pointwise import *
from .reduce import *
from .shape import *
from .slicing import *

__all__ = [
    *cast.__all__,
    *creation.__all__,
    *matmul.__all__,
    *pointwise.__all__,
    *reduce.__all__,
    *shape.__all__,
    *index.__all__,
    *joining.__all__,
    *slicing.__all__,
]
