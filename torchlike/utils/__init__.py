"""Helpers around training: `torch.utils.data` and its kin."""

from . import data as data
