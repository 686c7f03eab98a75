"""A jaxpr as a flat list of steps over numbered values: what it calls is inlined, and steps whose results nobody reads are left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from jax.extend.core import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, jaxpr_as_fun

from ..interpreter.plan import CALLS

__all__ = ["FlatProgram", "Step", "evaluate"]

# ``remat`` is not inlined: it says what is to be computed again.
INLINED = {name: parameter for name, parameter in CALLS.items() if name not in ("remat", "checkpoint")}


class Step(NamedTuple):
    """One equation of a jaxpr, with the numbers of its inputs and outputs."""

    equation: JaxprEqn
    origin: Jaxpr
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def name(self) -> str:
        return self.equation.primitive.name

    @property
    def params(self) -> dict[str, Any]:
        return self.equation.params


class FlatProgram:
    """The steps of a traced function.

    ``inputs`` and ``outputs`` are numbers of values, ``avals`` their shapes and dtypes, and ``constants`` the values that are known.
    """

    def __init__(self, closed: ClosedJaxpr) -> None:
        self.avals: list[Any] = []
        self.constants: dict[int, Any] = {}
        self.steps: list[Step] = []
        self.inputs = [self._new(variable.aval) for variable in closed.jaxpr.invars]
        self.outputs = self._walk(closed.jaxpr, closed.consts, self.inputs)
        self.readers = self._drop_dead()

    def _new(self, aval: object) -> int:
        self.avals.append(aval)
        return len(self.avals) - 1

    def _constant(self, value: object, aval: object) -> int:
        number = self._new(aval)
        self.constants[number] = value
        return number

    def _walk(self, jaxpr: Jaxpr, consts: Sequence[object], inputs: Sequence[int]) -> list[int]:
        numbers: dict[object, int] = dict(zip(jaxpr.invars, inputs, strict=True))
        for variable, value in zip(jaxpr.constvars, consts, strict=True):
            numbers[variable] = self._constant(value, variable.aval)

        def number_of(atom: Any) -> int:
            return self._constant(atom.val, atom.aval) if isinstance(atom, Literal) else numbers[atom]

        for equation in jaxpr.eqns:
            read = [number_of(atom) for atom in equation.invars]
            inner = equation.params.get(INLINED.get(equation.primitive.name, ""))
            if inner is not None:
                called, its_consts = (inner.jaxpr, inner.consts) if isinstance(inner, ClosedJaxpr) else (inner, ())
                made = self._walk(called, its_consts, read)
            else:
                made = [self._new(variable.aval) for variable in equation.outvars]
                self.steps.append(Step(equation, jaxpr, tuple(read), tuple(made)))
            numbers.update(zip(equation.outvars, made, strict=True))
        return [number_of(atom) for atom in jaxpr.outvars]

    def _drop_dead(self) -> dict[int, int]:
        """Drops steps whose results nobody reads. Returns how often each value is read."""
        readers: dict[int, int] = {}
        for number in self.outputs:
            readers[number] = readers.get(number, 0) + 1
        kept = []
        for step in reversed(self.steps):
            if step.equation.effects or any(number in readers for number in step.outputs):
                kept.append(step)
                for number in step.inputs:
                    readers[number] = readers.get(number, 0) + 1
        self.steps = kept[::-1]
        return readers


def evaluate(step: Step, values: Sequence[object], **changed: object) -> Sequence[Any]:
    """Applies a step to values.

    Args:
        changed: parameters of the primitive with other values than in the equation.
    """
    equation = step.equation.replace(params={**step.params, **changed}) if changed else step.equation
    given = {atom: value for atom, value in zip(equation.invars, values, strict=True) if not isinstance(atom, Literal)}
    alone = step.origin.replace(constvars=[], invars=list(given), outvars=equation.outvars, eqns=[equation])
    return jaxpr_as_fun(ClosedJaxpr(alone, ()))(*given.values())
