"""Traces of functions that hold for other sizes as well: what varies from call to call in its sizes alone is not traced each time.

A function that has been traced for three combinations of sizes is traced once more with sizes that stand for any number (``sizes.py``).
What comes out holds for all sizes for which each comparison has the same answer. Two things are checked before it is used: that for the
sizes at hand, and for the next ones, it is what the function gives when it is traced for these numbers. So a function that does
something else for what is not an ``int`` is found out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Equation:
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

    def traced(self) -> Traced:
        """The same with the rules of the primitives, as ``trace`` would have returned it."""
        builder = Builder(self.inputs)
        builder.constants = list(self.constants)
        found: dict[Reference, Reference] = {}
        for equation in self.equations:
            inputs = [found.get(reference, reference) for reference in equation.inputs]
            if equation.primitive is None:
                builder.tie([found.get(reference, reference) for reference in equation.outputs], inputs)
                continue
            outputs = builder.equation(
                equation.primitive, equation.params, inputs, equation.in_avals, equation.out_avals
            )
            found.update(zip(equation.outputs, outputs, strict=True))
        return Traced(builder, [found.get(reference, reference) for reference in self.outputs], self.outs)

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
        self._recorded, self.kind = _record(make, mixed)
        sizes.traced = True
        self.holds = sizes.same_answers()
        self._expressions: dict[str, int] = {}
        self._equations = [
            (equation, self._template(tuple(equation.params.values())),
             self._template(equation.in_avals), self._template(equation.out_avals))
            for equation in self._recorded.equations
        ]  # fmt: skip
        self._outs = self._template(self._recorded.outs)
        self._constants = [
            (self._template(constant.size).number, constant.dtype) if isinstance(constant, _SizeConstant) else constant
            for constant in self._recorded.constants
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

    def recorded(self, values: Sequence[int]) -> Recorded:
        """What the function applies for these sizes, of those that are variable."""
        numbers = self._numbers(values)

        def filled(template: Any) -> Any:
            return template.fill(numbers) if template.__class__ is _Filled else template

        result = Recorded(self._recorded.inputs)
        result.constants = [
            np.asarray(numbers[constant[0]], constant[1]) if constant.__class__ is tuple else constant
            for constant in self._constants
        ]
        result.outputs = self._recorded.outputs
        result.equations = [
            Equation(
                equation.primitive,
                dict(zip(equation.params, filled(params), strict=True)) if params.__class__ is _Filled else equation.params,
                equation.inputs,
                filled(in_avals),
                equation.outputs,
                filled(out_avals),
            )
            for equation, params, in_avals, out_avals in self._equations
        ]  # fmt: skip
        result.outs = filled(self._outs)
        return result


class _Variant:
    """A function with some of its sizes variable, and the others as they are."""

    __slots__ = ("places", "fixed", "generic", "confirmed")

    def __init__(self, places: tuple[int, ...], values: Sequence[int]) -> None:
        self.places = places
        self.fixed = self._without_places(values)
        self.generic: Generic | None = None  # None where it could not be made, or was found to be wrong
        self.confirmed = False

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
        recorded = generic.recorded([values[place] for place in self.places])
        if not self.confirmed:
            single, kind = _record(make, values)
            if kind is not generic.kind or not single.equals(recorded):
                self.generic = None
                report.not_generic["what it does depends on more than sizes"] += 1
            self.confirmed = True
            return single.traced(), kind
        return recorded.traced(), generic.kind


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
                    # It needs the number of a size, say. What is wrong with the function itself shows below.
                    variant.generic = None
                    report.not_generic[f"{type(reason).__name__}: {str(reason)[:80]}"] += 1
            if len(calls.seen) >= MAX_SEEN:
                del calls.seen[0]
            calls.seen.append(values)
            computation, avals = make(values)
            return tracing.trace(computation, avals), getattr(computation, "kind", tuple)
        finally:
            report.spend(TRACING, time.perf_counter() - start)
