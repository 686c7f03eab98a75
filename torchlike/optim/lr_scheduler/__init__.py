"""Learning rate schedules: each changes ``lr`` in an optimizer's groups when its ``step`` is called."""

from ._formulas import (
    EPOCH_DEPRECATION_WARNING as EPOCH_DEPRECATION_WARNING,
    ChainedScheduler as ChainedScheduler,
    ConstantLR as ConstantLR,
    CosineAnnealingLR as CosineAnnealingLR,
    CosineAnnealingWarmRestarts as CosineAnnealingWarmRestarts,
    CyclicLR as CyclicLR,
    ExponentialLR as ExponentialLR,
    LambdaLR as LambdaLR,
    LinearLR as LinearLR,
    LRScheduler as LRScheduler,
    MultiplicativeLR as MultiplicativeLR,
    MultiStepLR as MultiStepLR,
    OneCycleLR as OneCycleLR,
    PolynomialLR as PolynomialLR,
    ReduceLROnPlateau as ReduceLROnPlateau,
    SequentialLR as SequentialLR,
    StepLR as StepLR,
    _for_each_group as _for_each_group,
    _LRScheduler as _LRScheduler,
)

__all__ = [
    "ChainedScheduler", "ConstantLR", "CosineAnnealingLR", "CosineAnnealingWarmRestarts", "CyclicLR", "ExponentialLR", "LRScheduler",
    "LambdaLR", "LinearLR", "MultiStepLR", "MultiplicativeLR", "OneCycleLR", "PolynomialLR", "ReduceLROnPlateau", "SequentialLR",
    "StepLR",
]  # fmt: skip

# PyTorch has all of them in one file, `torch/optim/lr_scheduler.py`: the classes say so, as pickles and printed types show it.
for _name in __all__:
    globals()[_name].__module__ = __name__
