"""Image datasets, read from the files of their authors."""

from .mnist import KMNIST as KMNIST, MNIST as MNIST, FashionMNIST as FashionMNIST
from .vision import VisionDataset as VisionDataset
