"""Image datasets and transforms, under the names that torchvision gives them."""

from . import datasets as datasets, transforms as transforms
