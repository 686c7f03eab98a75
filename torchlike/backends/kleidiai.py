"""torch.backends.kleidiai: a library for ARM processors that is not used here."""

__all__ = ["is_available"]


def is_available() -> bool:
    """False."""
    return False
