"""Turns a function of JAX arrays into a plan directly, in a fraction of the time in which JAX makes a jaxpr of it.

JAX passes every primitive that a function applies to the current trace. The trace here appends the NumPy call of the primitive to a
plan, and asks JAX only for the shape and dtype of the result. Functions under ``jax.jit`` are called like ordinary
functions instead of being traced separately. Only this file and ``differentiation.py`` use these internals of JAX. Where they are missing,
or a function cannot be traced in this way (because its loops depend on values), JAX makes a jaxpr.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import jax
import numpy as np
from jax import Array, lax
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
except ImportError:  # these names are internal, so another version of JAX may lack them
    core: Any = None
    Trace = Tracer = object  # type: ignore[assignment,misc]


_tracer: Any = Tracer  # the class, with the methods that importing jax adds to it


def current_trace() -> Any:
    """Returns the trace to which JAX passes primitives at this moment."""
    return None if core is None else core.trace_ctx.trace


# ---- avals of results: JAX takes long to infer them, so the common ones are guessed and confirmed


_SAME = frozenset((
    "add", "sub", "mul", "div", "max", "min", "neg", "exp", "log", "log1p", "expm1", "tanh", "logistic", "sqrt", "rsqrt", "square",
    "sin", "cos", "erf", "sign", "floor", "ceil", "integer_pow", "pow", "add_any", "and", "or", "xor", "not", "copy", "stop_gradient",
))  # fmt: skip
_COMPARES = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_REDUCES = frozenset(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod"))
_BOOL = np.dtype(bool)
_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_INTEGERS = (np.dtype(np.int32), np.dtype(np.int64))
_SMALL = 1 << 31  # all of them can hold the numbers below
# Primitives whose guess checks the shape of each input, and returns None where JAX would raise an error.
_ANY_SHAPES = frozenset(("dot_general", "select_n", "concatenate"))
# Parameters that a guess computes shapes from. For all other parameters, each value is confirmed separately.
_OF_SHAPE = frozenset((
    "permutation", "axes", "new_sizes", "shape", "broadcast_dimensions", "start_indices", "limit_indices", "strides",
))  # fmt: skip
# Whether JAX confirmed the guess, by primitive, other parameters, and the dtypes and ranks of the inputs.
_confirmed: dict[tuple[object, ...], bool] = {}


def _guess(name: str, params: Parameters, avals: list[ShapedArray]) -> ShapedArray | None:
    """Guesses the aval of the result of a common primitive; None for other primitives, and where JAX would raise an error."""
    first = avals[0]
    if name in _SAME or name in _COMPARES:
        shape = first.shape
        for aval in avals[1:]:
            if aval.shape != shape:
                shape = _broadcast(shape, aval.shape)
        if name in _COMPARES:
            return ShapedArray(shape, _BOOL)
        return first if shape is first.shape else ShapedArray(shape, first.dtype)
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
    shape = _shape_of(name, params, [aval.shape for aval in avals])
    if shape is None:
        return None
    if name == "dot_general":
        preferred = params["preferred_element_type"]
        return ShapedArray(shape, first.dtype if preferred is None else preferred)
    return ShapedArray(shape, avals[-1].dtype)


def _shape_of(name: str, params: Parameters, shapes: list[tuple[int, ...]]) -> tuple[int, ...] | None:
    """Returns the shape of the result of a primitive whose inputs may differ in shape."""
    first, last = shapes[0], shapes[-1]
    if name == "dot_general":
        contracted, batch = params["dimension_numbers"]
        if any(first[m] != last[n] for m, n in (*zip(*contracted, strict=True), *zip(*batch, strict=True))):
            return None
        free = [
            n for shape, c, b in zip(shapes, contracted, batch, strict=True) for d, n in enumerate(shape) if d not in c and d not in b
        ]  # fmt: skip
        return (*[first[d] for d in batch[0]], *free)
    if name == "select_n":
        is_usual = first in ((), last) and all(shape == last for shape in shapes[1:])
        return last if is_usual else None
    if name == "slice":
        starts, limits = params["start_indices"], params["limit_indices"]
        steps = params["strides"] or (1,) * len(first)
        if not all(0 <= m <= n <= size for m, n, size in zip(starts, limits, first, strict=True)):
            return None
        return tuple([-((m - n) // step) for m, n, step in zip(starts, limits, steps, strict=True)])
    if name == "squeeze":
        dims = params["dimensions"]
        return None if any(first[d] != 1 for d in dims) else tuple([n for d, n in enumerate(first) if d not in dims])
    if name == "concatenate":
        d = params["dimension"]
        if any(
            len(shape) != len(first) or shape[:d] + shape[d + 1 :] != first[:d] + first[d + 1 :] for shape in shapes
        ):
            return None
        return (*first[:d], sum(shape[d] for shape in shapes), *first[d + 1 :])
    return None


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the common shape of two shapes that broadcast: they have the same rank, or one of them is a scalar's."""
    if not a or not b:
        return a or b
    return tuple([m if n == 1 else n for m, n in zip(a, b, strict=True)])


def _ones(avals: list[ShapedArray]) -> tuple[tuple[bool, ...], ...] | None:
    """Returns which dimensions have size 1 in each shape, or None if the shapes differ in other ways too."""
    sizes = [aval.shape for aval in avals if aval.shape]
    if len({len(shape) for shape in sizes}) > 1:
        return None
    for column in zip(*sizes, strict=True):
        common = 1
        for n in column:
            if n != 1:
                if common == 1:
                    common = n
                elif n != common:
                    return None
    return tuple([tuple([n == 1 for n in aval.shape]) for aval in avals])


def out_avals(primitive: Primitive, params: Parameters, avals: list[ShapedArray]) -> list[Any]:
    """The avals of a primitive's results.

    The guess is used if JAX has confirmed it before, for the same primitive, parameters (except those that name sizes and dimensions),
    dtypes and ranks, and for inputs that have one shape, or size 1 in the same places, or whose shapes the guess checks. Otherwise JAX
    infers the avals.
    """
    key = None
    ones = None
    if not primitive.multiple_results and avals:
        if primitive.name in _ANY_SHAPES or all(aval.shape == avals[0].shape for aval in avals[1:]):
            ones = ()
        elif primitive.name in _SAME or primitive.name in _COMPARES:
            ones = _ones(avals)
    if ones is not None:
        kinds = [(aval.dtype, len(aval.shape), aval.weak_type) for aval in avals]
        key = (primitive, ones, *[item for item in params.items() if item[0] not in _OF_SHAPE], *kinds)
        try:
            if _confirmed.get(key):
                guess = _guess(primitive.name, params, avals)
                if guess is not None:
                    return [guess]
        except TypeError:  # a parameter is not hashable
            key = None
    out, effects = primitive.abstract_eval(*avals, **params)
    if effects:
        raise Unsupported("side effects")
    if primitive.multiple_results:
        return list(out)
    if key is not None and key not in _confirmed:
        guess = _guess(primitive.name, params, avals)
        if guess is not None or primitive.name not in _ANY_SHAPES:
            _confirmed[key] = guess == out
    return [out]


# ---- the trace


# The classes of traces, and of their values, that use the operators below.
_TRACES: set[type] = set()
_VALUES: set[type] = set()


def _operator(name: str, function: Any, primitive: Any, kinds: str) -> Any:
    """Makes an operator of tracers. For values of one dtype it appends its primitive at once; JAX needs 50 us to reach the same primitive.

    ``kinds``: the kinds of dtypes for which that holds. JAX handles operands that need promotion or broadcasting.
    """
    usual = getattr(_tracer, f"__{name}__")
    reflected = name[0] == "r"

    def operator(self: Any, other: Any) -> Any:
        aval, trace = self.aval, core.trace_ctx.trace
        if trace.__class__ not in _TRACES or not trace.has(self) or aval.weak_type or aval.dtype.kind not in kinds:
            return usual(self, other)
        if other.__class__ in _VALUES:
            like = other.aval
            if like.dtype != aval.dtype or like.weak_type or not trace.has(other):
                return usual(self, other)
            if like.shape != aval.shape and like.shape and aval.shape:
                more = len(aval.shape) - len(like.shape)
                if more > 0:
                    other = lax.expand_dims(other, range(more))
                elif more < 0:
                    self = lax.expand_dims(self, range(-more))
                if _ones([self.aval, other.aval]) is None:
                    return usual(self, other)
        elif ((other.__class__ is float or other.__class__ is int) and aval.dtype in _FLOATS) or (
            other.__class__ is int and aval.dtype in _INTEGERS and -_SMALL < other < _SMALL
        ):
            other = np.asarray(other, aval.dtype)
        else:
            return usual(self, other)
        return trace.combine(function, primitive, *((other, self) if reflected else (self, other)))

    return operator


def _astype(self: Any, dtype: Any, *others: Any, **keywords: Any) -> Any:
    """JAX's ``astype``; it appends nothing if the value already has the dtype."""
    if not others and not keywords and self.aval.dtype == dtype and not self.aval.weak_type:
        return self
    return _tracer.astype(self, dtype, *others, **keywords)


def _reshape(self: Any, *shape: Any, **keywords: Any) -> Any:
    """JAX's ``reshape``, without its checks if no size has to be inferred."""
    sizes = shape[0] if len(shape) == 1 and shape[0].__class__ is tuple else shape
    if keywords or any(n.__class__ is not int or n < 0 for n in sizes):
        return _tracer.reshape(self, *shape, **keywords)
    return lax.reshape(self, sizes)


def _getitem(self: Any, index: Any) -> Any:
    """JAX's ``x[index]``, for numbers, slices and None directly as the primitives that these are.

    JAX takes ten times as long to find that out, and cannot do so for sizes that stand for any number.
    """
    entries: tuple[Any, ...] = index if index.__class__ is tuple else (index,)
    trace, shape = core.trace_ctx.trace, self.aval.shape
    used = sum([e is not None and e is not Ellipsis for e in entries])
    if trace.__class__ not in _TRACES or not trace.has(self) or used > len(shape):
        return _tracer.__getitem__(self, index)
    starts, limits, strides, dropped, added = [], [], [], [], []
    left, rank = len(shape) - used, 0  # dimensions that no entry names; those of the result so far
    for e in entries:
        size = shape[len(starts)] if len(starts) < len(shape) else 0
        if e is None:
            added.append(rank)
            rank += 1
        elif e is Ellipsis:
            count, left = left, 0
            rank += count
            limits += shape[len(starts) : len(starts) + count]
            starts += [0] * count
            strides += [1] * count
        elif e.__class__ is int:
            start = e + size if e < 0 else e
            if not 0 <= start < size:
                return _tracer.__getitem__(self, index)
            dropped.append(len(starts))
            starts, limits, strides = [*starts, start], [*limits, start + 1], [*strides, 1]
        elif e.__class__ is slice and all(n is None or n.__class__ is int for n in (e.start, e.stop, e.step)):
            stride = 1 if e.step is None else e.step
            if not stride > 0:
                return _tracer.__getitem__(self, index)
            start, limit = 0 if e.start is None else e.start, size if e.stop is None else e.stop
            start, limit = (min(max(n + size if n < 0 else n, 0), size) for n in (start, limit))
            starts, limits, strides = [*starts, start], [*limits, max(start, limit)], [*strides, stride]
            rank += 1
        else:
            return _tracer.__getitem__(self, index)
    limits += shape[len(starts) :]
    starts += [0] * (len(shape) - len(starts))
    strides += [1] * (len(shape) - len(strides))
    result = self
    by_one = all(by == 1 for by in strides)
    if not by_one or any(s != 0 or n != size for s, n, size in zip(starts, limits, shape, strict=True)):
        result = lax.slice(self, starts, limits, None if by_one else strides)
    if dropped:
        result = lax.squeeze(result, dropped)
    return lax.expand_dims(result, added) if added else result


class PlanTracer(Tracer):  # type: ignore[misc,valid-type]
    """A value of the plan. ``reference`` names its slot."""

    __slots__ = ("reference",)

    def __init__(self, trace: Any, aval: Any, reference: Reference) -> None:
        super().__init__(trace, aval)
        self.reference = reference

    def full_lower(self) -> PlanTracer:
        return self


_OPERATORS = (
    (("add", "radd"), lax.add, lax.add_p, "fiuc"),
    (("sub", "rsub"), lax.sub, lax.sub_p, "fiuc"),
    (("mul", "rmul"), lax.mul, lax.mul_p, "fiuc"),
    (("truediv", "rtruediv"), lax.div, lax.div_p, "fc"),
    (("lt",), lax.lt, lax.lt_p, "fiu"),
    (("le",), lax.le, lax.le_p, "fiu"),
    (("gt",), lax.gt, lax.gt_p, "fiu"),
    (("ge",), lax.ge, lax.ge_p, "fiu"),
    (("eq",), lax.eq, lax.eq_p, "fiuc"),
    (("ne",), lax.ne, lax.ne_p, "fiuc"),
    (("and", "rand"), lax.bitwise_and, lax.and_p, "biu"),
    (("or", "ror"), lax.bitwise_or, lax.or_p, "biu"),
)


def give_operators(trace: type, values: Any) -> None:
    """Gives the values of a trace the operators of this file. The trace must have methods ``has`` and ``combine``."""
    _TRACES.add(trace)
    _VALUES.add(values)
    for names, function, primitive, kinds in _OPERATORS:
        for name in names:
            setattr(values, f"__{name}__", _operator(name, function, primitive, kinds))
    values.astype, values.reshape, values.__getitem__ = _astype, _reshape, _getitem


class CustomCallTrace(Trace):  # type: ignore[misc,valid-type]
    """A trace that runs functions with custom derivatives as plain functions, because nothing in it is differentiated again."""

    __slots__ = ()

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
        with set_current_trace(self):
            return fun.call_wrapped(*tracers)


class PlanTrace(CustomCallTrace):
    """Appends every primitive to a plan."""

    __slots__ = ("builder",)

    def __init__(self, builder: Builder) -> None:
        super().__init__()
        self.builder = builder

    def has(self, value: Any) -> bool:
        """Whether a value belongs to this trace."""
        return value._trace is self

    def combine(self, function: object, primitive: Primitive, first: object, second: object) -> Any:
        """Appends a primitive directly, without the checks of its function in ``jax.lax``."""
        return self.process_primitive(primitive, (first, second), {})

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
        """Returns the branch that is taken, as a function, if it is known while tracing because it depends on the platform alone."""
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
        outs = out_avals(primitive, params, avals)
        inputs = [self.reference(t) for t in tracers]
        references = self.builder.equation(primitive, params, inputs, avals, outs)
        results = [PlanTracer(self, aval, r) for aval, r in zip(outs, references, strict=True)]
        return results if primitive.multiple_results else results[0]

    def process_call(
        self, call_primitive: object, f: WrappedFun, tracers: Sequence[object], params: object, /
    ) -> Sequence[object]:
        return f.call_wrapped(*tracers)

    def _run_custom(self, fun: WrappedFun, tracers: Sequence[object]) -> Sequence[object]:
        """Runs a function that has a custom derivative. The derivative may read inputs that the function does not read."""
        outs = super()._run_custom(fun, tracers)
        self.builder.tie([self.reference(out) for out in outs], [self.reference(t) for t in tracers])
        return outs


if core is not None:
    give_operators(PlanTrace, PlanTracer)


def runs_undifferentiated() -> bool:
    """Whether the current trace appends to a plan, in which nothing is differentiated."""
    return core is not None and core.trace_ctx.trace.__class__ is PlanTrace


def tie(outputs: Sequence[Any], inputs: Sequence[Any]) -> None:
    """Records in the current plan that outputs depend on inputs that only a derivative reads."""
    trace = core.trace_ctx.trace
    trace.builder.tie([trace.reference(out) for out in outputs], [trace.reference(value) for value in inputs])


def traced_once(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of arrays, and of trees of them, that appends to the plan what it appended for others of the same shapes and dtypes.

    It is for NumPy what ``jax.jit`` is for JAX, so it must depend on nothing else but the arguments that are no arrays, and on what it
    refers to. Calls that read none of the other arrays are not repeated.
    """
    known: dict[Hashable, tuple[list[Reference], range, Any, list[Any]]] = {}

    def call(*args: Any) -> Any:
        trace: Any = current_trace()
        if trace.__class__ is not PlanTrace:
            return fn(*args)
        leaves, structure = jax.tree.flatten(args)
        given = [leaf for leaf in leaves if type(leaf) is PlanTracer]
        references = [trace.reference(tracer) for tracer in given]
        # What is constant may have been computed already, and one array may be several arguments.
        which = [reference if reference[0] == "c" else references.index(reference) for reference in references]
        rest = [None if type(leaf) is PlanTracer else (type(leaf), leaf) for leaf in leaves]  # True is equal to 1
        key = (trace, structure, *rest, *which, *[tracer.aval for tracer in given])
        if key not in known:
            first = len(trace.builder.calls)
            results, made = jax.tree.flatten(fn(*args))
            known[key] = references, range(first, len(trace.builder.calls)), made, results
            return jax.tree.unflatten(made, results)
        before, calls, made, results = known[key]
        now = trace.builder.repeated(calls, dict(zip(before, references, strict=True)))
        tracers = [
            PlanTracer(trace, result.aval, now.get(result.reference, result.reference))
            if type(result) is PlanTracer
            else result
            for result in results
        ]
        return jax.tree.unflatten(made, tracers)

    return call


class Traced:
    """A traced function: the calls of a plan before slots are numbered, and the avals of the results.

    ``inputs``: the numbers of the inputs that the plan takes; None: all of them.
    """

    __slots__ = ("_builder", "_outputs", "_inputs", "outs")

    def __init__(
        self,
        builder: Builder,
        outputs: list[Reference],
        outs: Sequence[ShapedDtype],
        inputs: Sequence[int] | None = None,
    ) -> None:
        self._builder = builder
        self._outputs = outputs
        self._inputs = inputs
        self.outs = outs

    @property
    def parts(self) -> tuple[Builder, list[Reference]]:
        """The calls, and references to the results."""
        return self._builder, self._outputs

    def taking(self, inputs: Sequence[int]) -> Traced:
        """Returns the same function of only these inputs, which must include all that it reads."""
        return Traced(self._builder, self._outputs, self.outs, inputs)

    @property
    def convolutions(self) -> int:
        """The number of convolutions among its primitives."""
        return self._builder.convolutions

    def reads(self) -> set[int]:
        """The numbers of the inputs on which the results depend."""
        return self._builder.reads(self._outputs)

    def reads_of(self, output: int) -> set[int]:
        """The numbers of the inputs on which one result depends."""
        return self._builder.reads([self._outputs[output]])

    def varies_with(self, output: int) -> set[int]:
        """The numbers of the inputs of which one result is a differentiable function."""
        return self._builder.varies_with(self._outputs[output])

    def apart(self) -> list[list[int]]:
        """The numbers of the results, those in one list whose computations have a step in common."""
        groups: list[tuple[list[int], set[int]]] = []
        for number, output in enumerate(self._outputs):
            steps = set(map(id, self._builder.needed([output], tied=True)))
            with_it = [group for group in groups if not steps.isdisjoint(group[1])]
            groups = [group for group in groups if group not in with_it]
            numbers = sorted([number, *(n for group in with_it for n in group[0])])
            groups.append((numbers, steps.union(*(group[1] for group in with_it))))
        return sorted(numbers for numbers, _ in groups)

    def plan(self) -> Plan:
        """Returns the plan by which NumPy computes the function.

        Raises:
            Unsupported: a primitive has no rule.
        """
        return self._builder.plan(self._outputs, self._inputs)


class _State(threading.local):
    for_numpy = False


_state = _State()


def for_numpy() -> bool:
    """Whether NumPy will compute what is traced now. Then workarounds for XLA's optimizations are not needed."""
    return _state.for_numpy


@contextmanager
def computing_by_numpy() -> Iterator[None]:
    """Within the context ``for_numpy`` is true."""
    before = _state.for_numpy
    try:
        _state.for_numpy = True
        yield
    finally:
        _state.for_numpy = before


def trace(fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]) -> Traced:
    """Traces a function that takes arrays of these shapes and dtypes, for NumPy."""
    with computing_by_numpy():
        return _trace_either_way(fn, avals)


@in_jax
def _trace_either_way(fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]) -> Traced:
    if core is not None:
        try:
            return _trace(fn, avals)
        except Exception as reason:
            # For example, its loops depend on values. If the function itself is wrong, JAX's own tracing raises the error again.
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
    builder = Builder(len(avals))
    return Traced(builder, *append(fn, avals, builder))


def append(
    fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype], builder: Any
) -> tuple[list[Reference], list[ShapedArray]]:
    """Appends the primitives of a function of the inputs to a builder; returns references to its results, and their avals."""
    tracing = PlanTrace(builder)
    tracers = [PlanTracer(tracing, ShapedArray(aval.shape, aval.dtype), ("i", n)) for n, aval in enumerate(avals)]
    try:
        with jax.disable_jit(), set_current_trace(tracing):
            results = fn(*tracers)
        outputs = [tracing.reference(r) for r in results]
    finally:
        tracing.invalidate()
    return outputs, [core.typeof(r) for r in results]
