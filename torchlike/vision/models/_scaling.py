"""How the numbers of channels of a scaled model are rounded."""

from __future__ import annotations

__all__ = ["divisible"]


def divisible(channels: float, divisor: int = 8) -> int:
    """The nearest multiple of a number, at least that number itself and nine tenths of what is rounded."""
    nearest = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return nearest + divisor if nearest < 0.9 * channels else nearest
