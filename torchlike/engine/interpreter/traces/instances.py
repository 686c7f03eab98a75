"""The plans of a trace with variable sizes, one for each combination of sizes, made without building each of them anew.

Plans for different sizes have the same calls on the same slots. Only what depends on sizes is filled in: some parameters, the shapes that
the rules see, and constants. So all else is found out once, in a ``_Template``.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from copy import copy
from math import inf, prod
from typing import Any, NamedTuple

import numpy as np

from ...places import at_places
from ..fused import loops_from
from ..plan import MAX_CONSTANT_BYTES, MIN_REUSED_BYTES, Builder, Plan, as_call, touched
from ..rules import RULES, Compute, Parameters, Reference, Rule, Unsupported, itself, seconds_of_call
from ..tracing import Traced
from .generic import FromSize, Generic, Shaped, filled


class _Step(NamedTuple):
    """A primitive of the trace, of this name.

    ``function``: what its rule returns, where that is the same for all sizes. ``params``: those that are the same, ``templates``: the
    others. ``ins``, ``outs``: numbers of avals. ``inputs``, ``output``: slots, as in the calls of a plan. ``constant``: whether it is
    computed when the plan is made. ``touches``: what ``touched`` returns of the numbers of its avals. ``alike_below``: the call is the
    same for all sizes of which the results have fewer bytes, and no last size of 1 (``unless_columns``); it takes ``extra_cost`` beside
    the seconds for its bytes.
    """

    name: str
    rule: Rule
    function: Compute | None
    params: dict[str, Any]
    templates: Sequence[tuple[str, Any]]
    ins: Sequence[int]
    outs: Sequence[int]
    inputs: Any
    output: int | tuple[int, ...]
    constant: bool
    touches: tuple[float, Sequence[int]]
    alike_below: float
    unless_columns: bool
    extra_cost: float


class _OfAnySize:
    """The aval of an array of which a rule may know the dtype alone."""

    __slots__ = ("dtype", "__weakref__")

    def __init__(self, dtype: np.dtype) -> None:
        self.dtype = dtype


def _for_any_size(rule: Rule, params: Parameters, ins: Sequence[Any], outs: Sequence[Any]) -> Compute | None:
    """What a rule returns without looking at a shape; None where it does, or where the function itself may do so later."""
    avals: Any = [[_OfAnySize(aval.dtype) for aval in each] for each in (ins, outs)]
    seen = [weakref.ref(aval) for each in avals for aval in each]
    try:
        function = rule(params, *avals)
    except AttributeError:
        return None
    del avals
    return function if all(aval() is None for aval in seen) else None


def _compute(slots: list[Any], function: Compute, inputs: Any, output: int | tuple[int, ...]) -> None:
    """Enters what a primitive gives for constants."""
    with np.errstate(all="ignore"):
        results: Any = function(slots[inputs]) if inputs.__class__ is int else function(*inputs(slots))
    if isinstance(output, int):
        slots[output] = results
    else:
        for place, result in zip(output, results, strict=True):
            slots[place] = result


class _Template:
    """What the plans of a trace have in common that compute the same results among their constants."""

    def __init__(self, generic: Generic, inputs: Sequence[int] | None, small: Sequence[bool]) -> None:
        """``inputs``: the numbers of the inputs that the plans take. ``small``: which of ``generic.constant_equations`` are constants."""
        constants = generic.constants
        places = range(generic.inputs) if inputs is None else {number: place for place, number in enumerate(inputs)}
        self._first_input = len(constants)
        first_result = self._first_input + len(places)

        same: dict[Reference, Reference] = {}  # results of primitives that do nothing, and their inputs

        def slot(reference: Reference) -> int:
            kind, number = same.get(reference, reference)
            if kind == "c":
                return number
            return self._first_input + places[number] if kind == "i" else first_result + number

        is_small = dict(zip(generic.constant_equations, small, strict=True))
        known = {("c", number) for number in range(len(constants))}
        needed = generic.needed
        self._slots: list[Any] = [None] * (first_result + generic.temporaries)
        self._from_sizes: list[tuple[int, FromSize]] = []
        for place, value in enumerate(constants):
            if value.__class__ is FromSize:
                self._from_sizes.append((place, value))
            else:
                self._slots[place] = value
        self._steps: list[_Step] = []
        read = {*map(slot, generic.outputs)}
        for number in needed:
            equation, templates, ins, outs = generic.equations[number]
            primitive = equation.primitive
            assert primitive is not None
            rule = RULES.get(primitive.name)
            if rule is None:
                raise Unsupported(primitive.name)
            constant = is_small.get(number, False) and known.issuperset(equation.inputs)
            if constant:
                known.update(equation.outputs)
            else:
                read.update(map(slot, equation.inputs))
            function, in_avals, out_avals = None, [generic.avals[n] for n in ins], [generic.avals[n] for n in outs]
            if not templates and all(aval.__class__ is Shaped for aval in (*in_avals, *out_avals)):
                function = rule(equation.params, in_avals, out_avals)  # pyright: ignore[reportArgumentType]
            elif not templates:
                function = _for_any_size(rule, equation.params, in_avals, out_avals)
            if function is itself and not constant:
                (input,) = equation.inputs
                same[equation.outputs[0]] = same.get(input, input)
                continue
            several = primitive.multiple_results
            kinds = [aval.dtype for aval in in_avals]
            kind = out_avals[0].dtype
            loops = inf if several else loops_from(primitive.name, kinds, kind)
            below = min(MIN_REUSED_BYTES, loops * kind.itemsize) if function is not None and not constant else 0
            inputs_at = [*map(slot, equation.inputs)]
            picked = inputs_at[0] if len(inputs_at) == 1 else at_places(inputs_at)
            outputs = tuple(map(slot, equation.outputs))
            output = outputs if several else outputs[0]
            if constant and function is not None and all(self._slots[place] is not None for place in inputs_at):
                _compute(self._slots, function, picked, output)  # the same for all sizes
                continue
            self._steps.append(
                _Step(
                    primitive.name, rule, function, equation.params, templates, ins, outs, picked, output, constant,
                    touched(primitive.name, ins, outs), below, loops < inf, getattr(function, "extra_cost", 0.0),
                )
            )  # fmt: skip
        held = {*range(len(constants)), *[slot(reference) for reference in known]}
        self._unread = sorted(held - read)  # nothing but constants depends on them
        self._outputs = tuple(map(slot, generic.outputs))
        self._pads = generic.pads

    def plan(self, numbers: Sequence[int], avals: Sequence[Shaped], nbytes: Sequence[int]) -> Plan:
        """The plan for the sizes that gave these numbers, shapes, and bytes of arrays.

        Raises:
            Unsupported: a primitive has no rule for these sizes.
        """
        slots = [*self._slots]
        for place, constant in self._from_sizes:
            slots[place] = np.asarray(numbers[constant.number], constant.dtype)
        calls, cost, large, of = [], 0.0, False, nbytes.__getitem__
        for step in self._steps:
            function, params, (for_each, touched_avals) = step.function, step.params, step.touches
            size, moved = sum(map(of, step.outs)), for_each * sum(map(of, touched_avals))
            if size < step.alike_below and not (step.unless_columns and avals[step.outs[0]].shape[-1:] == (1,)):
                calls.append((function, step.inputs, step.output))
                cost += seconds_of_call(moved) + step.extra_cost
                continue
            if step.templates:
                params = {**params, **{key: filled(template, numbers) for key, template in step.templates}}
            in_avals, out_avals = [avals[n] for n in step.ins], [avals[n] for n in step.outs]
            if function is None:
                function = step.rule(params, in_avals, out_avals)
            if step.constant:
                _compute(slots, function, step.inputs, step.output)
                continue
            several = step.output.__class__ is not int
            function, seconds, is_large = as_call(
                step.name, params, function, in_avals, out_avals, several, size, moved
            )
            calls.append((function, step.inputs, step.output))
            cost += seconds
            large = large or is_large
        for place in self._unread:
            slots[place] = None
        return Plan(tuple(slots), self._first_input, tuple(calls), self._outputs, cost, large, self._pads)


class Instances:
    """The traces of one function for each combination of sizes for which its ``Generic`` holds."""

    __slots__ = ("_generic", "_templates", "_convolutions", "_reads")

    def __init__(self, generic: Generic) -> None:
        self._generic = generic
        self._templates: dict[object, _Template] = {}
        self._convolutions: int | None = None
        self._reads: set[int] | None = None

    def __call__(self, sizes: Sequence[int]) -> Instance:
        """The trace for these sizes, of those that are variable."""
        return Instance(self, sizes)

    def whole(self, sizes: Sequence[int]) -> Traced:
        """The same by way of a builder, which decides all anew."""
        builder = Builder(self._generic.inputs)
        return Traced(builder, *self._generic.append(sizes, builder))

    def convolutions(self, sizes: Sequence[int]) -> int:
        """How many convolutions the function has, for whatever sizes."""
        if self._convolutions is None:
            self._convolutions = self.whole(sizes).convolutions
        return self._convolutions

    def reads(self, sizes: Sequence[int]) -> set[int]:
        """The numbers of the inputs on which the results depend, for whatever sizes."""
        if self._reads is None:
            self._reads = self.whole(sizes).reads()
        return self._reads

    def avals(self, sizes: Sequence[int]) -> tuple[Sequence[int], list[Shaped], list[Shaped]]:
        """For these sizes the values of the expressions, all avals, and those of the results."""
        numbers = self._generic.numbers(sizes)
        avals = self._generic.avals_of(numbers)
        return numbers, avals, [avals[n] for n in self._generic.outs]

    def plan(
        self, sizes: Sequence[int], numbers: Sequence[int], avals: list[Shaped], inputs: Sequence[int] | None
    ) -> Plan:
        """The plan for these sizes and what ``avals`` gives for them, which takes the inputs with these numbers (None: all).

        Raises:
            Unsupported: a primitive has no rule.
        """
        generic = self._generic
        nbytes = [aval.dtype.itemsize * prod(aval.shape) for aval in avals]
        # A builder also opens what primitives like ``jit`` contain, and finds out which arrays are zeros that others are written into.
        if not generic.flat or (generic.pads and max(nbytes, default=0) >= MIN_REUSED_BYTES):
            traced = self.whole(sizes)
            return (traced if inputs is None else traced.taking(inputs)).plan()
        small = tuple([
            sum([nbytes[n] for n in generic.equations[number][3]]) <= MAX_CONSTANT_BYTES
            for number in generic.constant_equations
        ])  # fmt: skip
        key = inputs if inputs is None else tuple(inputs), small
        template = self._templates.get(key)
        if template is None:
            template = self._templates[key] = _Template(generic, inputs, small)
        return template.plan(numbers, avals, nbytes)


class Instance(Traced):
    """The trace for one combination of sizes. Its plan is made when it is asked for."""

    __slots__ = ("_instances", "_sizes", "_taken", "_numbers", "_avals")

    def __init__(self, instances: Instances, sizes: Sequence[int]) -> None:
        self._instances, self._sizes = instances, sizes
        self._taken: Sequence[int] | None = None
        self._numbers, self._avals, self.outs = instances.avals(sizes)

    def taking(self, inputs: Sequence[int]) -> Instance:
        same = copy(self)
        same._taken = inputs
        return same

    @property
    def convolutions(self) -> int:
        return self._instances.convolutions(self._sizes)

    def reads(self) -> set[int]:
        return self._instances.reads(self._sizes)

    def plan(self) -> Plan:
        return self._instances.plan(self._sizes, self._numbers, self._avals, self._taken)
