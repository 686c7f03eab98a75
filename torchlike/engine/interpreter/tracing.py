"""Turns a function of JAX arrays into a plan directly, in a fraction of the time in which JAX makes a jaxpr of it.

JAX hands every primitive that a function applies to the trace that is current. The trace here appends the NumPy call of the primitive to a
plan, and asks JAX only for the shape and dtype of the result. Functions under ``jax.jit`` are run as they stand, instead of being traced
by themselves. This file and ``differentiation.py`` alone use these inner parts of JAX; ``jax_settings.py`` its settings. Where they are
missing, or a function cannot be traced in this way (its loops depend on values), JAX makes a jaxpr.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.extend.core import Primitive
from jax.extend.linear_util import WrappedFun

from ..executable import for_one_trace
from ..jax_settings import tracing as in_jax
from ..report import report
from .plan import Builder, Plan
from .rules import Parameters, Reference, ShapedDtype, Unsupported

try:
    from jax._src import core
    from jax._src.core import ShapedArray, Trace, Tracer, set_current_trace
except ImportError:  # another version of JAX
    core: Any = None
    Trace = Tracer = object  # type: ignore[assignment,misc]


def current_trace() -> Any:
    """The trace to which JAX hands what is computed now."""
    return None if core is None else core.trace_ctx.trace


# ---- avals of results, of which JAX takes long to say the usual ones


_SAME = frozenset((
    "add", "sub", "mul", "div", "max", "min", "neg", "exp", "log", "log1p", "expm1", "tanh", "logistic", "sqrt", "rsqrt", "square",
    "sin", "cos", "erf", "sign", "floor", "ceil", "integer_pow", "pow", "add_any", "and", "or", "xor", "not", "copy", "stop_gradient",
))  # fmt: skip
_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_REDUCES = frozenset(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"))
_BOOL = np.dtype(bool)
# Parameters by which a guess follows shapes. In all other respects it is confirmed for each value of a parameter.
_OF_SHAPE = frozenset(("permutation", "axes", "new_sizes", "shape", "broadcast_dimensions"))
# Whether JAX said what was guessed, for a primitive, its other parameters, and the dtypes and ranks of its inputs.
_confirmed: dict[tuple[object, ...], bool] = {}


def _guess(name: str, params: Parameters, avals: list[ShapedArray]) -> ShapedArray | None:
    """The aval that the result of a common primitive should have; None for other primitives."""
    first = avals[0]
    if name in _SAME:
        return first
    if name in _COMPARES:
        return ShapedArray(first.shape, _BOOL)
    if name == "convert_element_type":
        return ShapedArray(first.shape, params["new_dtype"], weak_type=params["weak_type"])
    if name == "transpose":
        return ShapedArray(tuple([first.shape[d] for d in params["permutation"]]), first.dtype)
    if name in _REDUCES:
        axes = params["axes"]
        return ShapedArray(tuple([n for d, n in enumerate(first.shape) if d not in axes]), first.dtype)
    if name == "reshape":
        return ShapedArray(tuple(params["new_sizes"]), first.dtype)
    if name == "broadcast_in_dim":
        return ShapedArray(tuple(params["shape"]), first.dtype)
    return None


def _out_avals(primitive: Primitive, params: Parameters, avals: list[ShapedArray]) -> list[Any]:
    """The avals of a primitive's results.

    JAX is asked, but where the guess for this primitive has been found right before: for the same parameters (but those that name
    sizes and dimensions, which guesses follow), dtypes and ranks, and inputs of one shape.
    """
    key = None
    if not primitive.multiple_results and avals and all(aval.shape == avals[0].shape for aval in avals[1:]):
        kinds = [(aval.dtype, len(aval.shape), aval.weak_type) for aval in avals]
        key = (primitive, *[item for item in params.items() if item[0] not in _OF_SHAPE], *kinds)
        try:
            if _confirmed.get(key):
                return [_guess(primitive.name, params, avals)]
        except TypeError:  # a parameter that cannot be compared
            key = None
    out, effects = primitive.abstract_eval(*avals, **params)
    if effects:
        raise Unsupported("side effects")
    if primitive.multiple_results:
        return list(out)
    if key is not None and key not in _confirmed:
        _confirmed[key] = _guess(primitive.name, params, avals) == out
    return [out]


# ---- the trace


class PlanTracer(Tracer):  # type: ignore[misc,valid-type]
    """A value of the plan. ``reference`` says where it will be found."""

    __slots__ = ("reference",)

    def __init__(self, trace: Any, aval: Any, reference: Reference) -> None:
        super().__init__(trace, aval)
        self.reference = reference

    def full_lower(self) -> PlanTracer:
        return self


class PlanTrace(Trace):  # type: ignore[misc,valid-type]
    """Appends every primitive to a plan."""

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self.builder = builder

    def reference(self, value: object) -> Reference:
        if type(value) is PlanTracer and value._trace is self:
            return value.reference
        if isinstance(value, Tracer):
            raise Unsupported("a value of another trace")
        return self.builder.constant(np.asarray(value))

    def stage_value(self, val: object) -> PlanTracer:
        if type(val) is PlanTracer:
            return val
        return PlanTracer(self, core.typeof(val), self.reference(val))

    def known_branch(
        self, primitive: Primitive, tracers: Sequence[object], params: Parameters
    ) -> Callable[..., Sequence[object]] | None:
        """The branch that is taken, as a function, where that is known already: it depends on the platform."""
        if primitive.name != "cond" or type(tracers[0]) is not PlanTracer:
            return None
        kind, number = self.reference(tracers[0])
        if kind != "c":
            return None
        branches = params["branches"]
        return core.jaxpr_as_fun(branches[min(max(int(self.builder.constants[number]), 0), len(branches) - 1)])

    def process_primitive(self, primitive: Primitive, tracers: Sequence[object], params: Parameters, /) -> Any:
        branch = self.known_branch(primitive, tracers, params)
        if branch is not None:
            with set_current_trace(self):
                return branch(*tracers[1:])
        avals: list[Any] = [t.aval if type(t) is PlanTracer else core.typeof(t) for t in tracers]
        outs = _out_avals(primitive, params, avals)
        inputs = [self.reference(t) for t in tracers]
        references = self.builder.equation(primitive, params, inputs, avals, outs)
        results = [PlanTracer(self, aval, r) for aval, r in zip(outs, references, strict=True)]
        return results if primitive.multiple_results else results[0]

    def process_call(
        self, call_primitive: object, f: WrappedFun, tracers: Sequence[object], params: object, /
    ) -> Sequence[object]:
        return f.call_wrapped(*tracers)

    def process_custom_jvp_call(
        self, primitive: object, fun: WrappedFun, jvp: object, tracers: Sequence[object], /, *, symbolic_zeros: object
    ) -> Sequence[object]:
        return self._run_custom(fun, tracers)

    def process_custom_vjp_call(
        self,
        primitive: object,
        fun: WrappedFun,
        fwd: object,
        bwd: object,
        tracers: Sequence[object],
        /,
        *,
        out_trees: object,
        symbolic_zeros: object,
    ) -> Sequence[object]:
        return self._run_custom(fun, tracers)

    def _run_custom(self, fun: WrappedFun, tracers: Sequence[object]) -> Sequence[object]:
        """Runs a function that has a derivative of its own, which may read inputs that the function does not read."""
        with set_current_trace(self):
            outs = fun.call_wrapped(*tracers)
        self.builder.tie([self.reference(out) for out in outs], [self.reference(t) for t in tracers])
        return outs


class Traced:
    """A traced function: the calls of a plan before slots are assigned, and the avals of the results.

    ``inputs``: the numbers of the inputs that the plan takes; None: all of them.
    """

    __slots__ = ("_builder", "_outputs", "_inputs", "outs")

    def __init__(
        self,
        builder: Builder,
        outputs: list[Reference],
        outs: Sequence[ShapedArray],
        inputs: Sequence[int] | None = None,
    ) -> None:
        self._builder = builder
        self._outputs = outputs
        self._inputs = inputs
        self.outs = outs

    def taking(self, inputs: Sequence[int]) -> Traced:
        """The same of these inputs alone, among which are all that it reads."""
        return Traced(self._builder, self._outputs, self.outs, inputs)

    @property
    def convolutions(self) -> int:
        """The number of convolutions among its primitives."""
        return self._builder.convolutions

    def reads(self) -> set[int]:
        """The numbers of the inputs on which the results depend."""
        return self._builder.reads(self._outputs)

    def plan(self) -> Plan:
        """The plan by which NumPy computes it.

        Raises:
            Unsupported: something has no rule.
        """
        return self._builder.plan(self._outputs, self._inputs)


class _State(threading.local):
    for_numpy = False


_state = _State()


def for_numpy() -> bool:
    """Whether what is traced now will be computed by NumPy: then there is no need to write around what XLA would make of it."""
    return _state.for_numpy


def trace(fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]) -> Traced:
    """Traces a function that takes arrays of these shapes and dtypes, for NumPy."""
    before = _state.for_numpy
    try:
        _state.for_numpy = True
        return _trace_either_way(fn, avals)
    finally:
        _state.for_numpy = before


@in_jax
def _trace_either_way(fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]) -> Traced:
    if core is not None:
        try:
            return _trace(fn, avals)
        except Exception as reason:
            # Its loops depend on values, say. What is wrong with the function itself JAX's own way finds as well.
            report.traced_by_jax[f"{type(reason).__name__}: {str(reason)[:80]}"] += 1
    inputs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    closed = jax.make_jaxpr(for_one_trace(fn))(*inputs)
    builder = Builder(len(avals))
    try:
        outputs = builder.add_closed(closed)
    except Unsupported as reason:
        outputs = builder.opaque(len(closed.out_avals), str(reason))
    return Traced(builder, outputs, closed.out_avals)


def _trace(fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]) -> Traced:
    tracing = PlanTrace(Builder(len(avals)))
    tracers = [PlanTracer(tracing, ShapedArray(aval.shape, aval.dtype), ("i", n)) for n, aval in enumerate(avals)]
    try:
        with jax.disable_jit(), set_current_trace(tracing):
            results = fn(*tracers)
        outputs = [tracing.reference(r) for r in results]
    finally:
        tracing.invalidate()
    return Traced(tracing.builder, outputs, [core.typeof(r) for r in results])
