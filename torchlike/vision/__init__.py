"""Image datasets, models and transforms, under torchvision's names."""

from . import datasets as datasets, models as models, transforms as transforms

__version__ = "0.28.0+torchlike"  # of the torchvision that belongs to the PyTorch whose API is offered
