"""Learning rate schedules: each changes ``lr`` in an optimizer's groups when its ``step`` is called."""

from ._base import EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING, LRScheduler as LRScheduler
from ._combinations import ChainedScheduler as ChainedScheduler, SequentialLR as SequentialLR
from ._cycles import CyclicLR as CyclicLR, OneCycleLR as OneCycleLR
from ._formulas import (
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    PolynomialLR as PolynomialLR,
    StepLR as StepLR,
)
from ._plateau import ReduceLROnPlateau as ReduceLROnPlateau

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip

_LRScheduler = LRScheduler  # its name before PyTorch 2.0

# PyTorch has all schedules in one file, ``torch/optim/lr_scheduler.py``. Pickles and error messages show the module of a class.
for _name in __all__:
    globals()[_name].__module__ = __name__
