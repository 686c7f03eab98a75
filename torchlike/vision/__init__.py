"""Image datasets, models and transforms, under torchvision's names."""

from . import datasets as datasets, models as models, transforms as transforms
