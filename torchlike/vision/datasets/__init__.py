"""Image datasets, read from the files of their authors."""

from . import folder as folder, utils as utils
from .cifar import CIFAR10 as CIFAR10, CIFAR100 as CIFAR100
from .emnist import EMNIST as EMNIST
from .fakedata import FakeData as FakeData
from .folder import DatasetFolder as DatasetFolder, ImageFolder as ImageFolder
from .mnist import KMNIST as KMNIST, MNIST as MNIST, FashionMNIST as FashionMNIST
from .svhn import STL10 as STL10, SVHN as SVHN
from .tfds import TensorflowDataset as TensorflowDataset
from .vision import VisionDataset as VisionDataset
