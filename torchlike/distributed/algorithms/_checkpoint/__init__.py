"""Modules whose activations are computed a second time in the backward pass."""
