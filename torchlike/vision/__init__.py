"""Image datasets, models and transforms, under the names that torchvision gives them."""

from . import datasets as datasets, models as models, transforms as transforms
