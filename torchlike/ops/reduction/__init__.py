"""Reductions, running results, order and statistics."""
