"""Files of pictures, read and written by Pillow."""

from .image import *
