"""Neural networks: Module, the layers, and what belongs to them."""

from . import functional as functional, init as init, modules as modules, parameter as parameter, utils as utils
from .modules import *
from .modules.module import Module as Module
from .parameter import Buffer as Buffer, Parameter as Parameter
