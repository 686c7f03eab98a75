"""A trace that holds for other sizes too: the function is traced with sizes that stand for any number (``sizes.py``).

The trace holds for all sizes for which each comparison has the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jax import Array

from ...jax_settings import tracing as in_jax
from .. import tracing
from ..plan import CALLS
from ..rules import Parameters, Reference, ShapedDtype
from .sizes import Size, Sizes


class Shaped(NamedTuple):
    """Shape and dtype of an array; its sizes may be variable."""

    shape: tuple[Any, ...]
    dtype: np.dtype


# Makes the function for these sizes, and says what its inputs are. What it may set itself as its ``kind`` when it runs is kept.
Make = Callable[[Sequence[Any]], tuple[Callable[..., Sequence[Array]], Sequence[ShapedDtype]]]


class Primitive(NamedTuple):
    """What a builder has to know of a primitive of JAX's."""

    name: str
    multiple_results: bool


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
        primitive: Any,
        params: Parameters,
        inputs: list[Reference],
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
    ) -> list[Reference]:
        """Notes a primitive. Returns references to its outputs."""
        outputs = [("t", self.temporaries + number) for number in range(len(out_avals))]
        self.temporaries += len(out_avals)
        known = Primitive(primitive.name, primitive.multiple_results)
        noted = Equation(known, dict(params.items()), inputs, _shaped(in_avals), outputs, _shaped(out_avals))
        self.equations.append(noted)
        return outputs

    def tie(self, outputs: Sequence[Reference], inputs: Sequence[Reference]) -> None:
        """Notes that outputs depend on inputs."""
        self.equations.append(Equation(None, {}, list(inputs), (), list(outputs), ()))

    def replay(self, builder: Any) -> list[Reference]:
        """Appends what was noted to a builder of as many inputs; returns references to the outputs."""
        builder.constants = [*self.constants]
        references: dict[Reference, Reference] = {}  # of those that the builder has given another number
        for primitive, params, inputs, in_avals, outputs, out_avals in self.equations:
            inputs = [references.get(reference, reference) for reference in inputs]
            if primitive is None:
                builder.tie([references.get(reference, reference) for reference in outputs], inputs)
            else:
                results = builder.equation(primitive, params, inputs, in_avals, out_avals)
                references.update(zip(outputs, results, strict=True))
        return [references.get(reference, reference) for reference in self.outputs]

    def equals(self, other: Recorded) -> bool:
        """Whether both are the same, constants and parameters included."""
        if (self.outputs, self.outs, len(self.constants)) != (other.outputs, other.outs, len(other.constants)):
            return False
        pairs = zip(self.constants, other.constants, strict=True)
        if any((a.dtype, a.shape) != (b.dtype, b.shape) or a.tobytes() != b.tobytes() for a, b in pairs):
            return False
        return self.equations == other.equations


def depends_on_sizes(entry: Any) -> bool:
    """Whether a variable size is in a parameter, or in parts of it."""
    if isinstance(entry, Size):
        return True
    parts = entry.values() if isinstance(entry, dict) else entry if isinstance(entry, (tuple, list)) else ()
    return any(map(depends_on_sizes, parts))


def _shaped(avals: Sequence[Any]) -> list[Shaped]:
    return [Shaped(aval.shape, aval.dtype) for aval in avals]


@in_jax
def record(make: Make, sizes: Sequence[Any]) -> tuple[Recorded, type]:
    """What the function applies for these sizes, and the type of its result."""
    computation, avals = make(sizes)
    recorded = Recorded(len(avals))
    with tracing.computing_by_numpy():
        recorded.outputs, outs = tracing.append(computation, avals, recorded)
    recorded.outs = _shaped(outs)
    return recorded, getattr(computation, "kind", tuple)


def _with_variable_sizes(
    make: Make, values: Sequence[int], variable: Sequence[int], number: int
) -> tuple[Recorded, type, Sizes]:
    """What ``record`` returns where some of the sizes stand for any number, and these sizes."""
    sizes = Sizes([values[place] for place in variable], number)
    mixed: list[Any] = list(values)
    for place, size in zip(variable, sizes.sizes, strict=True):
        mixed[place] = size
    try:
        return *record(make, mixed), sizes
    finally:
        sizes.traced = True
        sizes.sizes.clear()  # tables of JAX's may keep them, and what they let go at last shall be in no cycle


class _Place(NamedTuple):
    """Stands for a variable size: the number of its expression."""

    number: int


class _Filled(NamedTuple):
    """A sequence of this class with variable sizes in it."""

    kind: Any
    entries: list[Any]

    def fill(self, numbers: Sequence[int]) -> Any:
        """The sequence with these numbers in their places."""
        return getattr(self.kind, "_make", self.kind)([
            numbers[e.number] if e.__class__ is _Place else e.fill(numbers) if e.__class__ is _Filled else e
            for e in self.entries
        ])  # fmt: skip


def _source(entry: int | _Place) -> str:
    """A size of a shape, as source that reads the values of the expressions from ``s``."""
    return f"s[{entry.number}]" if isinstance(entry, _Place) else str(int(entry))


class FromSize(NamedTuple):
    """A constant of the function that is computed from sizes: the number of its expression."""

    number: int
    dtype: np.dtype


def filled(template: Any, numbers: Sequence[int]) -> Any:
    """What a template stands for, for these values of the expressions."""
    return numbers[template.number] if template.__class__ is _Place else template.fill(numbers)


class GenericAval(NamedTuple):
    """Shape and dtype of an array, some of whose sizes are filled in."""

    shape: Any
    dtype: np.dtype


# With its parameters that depend on sizes as templates, and the numbers of the avals of its inputs and outputs.
GenericEquation = tuple[Equation, list[tuple[str, Any]], list[int], list[int]]
# Expressions of sizes are made of these alone, so that they read nothing but ``s``, and call nothing.
_ARITHMETIC = re.compile(r"(?:[s\d\[\]()+\-*/%<>=!, ]|and|not|True)*")


def compiled(expression: str) -> Callable[[Sequence[int]], Any]:
    """An expression of the sizes ``s``, as a function of them.

    Raises:
        ValueError: it is none.
    """
    if _ARITHMETIC.fullmatch(expression) is None:
        raise ValueError(f"no arithmetic of sizes: {expression!r}")
    return eval(f"lambda s: {expression}")


class Generic:
    """What a function computes, for all sizes for which ``holds`` is true.

    Attributes:
        kind: the type of the function's result.
        inputs, temporaries: how many there are, as in ``Recorded``.
        equations: each with its parameters that depend on sizes, as templates, and the numbers of its avals.
        avals: each kind of array that occurs once, since most occur in several equations.
        constants: arrays, or what is computed from sizes.
        outputs, outs: references to the results, and the numbers of their avals.
        numbers: computes all expressions of sizes that occur.
        flat: whether no equation contains a function of its own.
        pads: whether an equation writes an array into a larger one.
        needed: the numbers of the equations that the results depend on.
        constant_equations: the numbers of those among them that depend on nothing but constants.
    """

    def __init__(self, make: Make, values: Sequence[int], variable: Sequence[int]) -> None:
        """``values``: sizes for which the function was called; ``variable``: which of them stand for any number."""
        recorded, kind, sizes = _with_variable_sizes(make, values, variable, 0)
        if sizes.excludes:
            # Tables of JAX's compare an entry with what is looked up in one case of a hundred, also where their hashes differ. What was
            # compared for that alone is not compared once more when the hashes are others, and so it does not limit the trace.
            again = _with_variable_sizes(make, values, variable, 1)[-1]
            sizes.answers = {asked: answer for asked, answer in sizes.answers.items() if asked in again.answers}
        self._expressions: dict[str, int] = {}
        self._numbers_of_avals: dict[object, int] = {}
        self.avals = []
        equations: list[GenericEquation] = []
        for equation in recorded.equations:
            templates = [
                (name, t) for name, value in equation.params.items() if (t := self._template(value)) is not value
            ]
            ins, outs = [*map(self._number, equation.in_avals)], [*map(self._number, equation.out_avals)]
            equations.append((equation, templates, ins, outs))
        outs = [*map(self._number, recorded.outs)]
        constants = [
            FromSize(self._template(constant.size).number, constant.dtype)
            if isinstance(constant, _SizeConstant)
            else constant
            for constant in recorded.constants
        ]
        self._set(
            sizes.condition(), [*self._expressions], kind, recorded.inputs, recorded.temporaries, equations, self.avals, constants,
            recorded.outputs, outs,
        )  # fmt: skip

    def _set(
        self,
        condition: str,
        expressions: list[str],
        kind: type,
        inputs: int,
        temporaries: int,
        equations: list[GenericEquation],
        avals: list[Shaped | GenericAval],
        constants: list[Any],
        outputs: list[Reference],
        outs: list[int],
    ) -> None:
        self.holds = compiled(condition)
        self.numbers: Callable[[Sequence[int]], tuple[int, ...]] = compiled(
            f"({''.join(f'{e},' for e in expressions)})"
        )
        self.kind, self.inputs, self.temporaries = kind, inputs, temporaries
        self.equations, self.avals, self.constants, self.outputs, self.outs = equations, avals, constants, outputs, outs
        names = {equation.primitive.name for equation, *_ in equations if equation.primitive is not None}
        self.flat, self.pads = names.isdisjoint(CALLS), "pad" in names
        self.needed, self.constant_equations = _dependences(
            [equation for equation, *_ in equations], outputs, len(constants)
        )
        self._parts = condition, expressions
        self._unfixed = [n for n, aval in enumerate(avals) if aval.__class__ is GenericAval]
        self._shapes: Callable[[Sequence[int]], Sequence[tuple[int, ...]]] | None = None

    def parts(self, kept: Callable[[dict[str, Any]], dict[str, object]]) -> tuple[object, ...]:
        """What ``of_parts`` makes an equal one of. ``kept``: the parameters of an equation that are to be among it."""
        equations = []
        for (primitive, params, inputs, _, outputs, _), templates, ins, outs in self.equations:
            filled_in = {name for name, _ in templates}
            fixed = kept({name: value for name, value in params.items() if name not in filled_in})
            equations.append((primitive, fixed, inputs, outputs, templates, ins, outs))
        rest = self.avals, self.constants, self.outputs, self.outs
        return *self._parts, self.kind, self.inputs, self.temporaries, equations, *rest

    @classmethod
    def of_parts(cls, parts: Any) -> Generic:
        """What ``parts`` describes."""
        self = cls.__new__(cls)
        condition, expressions, kind, inputs, temporaries, equations, avals, constants, outputs, outs = parts
        whole = [(Equation(p, fixed, ins, (), outs, ()), *rest) for p, fixed, ins, outs, *rest in equations]
        self._set(condition, expressions, kind, inputs, temporaries, whole, avals, constants, outputs, outs)
        return self

    def _template(self, entry: Any) -> Any:
        """The entry itself, or where sizes are in it, something that is filled in with them."""
        if isinstance(entry, Size):
            return _Place(self._expressions.setdefault(entry.expression, len(self._expressions)))
        if not isinstance(entry, (tuple, list)):
            return entry
        entries = [self._template(element) for element in entry]
        if all(a is b for a, b in zip(entries, entry, strict=True)):
            return entry
        return _Filled(type(entry), entries)

    def _number(self, aval: Shaped) -> int:
        """The number of this shape and dtype among those that occur."""
        key = (aval.dtype, *[n.expression if isinstance(n, Size) else n for n in aval.shape])
        number = self._numbers_of_avals.setdefault(key, len(self.avals))
        if number == len(self.avals):
            shape = self._template(aval.shape)
            self.avals.append(aval if shape is aval.shape else GenericAval(shape, aval.dtype))
        return number

    def avals_of(self, numbers: Sequence[int]) -> list[Shaped]:
        """All avals, for these values of the expressions."""
        avals: list[Any] = [*self.avals]
        if self._shapes is None:
            shapes = ["".join([f"{_source(entry)}," for entry in avals[n].shape.entries]) for n in self._unfixed]
            self._shapes = compiled(f"({''.join([f'({shape}),' for shape in shapes])})")
        for n, shape in zip(self._unfixed, self._shapes(numbers), strict=True):
            avals[n] = Shaped(shape, avals[n].dtype)
        return avals

    def append(self, values: Sequence[int], builder: Any) -> tuple[list[Reference], list[Shaped]]:
        """Appends what the function applies for these sizes (of those that are variable); returns references to its results."""
        numbers = self.numbers(values)
        avals = self.avals_of(numbers)
        builder.constants = [
            np.asarray(numbers[constant.number], constant.dtype) if constant.__class__ is FromSize else constant
            for constant in self.constants
        ]
        references: dict[Reference, Reference] = {}  # of those that the builder has given another number
        for (primitive, params, inputs, _, outputs, _), templates, ins, outs in self.equations:
            if references:
                inputs = [references.get(reference, reference) for reference in inputs]
            if primitive is None:
                builder.tie([references.get(reference, reference) for reference in outputs], inputs)
                continue
            if templates:
                params = {**params, **{name: filled(template, numbers) for name, template in templates}}
            results = builder.equation(primitive, params, inputs, [avals[n] for n in ins], [avals[n] for n in outs])
            if results != outputs:
                references.update(zip(outputs, results, strict=True))
        return [references.get(reference, reference) for reference in self.outputs], [avals[n] for n in self.outs]


def _dependences(equations: list[Equation], outputs: list[Reference], constants: int) -> tuple[list[int], list[int]]:
    """The numbers of the equations on which the results depend, and of those among them that depend on constants alone."""
    references, needed = set(outputs), []
    for number, equation in reversed([*enumerate(equations)]):
        if equation.primitive is not None and not references.isdisjoint(equation.outputs):
            references.update(equation.inputs)
            needed.append(number)
    needed.reverse()
    constant, known = [], {("c", number) for number in range(constants)}
    for number in needed:
        equation = equations[number]
        if known.issuperset(equation.inputs):
            known.update(equation.outputs)
            constant.append(number)
    return needed, constant
