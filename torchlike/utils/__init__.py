"""Utilities for training: data loading, checkpointing of activations, handles of hooks."""

from . import _pytree as _pytree, checkpoint as checkpoint, data as data, hooks as hooks
from ._swap import swap_tensors as swap_tensors
