"""Measurements, each one ``python -m benchmarks.NAME``, and those of the documentation's page in one: ``python -m benchmarks.all``."""

import os

os.environ.setdefault("TORCHLIKE_COMPILE", "now")  # steps that are compiled are compared, from the second round on
