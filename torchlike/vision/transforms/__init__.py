"""Transforms of images, under torchvision's names."""

from . import autoaugment as autoaugment, functional as functional, transforms as transforms
from .autoaugment import *
from .transforms import *
