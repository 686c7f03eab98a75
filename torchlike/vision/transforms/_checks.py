"""Arguments that several transforms check in the same way."""

from __future__ import annotations

import numbers
from collections.abc import Sequence

__all__ = ["angles", "fill_of", "fill_values", "height_and_width", "require_lengths"]


def height_and_width(size: int | Sequence[int]) -> tuple[int, int]:
    """Height and width, from both or one for both."""
    if isinstance(size, numbers.Number):
        return int(size), int(size)  # pyright: ignore[reportArgumentType]
    if len(size) not in (1, 2):  # pyright: ignore[reportArgumentType]
        raise ValueError("Please provide only two dimensions (h, w) for size.")
    return size[0], size[-1]  # pyright: ignore[reportIndexIssue, reportGeneralTypeIssues]


def require_lengths(values: object, name: str, lengths: tuple[int, ...]) -> None:
    """TypeError for what is no sequence, ValueError for one of another length."""
    words = " or ".join(str(length) for length in lengths)
    if not isinstance(values, Sequence):
        raise TypeError(f"{name} should be a sequence of length {words}.")
    if len(values) not in lengths:
        raise ValueError(f"{name} should be a sequence of length {words}.")


def angles(values: float | Sequence[float], name: str, lengths: tuple[int, ...] = (2,)) -> list[float]:
    """The bounds of an angle, from these or one number for both directions."""
    if isinstance(values, (int, float)):
        if values < 0:
            raise ValueError(f"If {name} is a single number, it must be positive.")
        values = [-values, values]
    else:
        require_lengths(values, name, lengths)
    return [float(value) for value in values]


def fill_of(fill: object) -> object:
    """The colour of a transform, black for None."""
    if fill is None:
        return 0
    if not isinstance(fill, (Sequence, numbers.Number)):
        raise TypeError("Fill should be either a sequence or a number.")
    return fill


def fill_values(fill: object, channels: int) -> list[float] | None:
    """The colour for a tensor: one number a channel."""
    if fill is None:
        return None
    return [float(fill)] * channels if isinstance(fill, (int, float)) else [float(value) for value in fill]  # pyright: ignore[reportGeneralTypeIssues]
