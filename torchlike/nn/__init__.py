"""Neural networks: Module, the layers, and what belongs to them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from . import functional as functional, init as init, modules as modules, parameter as parameter, utils as utils
from .modules import *
from .modules.module import Module as Module
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

if not _TYPE_CHECKING:

    def __getattr__(name):
        from .._missing import missing

        raise missing(__name__, name)
