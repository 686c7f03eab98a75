"""Turns a jaxpr into a list of NumPy calls, once, and runs that list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import prod
from typing import Any, NoReturn, TypeVar

import numpy as np
from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Primitive

from ..jax_settings import tracing
from ..places import at_places, places_of
from .fused import Loop, Pad, as_loop, fuse, seconds_of_pads, seconds_of_passes
from .rules import RULES, Parameters, Reference, ShapedDtype, Unsupported, itself, seconds_of_call
from .running import NumPyCall, Overwriting, needed_for, run, with_ends

# Primitives that only call the jaxpr in one of their parameters. The jaxpr is inlined.
CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
}
CONVOLUTIONS = frozenset(("conv_general_dilated", "torchlike_convolution"))
# Results that depend on constants alone are computed when the plan is made, if they have at most this many bytes. Thousands of plans are
# kept, one for each combination of sizes, so larger results would fill the memory. Computing 64 KB in each run takes a few microseconds.
MAX_CONSTANT_BYTES = 4096
# Results of at least this many bytes are written over inputs that nobody reads any more, since allocating memory takes as long as
# computing; and where there are such results, each is dropped after its last use.
MIN_REUSED_BYTES = 65536

# A call before slots are numbered, and an estimate of its seconds. The function is None if the primitive has no rule.
_Step = tuple[Any, list[Reference], Reference | list[Reference], float]
# Of which primitive a call was made: name, parameters, avals of the inputs and of the outputs, and whether there may be several of these.
Applied = tuple[str, Parameters, Sequence[ShapedDtype], Sequence[ShapedDtype], bool]


class Plan:
    """NumPy calls in order, over a list of slots: constants first, then the inputs, then what the calls compute.

    ``cost`` estimates the seconds of a run, and ``in_passes`` those of them in the passes of ``fused.py``. They are functions of shapes
    alone, so decisions that use them are the same in each process.
    """

    __slots__ = (
        "_slots", "_first_input", "_calls", "_outputs", "_ending_calls", "_without", "_number", "_in_library", "cost", "in_passes"
    )  # fmt: skip

    def __init__(
        self,
        slots: tuple[Any, ...],
        first_input: int,
        calls: tuple[NumPyCall, ...],
        outputs: tuple[int, ...],
        cost: float,
        large: bool = False,
        pads: bool = True,
    ) -> None:
        """``large``: there are results so large that each is dropped after its last use. ``pads``: a call may be a ``Pad``."""
        # Tuples, which the garbage collector need not look through again where they hold arrays and numbers.
        self._slots = slots
        self._first_input = first_input
        self._calls = calls
        self._outputs = outputs
        kept = (*range(first_input), *outputs)
        fused = fuse(calls, kept) if large else ()
        self._ending_calls = with_ends(fused, kept) if large else None
        self.in_passes = seconds_of_passes(fused)
        self.cost = cost + self.in_passes + (seconds_of_pads(fused if large else calls) if pads else 0.0)
        self._without: dict[tuple[int, ...], Plan] | None = None
        # Negative until somebody asks for them, as each run of an op that takes long does.
        self._number, self._in_library = -1, -1.0

    @property
    def calls(self) -> int:
        """The number of NumPy calls; the body of a loop counts once."""
        if self._number < 0:
            self._number = sum([1 + getattr(call[0], "extra_calls", 0) for call in self._calls])
        return self._number

    @property
    def in_library(self) -> float:
        """The part of ``cost`` that products and convolutions take, which no compilation makes faster."""
        if self._in_library < 0:
            self._in_library = sum([getattr(call[0], "in_library", 0.0) for call in self._calls])
        return self._in_library

    # ---- for ``JoinedPlan``: what a plan consists of, in the slots of a longer one

    def slots_around(self, inputs: int) -> tuple[Sequence[object], Sequence[object]]:
        """What stands in the slots before those of the inputs, of which there are so many, and in those after them."""
        first = self._first_input
        return self._slots[:first], self._slots[first + inputs :]

    def calls_in(self, slots: Sequence[int]) -> Iterator[NumPyCall]:
        """The calls with these slots in the place of the plan's own."""
        for function, inputs, output in self._calls:
            yield (
                function,
                slots[inputs] if inputs.__class__ is int else at_places([slots[i] for i in places_of(inputs)]),
                slots[output] if output.__class__ is int else tuple([slots[i] for i in output]),
            )

    def outputs_in(self, slots: Sequence[int]) -> list[int]:
        """Which of these slots hold the results."""
        return [slots[i] for i in self._outputs]

    @property
    def outputs(self) -> int:
        """The number of results."""
        return len(self._outputs)

    def without(self, unread: tuple[int, ...]) -> Plan:
        """The plan that leaves out the results of these numbers, in whose places it returns None."""
        if self._without is None:
            self._without = {}
        plan = self._without.get(unread)
        if plan is None:
            read = [slot for number, slot in enumerate(self._outputs) if number not in unread]
            calls = needed_for(read, self._calls)
            plan = self
            if len(calls) < len(self._calls):
                large = self._ending_calls is not None
                plan = Plan(self._slots, self._first_input, tuple(calls), self._outputs, 0.0, large)
            self._without[unread] = plan
        return plan

    def __call__(self, *arrays: np.ndarray) -> list[np.ndarray]:
        if self._ending_calls is not None:
            return self.consuming([*arrays])
        slots = [*self._slots]
        first = self._first_input
        slots[first : first + len(arrays)] = arrays
        for function, inputs, output in self._calls:
            results: Any = function(slots[inputs]) if inputs.__class__ is int else function(*inputs(slots))
            if output.__class__ is int:
                slots[output] = results
            else:
                for slot, result in zip(output, results, strict=True):
                    slots[slot] = result
        return [slots[i] for i in self._outputs]

    def consuming(self, arrays: list[Any]) -> list[np.ndarray]:
        """The same, of arrays that the list alone may hold: it is emptied, and results may be written over them."""
        if self._ending_calls is None:
            return self(*arrays)
        slots = [*self._slots]
        first = self._first_input
        slots[first : first + len(arrays)] = arrays
        arrays.clear()
        run(slots, self._ending_calls)
        return [slots[i] for i in self._outputs]


# Primitives that read no more of their first input than the result holds.
READ_A_PART = frozenset({"slice", "dynamic_slice", "gather"})
# For how many bytes a primitive takes the time, for each byte that it reads and writes: a view none, a reshape of what was transposed a
# copy, and what goes by indices or by parts of rows several.
BYTES_FOR_EACH = {
    **dict.fromkeys(("slice", "transpose", "broadcast_in_dim", "squeeze", "expand_dims"), 0.0),
    "reshape": 0.2, "select_n": 2.0, "gather": 4.0,
}  # fmt: skip

_Array = TypeVar("_Array")


def touched(name: str, inputs: Sequence[_Array], outputs: Sequence[_Array]) -> tuple[float, list[_Array]]:
    """The arrays whose bytes a primitive reads and writes, and for how many bytes it takes the time for each of them."""
    return BYTES_FOR_EACH.get(name, 1.0), [*(outputs if name in READ_A_PART else inputs[:1]), *inputs[1:], *outputs]


def as_call(
    name: str,
    params: Parameters,
    function: Any,
    in_avals: Sequence[ShapedDtype],
    out_avals: Sequence[ShapedDtype],
    several: bool,
    out_bytes: int,
    moved_bytes: float,
) -> tuple[Any, float, bool]:
    """A primitive as a call of a plan.

    Args:
        several: whether the function returns a sequence of results.
        out_bytes, moved_bytes: of the results, and of all that is read and written.

    Returns:
        the function, which may share a pass or write a large result over an input; the seconds that it takes beside the passes; and
        whether such results are among those of the plan.
    """
    if not several:
        function = as_loop(name, params, function, in_avals, out_avals[0])
        if function.__class__ is Loop and function.whole and not function.columns:
            return function, 0.0, True  # the pass counts what it takes
        if function.__class__ is Pad:
            return function, 0.0, out_bytes >= MIN_REUSED_BYTES  # the plan does, where it knows what is added to it
    cost = seconds_of_call(moved_bytes) + getattr(function, "extra_cost", 0.0)
    if out_bytes < MIN_REUSED_BYTES:
        return function, cost, False
    if function.__class__ is np.ufunc and not several:
        kind = out_avals[0].shape, out_avals[0].dtype
        alike = [place for place, aval in enumerate(in_avals) if (aval.shape, aval.dtype) == kind]
        function = Overwriting(function, tuple(alike))
    return function, cost, True


def _tie(*arrays: object) -> NoReturn:
    raise AssertionError("never called: it stands for a dependence")


class Builder:
    """Collects the calls of a plan."""

    def __init__(self, inputs: int) -> None:
        self.constants: list[np.ndarray] = []
        self.inputs = inputs
        self.calls: list[_Step] = []
        self.applied: list[Applied | None] = []  # for each call; None for a tie
        self.temporaries = 0
        self.convolutions = 0
        self.large = False  # whether a result has as many bytes as are reused
        self.discrete: set[Reference] = set()  # the results that are integers or booleans
        # The first primitive without a rule. Tracing continues, because the shapes are needed, but there will be no plan.
        self.missing: str | None = None

    def constant(self, value: np.ndarray) -> Reference:
        self.constants.append(value)
        return "c", len(self.constants) - 1

    @tracing
    def add_closed(self, closed: ClosedJaxpr) -> list[Reference]:
        """Appends the equations of a closed jaxpr, applied to the inputs. Returns references to its outputs."""
        consts = [self.constant(np.asarray(c)) for c in closed.consts]
        return self.add(closed.jaxpr, consts, [("i", n) for n in range(self.inputs)])

    def add(self, jaxpr: Jaxpr, consts: Sequence[Reference], arguments: Sequence[Reference]) -> list[Reference]:
        """Appends the equations of a jaxpr; returns references to its outputs."""
        reference_of: dict[object, Reference] = {}

        def read(atom: object) -> Reference:
            if isinstance(atom, Literal):
                aval: Any = atom.aval
                return self.constant(np.asarray(atom.val, aval.dtype))
            return reference_of[atom]

        reference_of.update(zip(jaxpr.constvars, consts, strict=True))
        reference_of.update(zip(jaxpr.invars, arguments, strict=True))
        for equation in _needed_equations(jaxpr):
            inputs = [read(atom) for atom in equation.invars]
            outputs = self.equation(
                equation.primitive, equation.params, inputs,
                [a.aval for a in equation.invars], [v.aval for v in equation.outvars],
            )  # fmt: skip
            reference_of.update(zip(equation.outvars, outputs, strict=True))
        return [read(atom) for atom in jaxpr.outvars]

    def equation(
        self,
        primitive: Primitive,
        params: Parameters,
        inputs: list[Reference],
        in_avals: Sequence[Any],
        out_avals: Sequence[Any],
    ) -> list[Reference]:
        """Appends one primitive, or inlines it if it only calls a jaxpr. Returns references to its outputs."""
        name = primitive.name
        # Primitives that only call a jaxpr are not calls of NumPy, and the equations inside them may be left out one by one.
        if name not in CALLS:
            return self.call(name, params, inputs, in_avals, out_avals, primitive.multiple_results)
        inner = params[CALLS[name]]
        if not hasattr(inner, "jaxpr"):
            return self.add(inner, (), inputs)
        return self.add(inner.jaxpr, [self.constant(np.asarray(c)) for c in inner.consts], inputs)

    def call(
        self,
        name: str,
        params: Parameters,
        inputs: list[Reference],
        in_avals: Sequence[ShapedDtype],
        out_avals: Sequence[ShapedDtype],
        several: bool,
    ) -> list[Reference]:
        self.convolutions += params["body"].convolutions if name == "torchlike_scan" else name in CONVOLUTIONS
        rule = RULES.get(name)
        function, out_bytes = None, _nbytes(*out_avals)
        if self.missing is None:
            try:
                if rule is None:
                    raise Unsupported(name)
                function = rule(params, in_avals, out_avals)
            except Unsupported as reason:
                self.missing = str(reason)
        if function is not None and all(kind == "c" for kind, _ in inputs) and out_bytes <= MAX_CONSTANT_BYTES:
            with np.errstate(all="ignore"):
                results: Any = function(*[self.constants[i] for _, i in inputs])
            return [self.constant(r) for r in (results if several else [results])]
        if function is itself:
            return inputs
        if isinstance(function, Pad) and inputs[1][0] == "c":
            function.of_zeros = not self.constants[inputs[1][1]].any()
        cost = 0.0
        if function is not None:
            for_each, arrays = touched(name, in_avals, out_avals)
            moved = for_each * _nbytes(*arrays)
            function, cost, large = as_call(name, params, function, in_avals, out_avals, several, out_bytes, moved)
            self.large = self.large or large
        outputs = [("t", self.temporaries + i) for i in range(len(out_avals))]
        self.temporaries += len(out_avals)
        self.discrete.update(
            [
                output
                for output, aval in zip(outputs, out_avals, strict=True)
                if getattr(aval.dtype, "kind", "V") in "biu"
            ]
        )
        self.calls.append((function, inputs, outputs if several else outputs[0], cost))
        self.applied.append((name, params, in_avals, out_avals, several))
        return outputs

    def repeated(self, numbers: range, reference_of: dict[Reference, Reference]) -> dict[Reference, Reference]:
        """Appends calls once more, for other arrays; returns the references that stand for those of before.

        Args:
            numbers: of the calls. Those that read none of the other arrays are not repeated: their results are the same.
        """
        now = {old: new for old, new in reference_of.items() if old != new}
        for number in numbers:
            function, inputs, output, _ = self.calls[number]
            if now.keys().isdisjoint(inputs):
                continue
            others = [now.get(old, old) for old in inputs]
            outputs = output if isinstance(output, list) else [output]
            if function is _tie:
                self.tie([now.get(old, old) for old in outputs], others)
            else:
                now.update(zip(outputs, self.again(number, others), strict=True))
        return now

    def again(self, number: int, inputs: list[Reference]) -> list[Reference]:
        """Appends the call of this number once more, for other inputs; returns references to its outputs."""
        function, _, output, cost = self.calls[number]
        before = output if isinstance(output, list) else [output]
        outputs = [("t", self.temporaries + i) for i in range(len(before))]
        self.temporaries += len(before)
        self.discrete.update([new for old, new in zip(before, outputs, strict=True) if old in self.discrete])
        self.calls.append((function, inputs, outputs if isinstance(output, list) else outputs[0], cost))
        self.applied.append(self.applied[number])
        return outputs

    def opaque(self, outputs: int, reason: str) -> list[Reference]:
        """Returns references to the outputs of an unknown computation. There will be no plan. They count as depending on every input."""
        self.missing = self.missing or reason
        references = [("t", self.temporaries + i) for i in range(outputs)]
        self.temporaries += outputs
        self.calls.append((None, [("i", n) for n in range(self.inputs)], references, 0.0))
        self.applied.append(None)
        return references

    def tie(self, outputs: Sequence[Reference], inputs: Sequence[Reference]) -> None:
        """Records that outputs depend on inputs that no call reads, because custom derivatives read these inputs."""
        self.calls.append((_tie, list(inputs), [o for o in outputs if o[0] != "c"], 0.0))
        self.applied.append(None)

    def needed(self, outputs: Iterable[Reference], tied: bool = False) -> list[_Step]:
        """Returns the calls that these outputs depend on, in order. ``tied``: follow the dependencies that ``tie`` recorded as well."""
        references, calls = set(outputs), []
        for call in reversed(self.calls):
            function, inputs, output, _ = call
            if function is _tie and not tied:
                continue
            if not references.isdisjoint(output) if isinstance(output, list) else output in references:
                references.update(inputs)
                calls.append(call)
        return calls[::-1]

    def reads(self, outputs: Sequence[Reference]) -> set[int]:
        """Returns the numbers of the inputs that these outputs depend on."""
        calls = self.needed(outputs, tied=True)
        references = {*outputs, *[reference for _, inputs, *_ in calls for reference in inputs]}
        return {number for kind, number in references if kind == "i"}

    def varies_with(self, output: Reference) -> set[int]:
        """Returns the numbers of the inputs with which this output can vary smoothly: not through integers and booleans alone."""
        references = {output}
        for _, inputs, outputs, _ in reversed(self.calls):
            if not references.isdisjoint(outputs) if isinstance(outputs, list) else outputs in references:
                references.update([reference for reference in inputs if reference not in self.discrete])
        return {number for kind, number in references if kind == "i"}

    def plan(self, outputs: Sequence[Reference], inputs: Sequence[int] | None = None) -> Plan:
        """Returns the plan that computes these outputs from the inputs with these numbers (default: all inputs).

        Raises:
            Unsupported: a primitive has no rule.
        """
        if self.missing is not None:
            raise Unsupported(self.missing)
        places = range(self.inputs) if inputs is None else {number: place for place, number in enumerate(inputs)}
        first, after = len(self.constants), len(self.constants) + len(places)

        def slot(reference: Reference) -> int:
            kind, number = reference
            return number if kind == "c" else first + places[number] if kind == "i" else after + number

        needed = self.needed(outputs)
        calls: list[NumPyCall] = [
            (
                function,
                # One call of C picks all inputs. A list comprehension took a tenth of the time of a plan of small operations.
                slot(inputs[0]) if len(inputs) == 1 else at_places([*map(slot, inputs)]),
                tuple(map(slot, output)) if isinstance(output, list) else slot(output),
            )
            for function, inputs, output, _ in needed
        ]
        cost = sum(cost for *_, cost in needed)
        references = {*outputs, *[reference for _, inputs, *_ in needed for reference in inputs]}
        constants = [value if ("c", number) in references else None for number, value in enumerate(self.constants)]
        slots = [*constants, *[None] * (len(places) + self.temporaries)]
        return Plan(tuple(slots), first, tuple(calls), tuple(map(slot, outputs)), cost, self.large)


def _nbytes(*avals: ShapedDtype) -> int:
    return sum(aval.dtype.itemsize * prod(aval.shape) for aval in avals)


def _needed_equations(jaxpr: Jaxpr) -> list[JaxprEqn]:
    """Returns the equations that the outputs depend on, in order."""
    atoms = {atom for atom in jaxpr.outvars if not isinstance(atom, Literal)}
    equations = []
    for equation in reversed(jaxpr.eqns):
        if equation.effects:
            raise Unsupported("side effects")
        if not atoms.isdisjoint(equation.outvars):
            atoms.update(atom for atom in equation.invars if not isinstance(atom, Literal))
            equations.append(equation)
    return equations[::-1]


def interpret(closed: ClosedJaxpr) -> Plan:
    """The plan of a jaxpr.

    Raises:
        Unsupported: a primitive of the jaxpr has no rule.
    """
    builder = Builder(len(closed.jaxpr.invars))
    return builder.plan(builder.add_closed(closed))
