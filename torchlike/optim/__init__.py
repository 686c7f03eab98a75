"""Optimisers over optax, and learning rate schedules."""

from . import lr_scheduler as lr_scheduler
from .adam import Adam as Adam, AdamW as AdamW
from .optimizer import Optimizer as Optimizer
from .sgd import SGD as SGD
