"""torch.backends.opt_einsum: in which order ``torch.einsum`` multiplies several operands."""

from __future__ import annotations

__all__ = ["get_opt_einsum", "is_available"]

# Kept for programs that set them. XLA orders the products of a contraction itself.
enabled: bool = True
strategy: str | None = "auto"


def is_available() -> bool:
    """Whether the library opt_einsum is there: JAX brings it."""
    return get_opt_einsum() is not None


def get_opt_einsum() -> object:
    """The library opt_einsum, or None."""
    try:
        import opt_einsum
    except ImportError:
        return None
    return opt_einsum
