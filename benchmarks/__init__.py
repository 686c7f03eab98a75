"""Measurements: python -m benchmarks.step, .memory, .epoch, .parity."""
