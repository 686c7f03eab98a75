"""Modules that quantize their inputs at each call."""

from .linear import Linear as Linear
