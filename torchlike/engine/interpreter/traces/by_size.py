"""The traces of an operation. Calls that differ only in sizes share a trace.

When a function is called with a third combination of sizes, it is traced once more with sizes that stand for any number
(``generic.py``). That trace is compared with the traces for the actual sizes of two calls. The comparison detects functions that behave
differently for a size that is not an ``int``.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from functools import partial

from ...places import at_places
from ...report import TRACING, report
from ..tracing import Traced
from .generic import Generic, Make, Recorded, record
from .instances import Instances
from .kept import GenericPlace, found_or_traced

# How many combinations of sizes are traced one by one before their sizes are treated as variable.
TRACED_BEFORE = 2
MAX_SEEN = 32
# For how many combinations of sizes the trace with variable sizes is compared with the trace for the actual sizes.
CONFIRMATIONS = 2
# How many functions of one operation are kept; the least recently called are dropped.
MAX_KEYS = 64
# How many combinations of variable dimensions are tried for one function.
MAX_VARIANTS = 8


class _Variant:
    """A trace of a function in which some sizes are variable and the others fixed."""

    __slots__ = ("places", "generic", "_kept", "_instances", "_variable_of", "_fixed_of", "_fixed")

    def __init__(self, places: tuple[int, ...], values: Sequence[int]) -> None:
        self.places = places
        self._variable_of = at_places(places)
        self._fixed_of = at_places([place for place in range(len(values)) if place not in places])
        self._fixed = self._fixed_of(values)
        # None also if tracing failed, or if the comparison showed that the trace is wrong.
        self.generic: Generic | None = None
        self._kept: GenericPlace | None = None
        self._instances: Instances | None = None

    def begin(self, name: str, key: object, make: Make, values: Sequence[int]) -> None:
        """Finds or makes the trace; ``values`` are the first sizes that it must hold for."""
        self._kept = GenericPlace(
            name, (key, self.places, self._fixed), partial(_holds, sizes=self._variable_of(values))
        )
        if self._kept.found:
            self.generic = self._kept.generic
            return
        self.generic = Generic(make, values, self.places)

    @property
    def was_found(self) -> bool:
        """Whether an earlier process has made the trace, or found out that there is none."""
        return self._kept is not None and self._kept.found

    def fail(self) -> None:
        """Notes that there is no such trace."""
        self.generic = None
        if self._kept is not None:
            self._kept.keep(None)

    def differs_in_places(self, values: Sequence[int]) -> bool:
        """Whether these sizes differ only where this variant has variable sizes."""
        return self._fixed_of(values) == self._fixed

    def holds(self, values: Sequence[int]) -> bool:
        """Whether every comparison of sizes that the function made has the same outcome for these sizes."""
        return self.generic is not None and _holds(self.generic, self._variable_of(values))

    def trace(self, make: Make, values: Sequence[int]) -> tuple[Traced, type]:
        """Returns the trace for these sizes, for which ``holds`` must be true."""
        generic, kept = self.generic, self._kept
        assert generic is not None and kept is not None
        variable = self._variable_of(values)
        if len(kept.confirmed) < CONFIRMATIONS and tuple(variable) not in kept.confirmed:
            single, kind = record(make, values)
            recorded = Recorded(generic.inputs)
            recorded.outputs, recorded.outs = generic.append(variable, recorded)
            if kind is not generic.kind or not single.equals(recorded):
                raise TypeError("what it does depends on more than sizes")
            kept.confirmed.append(tuple(variable))
            kept.keep(generic)
        if self._instances is None:
            self._instances = Instances(generic)
        return self._instances(variable), generic.kind

    @property
    def confirmed(self) -> bool:
        """Whether nothing is left to compare the trace with."""
        return self.generic is not None and self._kept is not None and len(self._kept.confirmed) >= CONFIRMATIONS

    def known(self, values: Sequence[int]) -> tuple[Traced, type] | None:
        """The trace for these sizes where the variant, which is confirmed, covers them; else None."""
        generic, instances = self.generic, self._instances
        if generic is None or instances is None or not self.differs_in_places(values) or not self.holds(values):
            return None
        return instances(self._variable_of(values)), generic.kind


def _holds(generic: Generic, sizes: Sequence[int]) -> bool:
    try:
        return generic.holds(sizes)
    except ArithmeticError:  # a division by a size that is zero
        return False


class Calls:
    """The calls and variants of one function whose arguments have differed only in sizes."""

    __slots__ = ("key", "seen", "variants", "latest")

    def __init__(self, key: object) -> None:
        self.key = key
        self.seen: list[tuple[int, ...]] = []
        self.variants: list[_Variant] = []
        self.latest: _Variant | None = None  # the confirmed one that was used last

    def variant_for(self, values: tuple[int, ...]) -> tuple[_Variant | None, bool]:
        """Returns the variant that covers these sizes, and whether it is new; None after too few calls."""
        failed: list[tuple[int, ...]] = []
        for variant in self.variants:
            if variant.differs_in_places(values):
                if variant.holds(values):
                    return variant, False
                if variant.generic is None:
                    failed.append(variant.places)
        if len(self.variants) >= MAX_VARIANTS:
            return None, False
        times_seen: dict[tuple[int, ...], int] = {}
        for others in self.seen:
            places = tuple([place for place, (a, b) in enumerate(zip(values, others, strict=True)) if a != b])
            times_seen[places] = times_seen.get(places, 0) + 1
        enough = [places for places, count in times_seen.items() if count >= TRACED_BEFORE and places not in failed]
        if not enough:
            return None, False
        variant = _Variant(min(enough, key=len), values)
        self.variants.append(variant)
        return variant, True


class Traces:
    """The traces of one operation that cover several sizes. The key is everything in a call except its sizes."""

    __slots__ = ("_calls", "_name")

    def __init__(self, name: Callable[[], str] = str) -> None:
        """``name``: says what is traced, in the same words in each process, if it depends on nothing but the package's files."""
        self._calls: dict[object, Calls] = {}
        self._name = name

    def clear(self) -> None:
        self._calls.clear()

    def calls(self, key: object) -> Calls:
        """The calls of one function. ``key``: everything on which it depends besides the sizes."""
        calls = self._calls.pop(key, None) or Calls(key)
        self._calls[calls.key] = calls  # the last one
        if len(self._calls) > MAX_KEYS:
            self._calls.pop(next(iter(self._calls)), None)
        return calls

    def trace(self, calls: Calls, values: tuple[int, ...], make: Make) -> tuple[Traced, type]:
        """Returns a trace of the function that ``make`` returns for these sizes, new or reused, and the type of its result."""
        known = None if calls.latest is None else calls.latest.known(values)
        if known is not None:
            return known
        start = time.perf_counter()
        try:
            variant, new = calls.variant_for(values)
            if variant is not None:
                traced = None
                try:
                    if new:
                        variant.begin(self._name(), calls.key, make, values)
                    if variant.generic is not None:
                        traced = variant.trace(make, values)
                except Exception as reason:
                    # The function needs the actual number of a size, or its type. An error of the function itself is raised again below.
                    variant.fail()
                    report.not_generic[f"{type(reason).__name__}: {str(reason)[:80]}"] += 1
                if new and not variant.was_found:
                    # JAX finds out by an exception that a size is no int, and each such exception is in a cycle with the frame that
                    # caught it, which holds the frames of its callers and so the inputs of the op. If these lived until the garbage
                    # collector runs by itself, they would be outputs of the program that is compiled next.
                    gc.collect(1)
                if traced is not None:
                    calls.latest = variant if variant.confirmed else None
                    return traced
            if len(calls.seen) >= MAX_SEEN:
                del calls.seen[0]
            calls.seen.append(values)
            computation, avals = make(values)
            return found_or_traced(self._name(), (calls.key, values), computation, avals)
        finally:
            report.spend(TRACING, time.perf_counter() - start)
