"""Automatic differentiation over the recorded graph."""

from .engine import backward as backward
from .engine import grad as grad
