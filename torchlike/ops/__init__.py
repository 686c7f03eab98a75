"""Every op, declared once in its family's file."""

from . import cast, creation, matmul, pointwise, reduce, shape
from .cast import *
from .creation import *
from .matmul import *
from .pointwise import *
from .reduce import *
from .shape import *

__all__ = [*cast.__all__, *creation.__all__, *matmul.__all__, *pointwise.__all__, *reduce.__all__, *shape.__all__]
