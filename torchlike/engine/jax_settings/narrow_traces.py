"""Kernels within a trace of the user's that has no 64-bit types: a primitive that JAX lowers with them.

A kernel is always traced with 64-bit types, since it is written for them: it counts in int64, or has numbers that no int32 holds. But JAX
lowers the equations when the user's trace ends, and writes some of them as functions of its own (``argmax``, a scatter whose places are
clipped). Without 64-bit types these give int32, and do not fit the equation. So a kernel with 64-bit types in it stands in such a trace as
one equation, which turns them on where it is lowered. Where JAX differentiates the trace, the kernel's own equations take its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import jax
from jax.core import ShapedArray
from jax.extend.core import ClosedJaxpr, Jaxpr, Primitive
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
    if wide or not _has_64_bits(tracing(jax.make_jaxpr(inlined))(*specs).jaxpr):
        return tracing(inlined)
    return tracing(lambda *arrays: kernel_p.bind(*arrays, fn=inlined))


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
