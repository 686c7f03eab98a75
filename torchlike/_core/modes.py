"""Per-thread switches: gradients, inference mode, anomaly detection, hooks on saved tensors."""

from __future__ import annotations

import threading
from typing import Any


class Modes(threading.local):
    """One set of switches for each thread, each thread starting from the defaults.

    ``any_slow_mode`` is true while a switch other than ``grad_enabled`` is on. The dispatcher reads these two alone, so whoever
    changes another switch calls ``modes.update()`` afterwards.
    """

    grad_enabled: bool = True
    any_slow_mode: bool = False
    inference: bool = False
    anomaly: bool = False
    anomaly_nan: bool = True
    saved_tensors_hooks: tuple[Any, ...] = ()  # (pack, unpack) pairs, innermost last
    captured: dict[int, Any] | None = None  # under a transform: tensors that require a gradient and were read
    autocast: dict[str, object] | None = None  # by type of device: the dtype that matrix products and the like run in
    backward_pass: Any = None  # what runs the backward pass that is running in this thread
    vmaps: tuple[Any, ...] = ()  # in progress, outermost first

    def update(self) -> None:
        self.any_slow_mode = (
            self.inference
            or self.anomaly
            or bool(self.saved_tensors_hooks)
            or self.captured is not None
            or self.autocast is not None
        )


modes = Modes()
