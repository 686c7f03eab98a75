"""torch.backends.mps: Apple's GPU."""

from .._core.devices import devices_of

__all__ = ["is_available", "is_built"]


def is_available() -> bool:
    """Whether JAX sees Apple's GPU here.

    >>> torch.backends.mps.is_available() == torch.backends.mps.is_built()
    True
    """
    return bool(devices_of("mps"))


is_built = is_available
