"""Helpers around training: data loading and checkpointing of activations."""

from . import checkpoint as checkpoint, data as data
