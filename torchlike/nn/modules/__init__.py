"""Module and all layers, a file for each family."""

from .activation import *
from .attention import *
from .batchnorm import *
from .container import *
from .conv import *
from .dropout import *
from .flatten import *
from .linear import *
from .loss import *
from .module import Module as Module
from .normalization import *
from .padding import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
