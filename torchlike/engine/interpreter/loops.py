"""Scans within a plan: the body is traced once, whatever the number of steps, and without a jaxpr."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
from jax import lax

from .control import scan_loop
from .plan import Builder
from .rules import Reference, Unsupported
from .tracing import PlanTrace, PlanTracer, ShapedArray, core, current_trace, set_current_trace


class _BodyTrace(PlanTrace):
    """Traces the body of a loop. A value from outside of the loop that the body reads becomes an additional input of the body."""

    __slots__ = ("outer", "captured")

    def __init__(self, builder: Builder, outer: PlanTrace) -> None:
        super().__init__(builder)
        self.outer = outer
        self.captured: dict[
            Reference, tuple[PlanTracer, Reference]
        ] = {}  # by reference outside of the body: the value, and its reference in the body

    def reference(self, value: object) -> Reference:
        if type(value) is not PlanTracer or value._trace is self:
            return super().reference(value)
        outside = self.outer.reference(value)  # raises if the value belongs to no trace that is open
        if outside[0] == "c":
            return self.builder.constant(self.outer.builder.constants[outside[1]])
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
    trace = _BodyTrace(Builder(len(avals)), outer)
    inputs = [PlanTracer(trace, aval, ("i", n)) for n, aval in enumerate(avals)]
    with set_current_trace(trace):
        state = jax.tree.unflatten(carried_tree, inputs[: len(carried)])
        row = jax.tree.unflatten(rows_tree, inputs[len(carried) :])
        new, collected = step(state, row)
    new, new_tree = jax.tree.flatten(new)
    collected, collected_tree = jax.tree.flatten(collected)
    kinds = [core.typeof(x) for x in new]
    if new_tree != carried_tree or [(a.shape, a.dtype) for a in kinds] != [(x.shape, x.dtype) for x in carried]:
        raise TypeError(f"a scan began with {avals[: len(carried)]} and goes on with {kinds}")
    builder = trace.builder
    outputs = [trace.reference(x) for x in (*new, *collected)]
    # If the body has kept a value for later, its use outside of the loop then raises an error, as in JAX.
    trace.invalidate()
    # Captured values come first, as the constants of the loop.
    captured = list(trace.captured.values())
    order = [number for _, (_, number) in captured] + list(range(len(avals)))
    outs = kinds + [ShapedArray((length, *core.typeof(y).shape), core.typeof(y).dtype) for y in collected]
    outer_builder = outer.builder
    outer_builder.convolutions += builder.convolutions
    loop_inputs = [*[value for value, _ in captured], *carried, *rows]
    function = None
    try:
        function = scan_loop(builder.plan(outputs, order), length, len(captured), outs[len(carried) :], reverse)
    except Unsupported as reason:
        outer_builder.missing = outer_builder.missing or str(reason)
    references = outer_builder.append(
        function, [outer.reference(x) for x in loop_inputs], [core.typeof(x) for x in loop_inputs], outs, True
    )
    results = [PlanTracer(outer, aval, r) for aval, r in zip(outs, references, strict=True)]
    return (
        jax.tree.unflatten(carried_tree, results[: len(carried)]),
        jax.tree.unflatten(collected_tree, results[len(carried) :]),
    )
