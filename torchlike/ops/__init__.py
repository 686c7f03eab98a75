"""Every op, declared once in its family's file."""

# Under other names: a family may hold a function of its own name, which takes the name over below.
from . import (
    activation as _activation,
    bitwise as _bitwise,
    cast as _cast,
    compare as _compare,
    complex_numbers as _complex_numbers,
    creation as _creation,
    elementary as _elementary,
    index as _index,
    joining as _joining,
    matmul as _matmul,
    pointwise as _pointwise,
    reduce as _reduce,
    shape as _shape,
    slicing as _slicing,
)
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
    *_activation.__all__,
    *_bitwise.__all__,
    *_cast.__all__,
    *_compare.__all__,
    *_complex_numbers.__all__,
    *_creation.__all__,
    *_elementary.__all__,
    *_index.__all__,
    *_joining.__all__,
    *_matmul.__all__,
    *_pointwise.__all__,
    *_reduce.__all__,
    *_shape.__all__,
    *_slicing.__all__,
]
