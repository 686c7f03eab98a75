"""Traces of functions that hold for other sizes as well: what varies from call to call in its sizes alone is not traced each time.

A function that comes with a third combination of sizes is traced once more, with sizes that stand for any number (``sizes.py``). What
comes out holds for all sizes for which each comparison has the same answer. It is compared with traces for the numbers themselves for two
combinations of sizes, so a function that does something else for what is not an ``int`` is found out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import Array
from jax.extend.core import Primitive

from ..jax_settings import tracing as in_jax
from ..report import TRACING, report
from . import tracing
from .plan import Builder
from .rules import Parameters, Reference, ShapedDtype
from .sizes import Size, Sizes
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


class Shaped(NamedTuple):
    """Shape and dtype of an array; its sizes may be variable."""

    shape: tuple[Any, ...]
    dtype: np.dtype


# Makes the function for these sizes, and says what its inputs are. What it may set itself as its ``kind`` when it runs is kept.
Make = Callable[[Sequence[Any]], tuple[Callable[..., Sequence[Array]], Sequence[ShapedDtype]]]


class Equation(NamedTuple):
    """A primitive that the function applies. Without a primitive: that the outputs depend on the inputs, see ``Builder.tie``."""

    primitive: Primitive | None
    params: dict[str, Any]
    inputs: list[Reference]
    in_avals: Sequence[Any]
    outputs: list[Reference]
    out_avals: Sequence[Any]


class _SizeConstant(NamedTuple):
    """Stands for a constant of the function that is a size."""

    size: Any
    dtype: np.dtype


def as_constant(number: Any, dtype: Any) -> Any:
    """A number that may be computed from sizes, as a constant array of the function that is being traced."""
    trace = tracing.current_trace()
    plan = getattr(trace, "plan", trace)  # that of a trace that differentiates
    if not isinstance(plan, tracing.PlanTrace):
        return np.asarray(number, dtype)
    # In both cases a value of the trace, with which JAX does the same.
    constant: Any = _SizeConstant(number, np.dtype(dtype)) if isinstance(number, Size) else np.asarray(number, dtype)
    return tracing.PlanTracer(plan, tracing.ShapedArray((), constant.dtype), plan.builder.constant(constant))


class Recorded:
    """The primitives that a function applies, noted where ``Builder`` would look for their rules."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.constants: list[Any] = []
        self.equations: list[Equation] = []
        self.temporaries = 0
        self.outputs: list[Reference] = []
        self.outs: Sequence[Any] = ()

    def constant(self, value: np.ndarray | _SizeConstant) -> Reference:
        if value.dtype == object:
            raise TypeError("an array of sizes")
        self.constants.append(value)
        return "c", len(self.constants) - 1

    def equation(
        self,
        primitive: Primitive,
        params: Parameters,
        inputs: list[Reference],
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
    ) -> list[Reference]:
        """Notes a primitive. Returns references to its outputs."""
        outputs = [("t", self.temporaries + number) for number in range(len(out_avals))]
        self.temporaries += len(out_avals)
        noted = Equation(primitive, dict(params.items()), inputs, _shaped(in_avals), outputs, _shaped(out_avals))
        self.equations.append(noted)
        return outputs

    def tie(self, outputs: Sequence[Reference], inputs: Sequence[Reference]) -> None:
        """Notes that outputs depend on inputs."""
        self.equations.append(Equation(None, {}, list(inputs), (), list(outputs), ()))

    def equals(self, other: Recorded) -> bool:
        """Whether both are the same, constants and parameters included."""
        if (self.outputs, self.outs, len(self.constants)) != (other.outputs, other.outs, len(other.constants)):
            return False
        pairs = zip(self.constants, other.constants, strict=True)
        if any((a.dtype, a.shape) != (b.dtype, b.shape) or a.tobytes() != b.tobytes() for a, b in pairs):
            return False
        return self.equations == other.equations


def _shaped(avals: Sequence[Any]) -> list[Shaped]:
    return [Shaped(aval.shape, aval.dtype) for aval in avals]


@in_jax
def _record(make: Make, sizes: Sequence[Any]) -> tuple[Recorded, type]:
    computation, avals = make(sizes)
    recorded = Recorded(len(avals))
    with tracing.computing_by_numpy():
        recorded.outputs, outs = tracing.append(computation, avals, recorded)
    recorded.outs = _shaped(outs)
    return recorded, getattr(computation, "kind", tuple)


class _Place(NamedTuple):
    """Stands for a variable size: the number of its expression."""

    number: int


class _Filled(NamedTuple):
    """A sequence with variable sizes in it."""

    kind: Callable[[list[Any]], Any]
    entries: list[Any]

    def fill(self, numbers: Sequence[int]) -> Any:
        """The sequence with these numbers in their places."""
        return self.kind([
            numbers[e.number] if e.__class__ is _Place else e.fill(numbers) if e.__class__ is _Filled else e
            for e in self.entries
        ])  # fmt: skip


class Generic:
    """What a function computes, for all sizes for which ``holds`` is true."""

    def __init__(self, make: Make, values: Sequence[int], variable: Sequence[int]) -> None:
        """``values``: sizes for which the function was called; ``variable``: which of them stand for any number."""
        sizes = Sizes([values[place] for place in variable])
        mixed: list[Any] = list(values)
        for place, size in zip(variable, sizes.sizes, strict=True):
            mixed[place] = size
        try:
            recorded, self.kind = _record(make, mixed)
        finally:
            sizes.traced = True  # tables of JAX's may keep them
        self.holds = sizes.same_answers()
        self.inputs = recorded.inputs
        self._expressions: dict[str, int] = {}
        self._avals: list[Any] = []  # each kind of array that occurs once, since most occur in several equations
        self._numbers_of_avals: dict[object, int] = {}
        self._equations = [
            (
                equation,
                [(name, t) for name, value in equation.params.items() if (t := self._template(value)) is not value],
                [*map(self._number, equation.in_avals)],
                [*map(self._number, equation.out_avals)],
            )
            for equation in recorded.equations
        ]
        self._outputs, self._outs = recorded.outputs, [*map(self._number, recorded.outs)]
        self._constants = [
            (self._template(constant.size), constant.dtype) if isinstance(constant, _SizeConstant) else constant
            for constant in recorded.constants
        ]
        self._numbers: Callable[[Sequence[int]], tuple[int, ...]] = eval(
            f"lambda s: ({''.join(f'{expression},' for expression in self._expressions)})"
        )

    def _template(self, entry: Any) -> Any:
        """The entry itself, or where sizes are in it, something that is filled in with them."""
        if isinstance(entry, Size):
            return _Place(self._expressions.setdefault(entry.expression, len(self._expressions)))
        if not isinstance(entry, (tuple, list)):
            return entry
        entries = [self._template(element) for element in entry]
        if all(a is b for a, b in zip(entries, entry, strict=True)):
            return entry
        kind: Any = type(entry)
        return _Filled(kind._make if hasattr(kind, "_make") else kind, entries)

    def _number(self, aval: Shaped) -> int:
        """The number of this shape and dtype among those that occur."""
        key = (aval.dtype, *[n.expression if isinstance(n, Size) else n for n in aval.shape])
        number = self._numbers_of_avals.setdefault(key, len(self._avals))
        if number == len(self._avals):
            shape = self._template(aval.shape)
            self._avals.append(aval if shape is aval.shape else (shape, aval.dtype))
        return number

    def append(self, values: Sequence[int], builder: Any) -> tuple[list[Reference], list[Shaped]]:
        """Appends what the function applies for these sizes (of those that are variable); returns references to its results."""
        numbers = self._numbers(values)
        avals = [a if a.__class__ is Shaped else Shaped(a[0].fill(numbers), a[1]) for a in self._avals]
        builder.constants = [
            np.asarray(numbers[constant[0].number], constant[1]) if constant.__class__ is tuple else constant
            for constant in self._constants
        ]
        references: dict[Reference, Reference] = {}  # of those that the builder has given another number
        for (primitive, params, inputs, _, outputs, _), templates, ins, outs in self._equations:
            if references:
                inputs = [references.get(reference, reference) for reference in inputs]
            if primitive is None:
                builder.tie([references.get(reference, reference) for reference in outputs], inputs)
                continue
            if templates:
                filled = {
                    name: numbers[t.number] if t.__class__ is _Place else t.fill(numbers) for name, t in templates
                }
                params = {**params, **filled}
            results = builder.equation(primitive, params, inputs, [avals[n] for n in ins], [avals[n] for n in outs])
            if results != outputs:
                references.update(zip(outputs, results, strict=True))
        return [references.get(reference, reference) for reference in self._outputs], [avals[n] for n in self._outs]


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
            single, kind = _record(make, values)
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

    def __len__(self) -> int:
        return len(self._calls)

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
