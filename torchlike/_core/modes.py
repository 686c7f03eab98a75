"""Per-thread switches: gradients, inference mode, anomaly detection, hooks on saved tensors."""

from __future__ import annotations

import threading
from typing import Any


class Modes(threading.local):
    """One set of switches for each thread, each thread starting from the defaults."""

    grad_enabled: bool = True
    inference: bool = False
    anomaly: bool = False
    anomaly_nan: bool = True
    saved_tensors_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last


modes = Modes()
