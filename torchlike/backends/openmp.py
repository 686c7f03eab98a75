"""torch.backends.openmp: not used, XLA brings its own kernels."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False: XLA brings its own kernels."""
    return False
