"""Anomaly detection: names the forward line whose backward failed or gave NaN."""

from __future__ import annotations

import warnings

from .._core.modes import modes

__all__ = ["detect_anomaly", "set_detect_anomaly"]


class set_detect_anomaly:
    """Switches anomaly detection on or off: at once as a function, or for a block as a context manager.

    While it is on, each forward op notes where it was called, and each backward step is checked, so everything runs slowly.

    Args:
        mode: on or off.
        check_nan: raise when a backward step gives NaN.

    Source: https://docs.pytorch.org/docs/stable/autograd.html#anomaly-detection
    """

    def __init__(self, mode: bool, check_nan: bool = True) -> None:
        self._before = modes.anomaly, modes.anomaly_nan
        modes.anomaly, modes.anomaly_nan = mode, check_nan
        modes.update()

    def __enter__(self) -> None:
        pass

    def __exit__(self, *exc: object) -> None:
        modes.anomaly, modes.anomaly_nan = self._before
        modes.update()


class detect_anomaly(set_detect_anomaly):
    """``set_detect_anomaly(True)`` as a context manager.

    >>> x = torch.tensor([-1.0], requires_grad=True)
    >>> with torch.autograd.set_detect_anomaly(True):
    ...     y = torch.sqrt(x).sum()
    """

    def __init__(self, check_nan: bool = True) -> None:
        warnings.warn(
            "Anomaly Detection has been enabled. This mode will increase the runtime and should only be enabled for debugging.",
            UserWarning,
            stacklevel=2,
        )
        self._check = check_nan

    def __enter__(self) -> None:
        super().__init__(True, self._check)
