"""The traces of an operation: what varies from call to call in its sizes alone is not traced each time.

A function that comes with a third combination of sizes is traced once more, with sizes that stand for any number (``generic.py``). That
trace is compared with traces for the numbers themselves for two combinations of sizes, so a function that does something else for what
is not an ``int`` is found out.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from ..report import TRACING, report
from . import tracing
from .generic import Generic, Make, Recorded, record
from .plan import Builder
from .tracing import Traced

# Combinations of sizes that are traced one by one before sizes are taken for variable, and that are compared with later ones.
TRACED_BEFORE = 2
MAX_SEEN = 32
# For so many combinations of sizes a trace that holds for all is compared with a trace for these alone.
CONFIRMATIONS = 2
# The most functions of one operation that are kept; those that were not called for longest are dropped first.
MAX_KEYS = 64
# Of one function, the most combinations of dimensions that are tried as variable.
MAX_VARIANTS = 8


class _Variant:
    """A function with some of its sizes variable, and the others as they are."""

    __slots__ = ("places", "fixed", "generic", "confirmations")

    def __init__(self, places: tuple[int, ...], values: Sequence[int]) -> None:
        self.places = places
        self.fixed = self._without_places(values)
        self.generic: Generic | None = None  # None where it could not be made, or was found to be wrong
        self.confirmations = 0

    def _without_places(self, values: Sequence[int]) -> list[int | None]:
        fixed: list[int | None] = list(values)
        for place in self.places:
            fixed[place] = None
        return fixed

    def differs_in_places(self, values: Sequence[int]) -> bool:
        """Whether these sizes differ in the places that are variable alone."""
        return self._without_places(values) == self.fixed

    def holds(self, values: Sequence[int]) -> bool:
        """Whether the function decides the same for these sizes."""
        if self.generic is None:
            return False
        try:
            return self.generic.holds([values[place] for place in self.places])
        except ArithmeticError:  # a division by a size that is zero
            return False

    def trace(self, make: Make, values: Sequence[int]) -> tuple[Traced, type]:
        """The trace for these sizes, for which the variant holds."""
        generic = self.generic
        assert generic is not None
        variable = [values[place] for place in self.places]
        if self.confirmations < CONFIRMATIONS:
            single, kind = record(make, values)
            recorded = Recorded(generic.inputs)
            recorded.outputs, recorded.outs = generic.append(variable, recorded)
            if kind is not generic.kind or not single.equals(recorded):
                raise TypeError("what it does depends on more than sizes")
            self.confirmations += 1
        builder = Builder(generic.inputs)
        return Traced(builder, *generic.append(variable, builder)), generic.kind


class _Calls:
    """What is known of a function that was called with arguments that differ in sizes alone."""

    __slots__ = ("seen", "variants")

    def __init__(self) -> None:
        self.seen: list[tuple[int, ...]] = []
        self.variants: list[_Variant] = []

    def variant_for(self, values: tuple[int, ...]) -> tuple[_Variant | None, bool]:
        """The variant that covers these sizes, and whether it is new. None where too little was seen."""
        failed: list[tuple[int, ...]] = []
        for variant in self.variants:
            if variant.differs_in_places(values):
                if variant.holds(values):
                    return variant, False
                if variant.generic is None:
                    failed.append(variant.places)
        if len(self.variants) >= MAX_VARIANTS:
            return None, False
        seen: dict[tuple[int, ...], int] = {}
        for others in self.seen:
            places = tuple([place for place, (a, b) in enumerate(zip(values, others, strict=True)) if a != b])
            seen[places] = seen.get(places, 0) + 1
        enough = [places for places, count in seen.items() if count >= TRACED_BEFORE and places not in failed]
        if not enough:
            return None, False
        variant = _Variant(min(enough, key=len), values)
        self.variants.append(variant)
        return variant, True


class Traces:
    """The traces of one operation that hold for other sizes, by everything in a call but its sizes."""

    __slots__ = ("_calls",)

    def __init__(self) -> None:
        self._calls: dict[object, _Calls] = {}

    def clear(self) -> None:
        self._calls.clear()

    def trace(self, key: object, values: tuple[int, ...], make: Make) -> tuple[Traced, type]:
        """Traces the function that ``make`` makes for these sizes, or takes a trace that holds for them; with the type of its result.

        Args:
            key: everything on which the function depends besides the sizes.
        """
        start = time.perf_counter()
        try:
            calls = self._calls.pop(key, None) or _Calls()
            self._calls[key] = calls  # as the last one
            if len(self._calls) > MAX_KEYS:
                self._calls.pop(next(iter(self._calls)), None)
            variant, new = calls.variant_for(values)
            if variant is not None:
                try:
                    if new:
                        variant.generic = Generic(make, values, variant.places)
                    return variant.trace(make, values)
                except Exception as reason:
                    # It needs the number of a size, or asks for its type. What is wrong with the function itself shows below.
                    variant.generic = None
                    report.not_generic[f"{type(reason).__name__}: {str(reason)[:80]}"] += 1
            if len(calls.seen) >= MAX_SEEN:
                del calls.seen[0]
            calls.seen.append(values)
            computation, avals = make(values)
            return tracing.trace(computation, avals), getattr(computation, "kind", tuple)
        finally:
            report.spend(TRACING, time.perf_counter() - start)
