"""Turns a function of JAX arrays into a plan directly, in a fraction of the time in which JAX makes a jaxpr of it.

JAX hands every primitive that a function applies to the trace that is current. The trace here appends the NumPy call of the
primitive to a plan, and asks JAX only for the shape and dtype of the result. Functions under ``jax.jit`` are run as they stand,
instead of being traced by themselves. This file and ``differentiation.py`` alone use these inner parts of JAX. Where they are missing,
or a function cannot be traced in this way (its loops depend on values), JAX makes a jaxpr.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from ..executable import for_one_trace
from .plan import Builder, Plan
from .rules import Unsupported

try:
    from jax._src import core
    from jax._src.core import ShapedArray, Trace, Tracer, set_current_trace
except ImportError:  # another version of JAX
    core: Any = None
    Trace = Tracer = object  # type: ignore[assignment,misc]


def current_trace() -> Any:
    """The trace to which JAX hands what is computed now."""
    return None if core is None else core.trace_ctx.trace


# The avals of the results of common primitives. JAX itself takes ten times as long to say them.
SAME_AVAL = frozenset((
    "add", "sub", "mul", "div", "max", "min", "neg", "exp", "log", "log1p", "expm1", "tanh", "logistic", "sqrt", "rsqrt", "square",
    "sin", "cos", "erf", "sign", "floor", "ceil", "integer_pow", "pow", "add_any", "and", "or", "xor", "not", "copy", "stop_gradient",
))  # fmt: skip
_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_REDUCES = frozenset(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"))


def _out_aval(name: str, params: Any, avals: list[Any]) -> Any:
    """The aval of the result; None where it has to be asked for."""
    if not avals:
        return None
    first = avals[0]
    if name == "convert_element_type":
        dtype = params["new_dtype"]
        if isinstance(dtype, np.dtype) and params.get("sharding") is None:
            return ShapedArray(first.shape, dtype, weak_type=params["weak_type"])
    elif first.weak_type or (len(avals) == 2 and avals[1] is not first and not _same(first, avals[1])):
        return None
    elif name in SAME_AVAL:
        return first
    elif name in _COMPARES:
        return ShapedArray(first.shape, _BOOL)
    elif name == "transpose":
        return ShapedArray(tuple([first.shape[d] for d in params["permutation"]]), first.dtype)
    elif name in _REDUCES and params.get("out_sharding") is None:
        axes = params["axes"]
        return ShapedArray(tuple([n for d, n in enumerate(first.shape) if d not in axes]), first.dtype)
    elif len(avals) == 1 and params.get("sharding") is None:
        if name == "reshape":
            return ShapedArray(tuple(params["new_sizes"]), first.dtype)
        if name == "broadcast_in_dim":
            return ShapedArray(tuple(params["shape"]), first.dtype)
    return None


_BOOL = np.dtype(bool)


def _same(one: Any, other: Any) -> bool:
    return one.shape == other.shape and one.dtype == other.dtype and not other.weak_type


class _PlanTracer(Tracer):  # type: ignore[misc,valid-type]
    """A value of the plan. ``reference`` says where it will be found."""

    __slots__ = ("reference",)

    def __init__(self, trace: Any, aval: Any, reference: Any) -> None:
        super().__init__(trace, aval)
        self.reference = reference

    def full_lower(self) -> Any:
        return self


class PlanTrace(Trace):  # type: ignore[misc,valid-type]
    """Appends every primitive to a plan."""

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self.builder = builder

    def reference(self, value: Any) -> Any:
        if value.__class__ is _PlanTracer and value._trace is self:
            return value.reference
        if isinstance(value, Tracer):
            raise Unsupported("a value of another trace")
        return self.builder.constant(np.asarray(value))

    def stage_value(self, val: Any) -> Any:
        if val.__class__ is _PlanTracer:
            return val
        return _PlanTracer(self, core.typeof(val), self.reference(val))

    def known_branch(self, primitive: Any, tracers: Sequence[Any], params: Any) -> Any:
        """The branch that is taken, as a function, where that is known already: it depends on the platform."""
        if primitive.name != "cond" or tracers[0].__class__ is not _PlanTracer:
            return None
        kind, number = tracers[0].reference
        if kind != "c":
            return None
        branches = params["branches"]
        return core.jaxpr_as_fun(branches[min(max(int(self.builder.constants[number]), 0), len(branches) - 1)])

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: Any, /) -> Any:
        branch = self.known_branch(primitive, tracers, params)
        if branch is not None:
            with set_current_trace(self):
                return branch(*tracers[1:])
        avals: list[Any] = [t.aval if t.__class__ is _PlanTracer else core.typeof(t) for t in tracers]
        out: Any = _out_aval(primitive.name, params, avals)
        if out is None:
            out, effects = primitive.abstract_eval(*avals, **params)
            if effects:
                raise Unsupported("side effects")
        several = primitive.multiple_results
        outs: list[Any] = list(out) if several else [out]
        inputs = [self.reference(t) for t in tracers]
        references = self.builder.equation(primitive, params, inputs, avals, outs)
        results = [_PlanTracer(self, aval, r) for aval, r in zip(outs, references, strict=True)]
        return results if several else results[0]

    def process_call(self, call_primitive: Any, f: Any, tracers: Any, params: Any, /) -> Any:
        return f.call_wrapped(*tracers)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, tracers: Any, /, *, symbolic_zeros: Any
    ) -> Any:
        return self._run_custom(fun, tracers)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Any, /, *, out_trees: Any, symbolic_zeros: Any
    ) -> Any:
        return self._run_custom(fun, tracers)

    def _run_custom(self, fun: Any, tracers: Any) -> Any:
        """Runs a function that has a derivative of its own, which may read inputs that the function does not read."""
        with set_current_trace(self):
            outs = fun.call_wrapped(*tracers)
        self.builder.tie([self.reference(out) for out in outs], [self.reference(t) for t in tracers])
        return outs


class Traced:
    """What a function computes: the calls of a plan, not yet in their places, and the avals of the results."""

    __slots__ = ("_builder", "_outputs", "outs")

    def __init__(self, builder: Builder, outputs: list[Any], outs: list[Any]) -> None:
        self._builder = builder
        self._outputs = outputs
        self.outs = outs

    @property
    def convolves(self) -> bool:
        """Whether a convolution is among its primitives."""
        return "conv_general_dilated" in self._builder.names

    def reads(self) -> set[int]:
        """The numbers of the inputs on which the results depend."""
        return self._builder.reads(self._outputs)

    def plan(self, inputs: Sequence[int] | None = None) -> Plan:
        """How NumPy computes it.

        Args:
            inputs: the numbers of the inputs that the plan takes, all of those that it reads among them; by default all.

        Raises:
            Unsupported: something has no rule.
        """
        return self._builder.plan(self._outputs, inputs)


class _State(threading.local):
    for_numpy = False


_state = _State()


def for_numpy() -> bool:
    """Whether what is traced now will be computed by NumPy: then there is no need to write around what XLA would make of it."""
    return _state.for_numpy


def trace(fn: Callable[..., Sequence[Any]], avals: Sequence[Any]) -> Traced:
    """Traces a function that takes arrays of these shapes and dtypes, for NumPy."""
    before = _state.for_numpy
    try:
        _state.for_numpy = True
        return _trace_either_way(fn, avals)
    finally:
        _state.for_numpy = before


def _trace_either_way(fn: Callable[..., Sequence[Any]], avals: Sequence[Any]) -> Traced:
    if core is not None:
        with contextlib.suppress(
            Unsupported, jax.errors.JAXTypeError, NotImplementedError
        ):  # its loops depend on values, say
            return _trace(fn, avals)
    with jax.enable_x64(True):
        inputs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
        closed = jax.make_jaxpr(for_one_trace(fn))(*inputs)
    builder = Builder(len(avals))
    return Traced(builder, builder.add_closed(closed), closed.out_avals)


def _trace(fn: Callable[..., Sequence[Any]], avals: Sequence[Any]) -> Traced:
    tracing = PlanTrace(Builder(len(avals)))
    tracers = [_PlanTracer(tracing, ShapedArray(aval.shape, aval.dtype), ("i", n)) for n, aval in enumerate(avals)]
    try:
        with jax.enable_x64(True), jax.disable_jit(), set_current_trace(tracing):
            results = fn(*tracers)
        outputs = [tracing.reference(r) for r in results]
    finally:
        tracing.invalidate()
    return Traced(tracing.builder, outputs, [core.typeof(r) for r in results])
