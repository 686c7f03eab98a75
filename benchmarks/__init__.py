"""Measurements: python -m benchmarks.step, .memory, .epoch, .parity."""

import os

os.environ.setdefault("TORCHLIKE_COMPILE", "now")  # steps that are compiled are compared, from the second round on
