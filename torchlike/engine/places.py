"""Picks the entries at given places of a list, in one call that runs no Python code."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter


def at_places(places: Sequence[int]) -> itemgetter:
    """A function that takes a list and returns its entries at these places, as a tuple or list.

    >>> from torchlike.engine.places import at_places
    >>> at_places((2, 0))(["a", "b", "c"])
    ('c', 'a')
    """
    if len(places) > 1:
        return itemgetter(*places)
    # A single number would give the element itself.
    return itemgetter(slice(places[0], places[0] + 1) if places else slice(0))


def places_of(function: itemgetter) -> Sequence[int]:
    """The places of which ``at_places`` made the function.

    >>> from torchlike.engine.places import at_places, places_of
    >>> places_of(at_places((2, 0))), list(places_of(at_places((2,)))), list(places_of(at_places(())))
    ((2, 0), [2], [])
    """
    _, places = function.__reduce__()  # pyright: ignore[reportAssignmentType]  # its class and what it was made of
    first, *_ = places
    return range(first.start or 0, first.stop) if isinstance(first, slice) else places  # pyright: ignore[reportReturnType]
