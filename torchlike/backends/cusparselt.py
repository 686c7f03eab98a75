"""torch.backends.cusparselt: a library for semi-structured sparse matrices that is not used here."""

__all__ = ["is_available", "version"]


def is_available() -> bool:
    """False."""
    return False


def version() -> None:
    """None: there is none."""
