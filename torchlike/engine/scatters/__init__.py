"""Finds the sums over the devices of a mesh of which each device keeps a piece, and makes them reduce-scatters."""

from .sums import with_reduce_scatters as with_reduce_scatters

__all__ = ["with_reduce_scatters"]
