"""Compiles what repeats in a path once: the layers of a model."""

from .chain import Chain as Chain, Undivided as Undivided
from .finding import MIN_SAVED as MIN_SAVED, compiled_ops as compiled_ops

__all__ = ["MIN_SAVED", "Chain", "Undivided", "compiled_ops"]
