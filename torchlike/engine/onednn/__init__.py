"""Convolutions and LSTMs by oneDNN, within XLA's programs and over NumPy's arrays, where ``torchlike[onednn]`` is installed."""

from .calls import call as call
from .convolution import Convolution as Convolution
from .library import available as available
from .lstm import Lstm as Lstm, lstm_of as lstm_of
from .records import (
    compute_arrays as compute_arrays,
    record_of as record_of,
    set_threads as set_threads,
    threads as threads,
)
