"""The parts of the launcher ``python -m torchlike.distributed.run``."""
