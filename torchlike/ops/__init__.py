"""Every op, declared once in its family's file."""

from . import activation, bitwise, cast, compare, complex_numbers, creation, elementary, index, joining, matmul, pointwise, reduce, shape, slicing
from .activation import *
from .bitwise import *
from .cast import *
from .compare import *
from .complex_numbers import *
from .creation import *
from .elementary import *
from .index import *
from .joining import *
from .matmul import *
from .pointwise import *
from .reduce import *
from .shape import *
from .slicing import *

__all__ = [
    *activation.__all__,
    *bitwise.__all__,
    *cast.__all__,
    *compare.__all__,
    *complex_numbers.__all__,
    *creation.__all__,
    *elementary.__all__,
    *index.__all__,
    *joining.__all__,
    *matmul.__all__,
    *pointwise.__all__,
    *reduce.__all__,
    *shape.__all__,
    *slicing.__all__,
]
