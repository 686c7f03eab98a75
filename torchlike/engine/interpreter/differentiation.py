"""Pullbacks within a plan: JAX's rules of differentiation, applied without making a jaxpr in between.

``jax.vjp`` runs a function forward, notes what happens to tangents in a jaxpr, and transposes that. Most of its time goes into the
jaxpr. Here the same rules are applied by a trace that only keeps a list of what is linear in the tangents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive

from .rules import Parameters, Unsupported
from .tracing import (
    CustomCallTrace,
    PlanTrace,
    PlanTracer,
    core,
    current_trace,
    give_operators,
    out_avals,
    set_current_trace,
)

try:
    from jax._src.core import Tracer, TraceTag
    from jax._src.interpreters import ad
    from jax._src.interpreters.ad import JVPTrace, JVPTracer
except ImportError:  # these names are internal, so another version of JAX may lack them
    ad: Any = None
    JVPTrace = JVPTracer = Tracer = object  # type: ignore[assignment,misc]


class _Tangent(Tracer):  # type: ignore[misc,valid-type]
    """A value that depends on tangents, and the cotangent that the backward pass accumulates for it."""

    __slots__ = ("cotangent",)

    def __init__(self, trace: Any, aval: Any) -> None:
        super().__init__(trace, aval)
        self.cotangent = ad.ValAccum(aval.to_ct_aval())

    def full_lower(self) -> _Tangent:
        return self


class _TangentTrace(CustomCallTrace):
    """Records each primitive that reads a tangent. Primitives that read none are appended to the plan.

    Rules of forward differentiation use tangents only in linear primitives, except for primitives that contain a jaxpr (loops, branches).
    Those carry values and tangents together, so functions that contain them are left to JAX. A function with a custom derivative is run
    as it is, because it is linear in its tangents.
    """

    __slots__ = ("plan", "steps")

    def __init__(self, plan: PlanTrace) -> None:
        super().__init__()
        self.plan = plan
        self.steps: list[tuple[Any, Any, Any, Any]] = []

    def stage_value(self, val: object) -> _Tangent | PlanTracer:
        return val if isinstance(val, _Tangent) else self.plan.stage_value(val)

    def process_primitive(self, primitive: Primitive, tracers: Sequence[object], params: Parameters, /) -> Any:
        avals = [core.typeof(t) for t in tracers]
        if not any(type(t) is _Tangent for t in tracers):
            return primitive.bind_with_trace(self.plan, tracers, avals, params)
        branch = self.plan.known_branch(primitive, tracers, params)
        if branch is not None:
            with set_current_trace(self):
                return branch(*tracers[1:])
        if (
            primitive.call_primitive
            # The jaxpr of a scatter is allowed: it is a single addition.
            or (any(map(_is_jaxpr, params.values())) and "update_jaxpr" not in params)
            or (primitive not in ad.fancy_transposes and primitive not in ad.primitive_transposes)
        ):
            raise Unsupported(f"the derivative of {primitive.name}")
        results = [_Tangent(self, aval) for aval in out_avals(primitive, params, avals)]
        self.steps.append((primitive, tracers, params, results))
        return results if primitive.multiple_results else results[0]


class _DualTracer(JVPTracer):  # type: ignore[misc,valid-type]
    """A value and its tangent, as JAX pairs them, with the operators of a plan's values."""

    __slots__ = ()


class _DualTrace(JVPTrace):  # type: ignore[misc,valid-type]
    """JAX's trace of forward differentiation. Computations without tangents are appended to the plan."""

    def __init__(self, linear: _TangentTrace) -> None:
        super().__init__(linear, TraceTag())
        self.plan = linear.plan

    def has(self, value: Any) -> bool:
        """Whether this trace accepts the value directly: it is one of its own values, or one of the plan's, which have no tangent."""
        return value._trace is self or value._trace is self.plan

    def combine(self, function: Callable[..., Any], primitive: object, first: object, second: object) -> Any:
        """Calls the operator's function in ``jax.lax``: it gives the primitive parameters that rules of differentiation read."""
        return function(first, second)

    def process_primitive(self, primitive: Primitive, tracers: Sequence[object], params: Parameters, /) -> Any:
        out = super().process_primitive(primitive, tracers, params)
        return [*map(self._own, out)] if primitive.multiple_results else self._own(out)

    def process_custom_jvp_call(self, *args: Any, **kwargs: Any) -> Any:
        return [*map(self._own, super().process_custom_jvp_call(*args, **kwargs))]

    def process_custom_vjp_call(self, *args: Any, **kwargs: Any) -> Any:
        return [*map(self._own, super().process_custom_vjp_call(*args, **kwargs))]

    def _own(self, value: Any) -> Any:
        if value.__class__ is not JVPTracer:
            return value
        return _DualTracer(self, value.primal, value.tangent)


if ad is not None:
    give_operators(_DualTrace, _DualTracer)


def _is_jaxpr(parameter: object) -> bool:
    if isinstance(parameter, (tuple, list)):
        return any(map(_is_jaxpr, parameter))
    return isinstance(parameter, (Jaxpr, ClosedJaxpr))


def vjp(
    fn: Callable[..., Sequence[Array]], primals: Sequence[Any], cotangents: Callable[[], Sequence[Array]]
) -> Sequence[Array]:
    """Returns the gradients that ``jax.vjp`` of ``fn`` returns for these cotangents."""
    plan = current_trace()
    if isinstance(plan, PlanTrace) and ad is not None:
        try:
            return _vjp(plan, fn, primals, cotangents)
        except Unsupported:
            pass
    _, pull = jax.vjp(fn, *primals)
    return pull(cotangents())


def _vjp(
    plan: PlanTrace,
    fn: Callable[..., Sequence[Array]],
    primals: Sequence[Any],
    cotangents: Callable[[], Sequence[Array]],
) -> Sequence[Array]:
    linear = _TangentTrace(plan)
    try:
        return _vjp_within(plan, linear, fn, primals, cotangents)
    finally:
        linear.steps.clear()  # they hold values that hold the trace, which only the garbage collector would find


def _vjp_within(
    plan: PlanTrace,
    linear: _TangentTrace,
    fn: Callable[..., Sequence[Array]],
    primals: Sequence[Any],
    cotangents: Callable[[], Sequence[Array]],
) -> Sequence[Array]:
    forward = _DualTrace(linear)
    tangents = [_Tangent(linear, core.typeof(p).to_tangent_aval()) for p in primals]
    with set_current_trace(forward):
        outs = fn(*[_DualTracer(forward, p, t) for p, t in zip(primals, tangents, strict=True)])
    ends = [forward.to_primal_tangent_pair(out)[1] for out in outs]
    forward.invalidate()
    with set_current_trace(plan):
        for end, cotangent in zip(ends, cotangents(), strict=True):
            if type(end) is _Tangent:
                end.cotangent.accum(cotangent)
        for primitive, inputs, params, outputs in reversed(linear.steps):
            arrived: Any = [out.cotangent.freeze() for out in outputs]
            if all(type(ct) is ad.Zero for ct in arrived):
                continue
            if not primitive.multiple_results:
                (arrived,) = arrived
            fancy = ad.fancy_transposes.get(primitive)
            if fancy is not None:
                fancy(arrived, *[x.cotangent if type(x) is _Tangent else x for x in inputs], **params)
                continue
            unknown = [ad.UndefinedPrimal(x.aval) if type(x) is _Tangent else x for x in inputs]
            for x, ct in zip(inputs, ad.primitive_transposes[primitive](arrived, *unknown, **params), strict=True):
                if type(x) is _Tangent and ct is not None:
                    x.cotangent.accum(ct)
        linear.invalidate()
        return [
            jnp.zeros(t.aval.shape, t.aval.dtype) if type(ct) is ad.Zero else ct
            for t in tangents
            for ct in [t.cotangent.freeze()]
        ]
