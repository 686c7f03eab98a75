"""Utilities for training: data loading, checkpointing of activations, handles of hooks."""

from . import _pytree as _pytree, checkpoint as checkpoint, data as data, graph as graph, hooks as hooks
from ._swap import swap_tensors as swap_tensors
