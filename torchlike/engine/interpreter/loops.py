"""Scans within a plan: the body is traced once, whatever the number of steps, and without a jaxpr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax.extend.core import Primitive

from .control import scan_loop
from .plan import CONVOLUTIONS, Builder, Plan
from .rules import Compute, Parameters, Reference, ShapedDtype, rule
from .traces.generic import Recorded, depends_on_sizes
from .tracing import PlanTrace, PlanTracer, ShapedArray, core, current_trace, set_current_trace

# The loop as a primitive of plans; JAX never sees it. Its inputs: what the body captures, what is carried, the sequences.
_scan_p = Primitive("torchlike_scan")
_scan_p.multiple_results = True


class Body(Recorded):
    """The body of a loop. Its plan is made once, and serves loops of any length: nothing in it may depend on a variable size."""

    order: Sequence[int]  # of its inputs, in that of the loop's
    _plan: Plan | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Body) and self.order == other.order and self.equals(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def convolutions(self) -> int:
        """How many it has."""
        inner = [e.params["body"].convolutions for e in self.equations if e.primitive is _scan_p]
        return sum(inner) + sum(e.primitive is not None and e.primitive.name in CONVOLUTIONS for e in self.equations)

    def plan(self) -> Plan:
        """The plan of one step.

        Raises:
            Unsupported: a primitive has no rule.
        """
        if self._plan is None:
            builder = Builder(self.inputs)
            self._plan = builder.plan(self.replay(builder), self.order)
        return self._plan

    def refuse_sizes(self) -> None:
        """Raises TypeError where something in it depends on a variable size: then it would be the body for one size alone."""
        if not all(isinstance(constant, np.ndarray) for constant in self.constants):
            raise TypeError("a variable size is read in the body of a loop")
        avals = [aval for e in self.equations for aval in (*e.in_avals, *e.out_avals)]
        if depends_on_sizes([*[aval.shape for aval in (*avals, *self.outs)], *[e.params for e in self.equations]]):
            raise TypeError("the body of a loop with variable sizes")


class _BodyTrace(PlanTrace):
    """Traces the body of a loop. A value from outside of the loop that the body reads becomes an additional input of the body."""

    __slots__ = ("outer", "captured")

    def __init__(self, body: Any, outer: PlanTrace) -> None:  # a ``Body`` takes what a ``Builder`` takes
        super().__init__(body)
        self.outer = outer
        self.captured: dict[
            Reference, tuple[PlanTracer, Reference]
        ] = {}  # by reference outside of the body: the value, and its reference in the body

    def reference(self, value: object) -> Reference:
        if type(value) is not PlanTracer or value._trace is self:
            return super().reference(value)
        outside = self.outer.reference(value)  # raises if the value belongs to no trace that is open
        if outside[0] == "c":
            constant = self.outer.builder.constants[outside[1]]
            if isinstance(constant, np.ndarray):  # and not a size, which is another number in the next call
                return self.builder.constant(constant)
        if outside not in self.captured:
            self.captured[outside] = value, ("i", self.builder.inputs)
            self.builder.inputs += 1
        return self.captured[outside][1]


def scan(step: Callable[..., Any], first: Any, sequences: Any, *, reverse: bool = False) -> Any:
    """The same as ``jax.lax.scan``.

    JAX would unroll the loop and trace every step, again for each length, because tracing for NumPy behaves as if nothing were jitted.
    """
    outer = current_trace()
    if isinstance(outer, PlanTrace):
        return _scan(outer, step, first, sequences, reverse)
    return lax.scan(step, first, sequences, reverse=reverse)


def _scan(outer: PlanTrace, step: Callable[..., Any], first: Any, sequences: Any, reverse: bool) -> Any:
    carried, carried_tree = jax.tree.flatten(first)
    rows, rows_tree = jax.tree.flatten(sequences)
    length = rows[0].shape[0]
    avals: list[ShapedArray] = [ShapedArray(x.shape, x.dtype) for x in carried]
    avals += [ShapedArray(x.shape[1:], x.dtype) for x in rows]
    body = Body(len(avals))
    trace = _BodyTrace(body, outer)
    inputs = [PlanTracer(trace, aval, ("i", n)) for n, aval in enumerate(avals)]
    with set_current_trace(trace):
        state = jax.tree.unflatten(carried_tree, inputs[: len(carried)])
        row = jax.tree.unflatten(rows_tree, inputs[len(carried) :])
        new, collected = step(state, row)
    new, new_tree = jax.tree.flatten(new)
    collected, collected_tree = jax.tree.flatten(collected)
    body.outs = kinds = [core.typeof(x) for x in (*new, *collected)]
    begun = [(x.shape, x.dtype) for x in carried]
    if new_tree != carried_tree or [(a.shape, a.dtype) for a in kinds[: len(new)]] != begun:
        raise TypeError(f"a scan began with {avals[: len(carried)]} and goes on with {kinds[: len(new)]}")
    body.outputs = [trace.reference(x) for x in (*new, *collected)]
    # If the body has kept a value for later, its use outside of the loop then raises an error, as in JAX.
    trace.invalidate()
    # Captured values come first, as the constants of the loop.
    captured = list(trace.captured.values())
    body.order = [number for _, (_, number) in captured] + list(range(len(avals)))
    body.refuse_sizes()
    outs = kinds[: len(new)] + [ShapedArray((length, *kind.shape), kind.dtype) for kind in kinds[len(new) :]]
    loop_inputs = [*[value for value, _ in captured], *carried, *rows]
    references = outer.builder.equation(
        _scan_p,
        {"body": body, "captured": len(captured), "carried": len(carried), "reverse": reverse},
        [outer.reference(x) for x in loop_inputs],
        [core.typeof(x) for x in loop_inputs],
        outs,
    )
    results = [PlanTracer(outer, aval, r) for aval, r in zip(outs, references, strict=True)]
    return (
        jax.tree.unflatten(carried_tree, results[: len(carried)]),
        jax.tree.unflatten(collected_tree, results[len(carried) :]),
    )


@rule("torchlike_scan")
def _loop(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    captured, carried = params["captured"], params["carried"]
    length = ins[captured + carried].shape[0]
    return scan_loop(params["body"].plan(), length, captured, outs[carried:], params["reverse"])
