"""Module and all layers, a file for each family."""

from . import _optimized as _optimized  # torch.compile finds it
from .activation import *
from .adaptive import *
from .batchnorm import *
from .channelshuffle import *
from .container import *
from .conv import *
from .distance import *
from .dropout import *
from .flatten import *
from .flax import *
from .fold import *
from .instancenorm import *
from .linear import *
from .linear_cross_entropy_options import *
from .loss import *
from .module import Module as Module
from .multihead import *
from .normalization import *
from .padding import *
from .pixelshuffle import *
from .pooling import *
from .rnn import *
from .sparse import *
from .transformer import *
from .upsampling import *
