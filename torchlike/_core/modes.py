"""Per-thread switches: gradients, inference mode, anomaly detection."""

from __future__ import annotations

import threading


class Modes(threading.local):
    """One set of switches for each thread, each thread starting from the defaults."""

    grad_enabled: bool = True
    inference: bool = False
    anomaly: bool = False


modes = Modes()
