"""Kernels within a trace of the user's that has no 64-bit types: a primitive that JAX lowers with them.

A kernel is always traced with 64-bit types, since it is written for them: it counts in int64, or has numbers that no int32 holds. But JAX
lowers the equations when the user's trace ends, and writes some of them as functions of its own (``argmax``, a scatter whose places are
clipped). Without 64-bit types these give int32, and do not fit the equation. So a kernel with 64-bit types in it stands in such a trace as
one equation, which turns them on where it is lowered. Where JAX differentiates the trace, the kernel's own equations take its place.

Many kernels have no more of them than the 0 of ``jnp.where(x < 0, 0, x)``, which is an int64 that becomes a float32 at once. There the
number is converted when the kernel is traced, and the equations stand in the trace themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr, Literal, Primitive
from jax.interpreters import ad, batching, mlir

from . import tracing

kernel_p = Primitive("torchlike_kernel")
kernel_p.multiple_results = True

WIDE = frozenset(("int64", "uint64", "float64", "complex128"))  # which JAX replaces where it has no 64-bit types


def for_traces(
    fn: Callable[..., Sequence[Any]], specs: Sequence[jax.ShapeDtypeStruct], wide: bool
) -> Callable[..., Any]:
    """The function for use within a trace of the user's. It is traced once for each shape.

    Args:
        specs: shape and dtype of each argument.
        wide: whether that trace has 64-bit types.
    """
    # A function of its own: JAX keeps a weak reference, and an operation has none.
    inlined = jax.jit(lambda *arrays: fn(*arrays), inline=True)
    if wide:
        return tracing(inlined)
    closed = tracing(jax.make_jaxpr(inlined))(*specs)
    if not _has_64_bits(closed.jaxpr):
        return tracing(inlined)
    converted = jax.jit(lambda *arrays: _evaluate(closed, arrays), inline=True)
    shorter = tracing(jax.make_jaxpr(converted))(*specs)
    if not _has_64_bits(shorter.jaxpr) and shorter.out_avals == closed.out_avals:
        return tracing(converted)
    return tracing(lambda *arrays: kernel_p.bind(*arrays, fn=inlined))


def _evaluate(closed: ClosedJaxpr, arrays: Sequence[object]) -> list[object]:
    """What the equations give, those of inner functions too, with numbers converted that stand in them."""
    jaxpr = closed.jaxpr
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*closed.consts, *arrays), strict=True))

    def read(atom: Any) -> object:
        aval = atom.aval
        return np.asarray(atom.val, aval.dtype) if isinstance(atom, Literal) else values[atom]

    for equation in jaxpr.eqns:
        outs = _results(equation.primitive, equation.params, [read(each) for each in equation.invars])
        values.update(zip(equation.outvars, outs, strict=True))
    return [read(each) for each in jaxpr.outvars]


def _results(primitive: Primitive, params: dict[str, Any], values: list[object]) -> Sequence[object]:
    if primitive.name == "convert_element_type" and not params["weak_type"]:
        (value,) = values
        if isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind in "biu":
            number = value.astype(params["new_dtype"])
            if number == value:  # how others are rounded is XLA's business
                return [number]
    if primitive.name == "jit":
        return _evaluate(params["jaxpr"], values)
    if primitive.name == "custom_jvp_call":
        inner = params["call_jaxpr"]
        params = params | {"call_jaxpr": jax.make_jaxpr(lambda *arrays: _evaluate(inner, arrays))(*inner.in_avals)}
    bound = primitive.get_bind_params(params)
    functions, params = bound if isinstance(bound, tuple) else ((), bound)  # a pair in some versions of JAX
    outs = primitive.bind(*functions, *values, **params)
    return outs if primitive.multiple_results else [outs]


def _has_64_bits(jaxpr: Jaxpr) -> bool:
    """Whether an equation, also of an inner function, reads or makes a 64-bit number."""
    for equation in jaxpr.eqns:
        dtypes = {getattr(each.aval, "dtype", None) for each in (*equation.invars, *equation.outvars)}
        if not WIDE.isdisjoint(map(str, dtypes)):
            return True
        if any(map(_has_64_bits, _inner(equation.params.values()))):
            return True
    return False


def _inner(params: Iterable[object]) -> Iterable[Jaxpr]:
    for each in params:
        if isinstance(each, ClosedJaxpr):
            yield each.jaxpr
        elif isinstance(each, Jaxpr):
            yield each
        elif isinstance(each, (tuple, list)):
            yield from _inner(each)


@kernel_p.def_abstract_eval
def _abstract(*avals: Any, fn: Callable[..., Any]) -> list[ShapedArray]:
    specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in avals]
    return [ShapedArray(each.shape, each.dtype) for each in tracing(jax.eval_shape)(fn, *specs)]


@kernel_p.def_impl
def _compute(*arrays: Any, fn: Callable[..., Any]) -> list[Any]:
    return list(tracing(fn)(*arrays))


@tracing
def _lower(context: mlir.LoweringRuleContext, *operands: Any, fn: Callable[..., Any]) -> Sequence[Any]:
    return mlir.lower_fun(fn, multiple_results=True)(context, *operands)


mlir.register_lowering(kernel_p, _lower)


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, fn: Callable[..., Any]) -> tuple[list[Any], list[Any]]:
    tangents = [ad.instantiate_zeros(each) for each in tangents]
    outs, changes = tracing(jax.jvp)(fn, tuple(primals), tuple(tangents))
    return list(outs), list(changes)


ad.primitive_jvps[kernel_p] = _jvp


@lru_cache(maxsize=256)
def _mapped(fn: Callable[..., Any], dims: tuple[int | None, ...]) -> Callable[..., Any]:
    return jax.jit(jax.vmap(fn, dims), inline=True)


def _batch(arrays: Sequence[Any], dims: Sequence[int | None], *, fn: Callable[..., Any]) -> tuple[list[Any], list[int]]:
    # JAX's own mark of what is not mapped is None, too.
    outs = tracing(kernel_p.bind)(*arrays, fn=_mapped(fn, tuple(dims)))
    return outs, [0] * len(outs)


batching.primitive_batchers[kernel_p] = _batch
