"""Image datasets, models, transforms, operations and drawing, under torchvision's names."""

from . import (
    datasets as datasets,
    io as io,
    models as models,
    ops as ops,
    transforms as transforms,
    tv_tensors as tv_tensors,
    utils as utils,
)

__version__ = "0.28.0+torchlike"  # of the torchvision that belongs to the PyTorch whose API is offered
