"""Versions: of the PyTorch API that is offered, and of torchlike itself."""

__version__ = "2.13.0+torchlike.0.2.0"
torchlike = "0.2.0"
cuda = None
hip = rocm = xpu = None
debug = False
