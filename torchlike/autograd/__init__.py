"""Automatic differentiation: backward over the recorded graph, switches, user-written functions, checks."""

from . import (
    forward_ad as forward_ad,
    function as function,
    functional as functional,
    grad_mode as grad_mode,
    graph as graph,
    profiler as profiler,
    saved as saved,
)
from .anomaly_mode import detect_anomaly as detect_anomaly, set_detect_anomaly as set_detect_anomaly
from .engine import backward as backward, grad as grad
from .function import Function as Function
from .grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from .gradcheck import gradcheck as gradcheck, gradgradcheck as gradgradcheck
from .variable import Variable as Variable


def _is_checkpoint_valid() -> bool:
    """Whether ``checkpoint(use_reentrant=True)`` may run here: it may anywhere."""
    return True
