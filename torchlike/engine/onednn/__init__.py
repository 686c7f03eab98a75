"""Convolutions by oneDNN, within XLA's programs and over NumPy's arrays, where ``torchlike[onednn]`` is installed."""

from .calls import call as call
from .library import available as available
from .records import compute as compute, record_of as record_of, set_threads as set_threads
