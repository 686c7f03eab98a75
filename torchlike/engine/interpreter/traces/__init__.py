"""Traces of operations: those that hold for several sizes, and those that earlier processes have kept."""
