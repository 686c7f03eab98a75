"""Optimizers over optax, and learning rate schedules."""

from . import lr_scheduler as lr_scheduler, swa_utils as swa_utils
from .adadelta import Adadelta as Adadelta
from .adafactor import Adafactor as Adafactor
from .adagrad import Adagrad as Adagrad
from .adam import Adam as Adam
from .adamax import Adamax as Adamax
from .adamw import AdamW as AdamW
from .asgd import ASGD as ASGD
from .lbfgs import LBFGS as LBFGS
from .muon import Muon as Muon
from .nadam import NAdam as NAdam
from .optax import Optax as Optax
from .optimizer import Optimizer as Optimizer
from .radam import RAdam as RAdam
from .rmsprop import RMSprop as RMSprop
from .rprop import Rprop as Rprop
from .sgd import SGD as SGD
from .sparse_adam import SparseAdam as SparseAdam
from .swapping import swap_in_optimizer_params_and_state as swap_in_optimizer_params_and_state
