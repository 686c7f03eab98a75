"""Neural networks: Module, layers, their functions and initialisers."""

from . import (
    attention as attention,
    common_types as common_types,
    functional as functional,
    grad as grad,
    init as init,
    modules as modules,
    parallel as parallel,
    parameter as parameter,
    utils as utils,
)
from ._factory import factory_kwargs as factory_kwargs
from .modules import *
from .modules import utils as _helpers  # after the star import, which would replace nn.utils
from .modules.module import Module as Module
from .parallel import DataParallel as DataParallel
from .parameter import (
    Buffer as Buffer,
    Parameter as Parameter,
    UninitializedBuffer as UninitializedBuffer,
    UninitializedParameter as UninitializedParameter,
)

factory_kwargs.__module__ = __name__
