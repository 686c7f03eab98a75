"""Half-precision formulas: PyTorch's kernels compute them in float32 and round once, at the end."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.extend.core.primitives import reduce_sum_p

from .derivatives import custom_jvp
from .exact_math import traced_platform

if TYPE_CHECKING:
    from jax import Array


HALF = (np.dtype(np.float16), np.dtype(jnp.bfloat16))


def in_float32(compute: Callable[..., Array]) -> Callable[..., Array]:
    """Makes ``compute`` see float32 arrays where it was given float16 or bfloat16 ones, and rounds what it returns."""

    @functools.wraps(compute)
    def wide(*args: Any, **kwargs: Any) -> Array:
        half = next((a.dtype for a in args if is_half(a)), None)
        if half is None:
            return compute(*args, **kwargs)
        result = compute(*map(widened, args), **kwargs)
        return result.astype(half) if result.dtype == np.float32 else result

    return wide


def keeping_halves(compute: Callable[..., Array]) -> Callable[..., Array]:
    """As ``in_float32``; and on an accelerator the derivative computes again, from the arrays in the half type, what it needs in float32.

    XLA finds that forward and backward pass compute the same, and keeps it: an error function or a sigmoid takes long enough for that.
    It has twice the size of the input. Behind a barrier it is not found.
    """
    widely = in_float32(compute)

    @functools.wraps(compute)
    def computed(*args: Any, **kwargs: Any) -> Array:
        if traced_platform() == "cpu" or not any(map(is_half, args)):
            return widely(*args, **kwargs)
        places = [n for n, a in enumerate(args) if is_half(a)]

        def of(*halves: Array) -> Array:
            return widely(*[halves[places.index(n)] if n in places else a for n, a in enumerate(args)], **kwargs)

        again = custom_jvp(of)

        @again.defjvp
        def derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
            return again(*primals), jax.jvp(of, lax.optimization_barrier(primals), tangents)[1]

        return again(*(args[n] for n in places))

    return computed


def read_again(half: Array, compute: Callable[..., Array]) -> Callable[..., Array]:
    """``compute(wide, *others)``, where ``wide`` is ``half`` in float32: on an accelerator its derivative reads ``half`` instead.

    Several functions of one ``wide`` leave its gradient in float32 until it is whole. What is computed from the others alone, as from a
    mean that is given, stands before the barrier and is not computed again.
    """
    if traced_platform() == "cpu" or not is_half(half):
        return compute

    @custom_jvp
    def again(half: Array, *arrays: Array) -> Array:
        return compute(*arrays)

    @again.defjvp
    def derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
        half, _, *others = primals
        return again(*primals), jax.jvp(compute, (widened(lax.optimization_barrier(half)), *others), tangents[1:])[1]

    return functools.partial(again, half)


def computed_again(half: Array) -> Array:
    """The array, for a derivative: on an accelerator, what it computes from one of a half type is not kept from the forward pass."""
    return lax.optimization_barrier(half) if is_half(half) and traced_platform() != "cpu" else half


def at_least_float32(x: Array) -> Array:
    """The array in float32 if its dtype has fewer bits, else as it is: for formulas whose result is rounded once, at the end."""
    return x.astype(np.float32) if x.dtype.itemsize < 4 else x


def widened(x: Array) -> Array:
    """A half type in float32, any other array as it is."""
    return x.astype(np.float32) if is_half(x) else x


def plus_bias(total: Array, bias: Array | None, dtype: np.dtype) -> Array:
    """A sum of products, which is in float32 for half types, plus a bias: added before anything is rounded."""
    return (total if bias is None else total + bias.astype(total.dtype)).astype(dtype)


def is_half(value: object) -> bool:
    return getattr(value, "dtype", None) in HALF


def with_wide_sums(fn: Callable[..., object]) -> Callable[..., tuple[Any, ...]]:
    """``fn``, with each sum of float16 or bfloat16 numbers taken in float32 and rounded once, as PyTorch does.

    What was broadcast gets the sum of its gradients. JAX writes that sum in the arrays' own dtype, and XLA on a CPU then rounds after
    each term: few digits are left of a long sum. ``jnp.sum`` widens by itself, but derivatives do not go through it.
    """

    def wide(*arrays: Array) -> tuple[Array, ...]:
        return tuple(jaxpr_as_fun(_widened(jax.make_jaxpr(fn)(*arrays)))(*arrays))

    return wide


def _widened(traced: ClosedJaxpr) -> ClosedJaxpr:
    return traced.replace(jaxpr=traced.jaxpr.replace(eqns=[_with_wide_sum(e) for e in traced.jaxpr.eqns]))


def _with_wide_sum(equation: Any) -> Any:
    if equation.primitive is reduce_sum_p and equation.invars[0].aval.dtype in HALF:
        total = jax.jit(functools.partial(jnp.sum, axis=equation.params["axes"]))
        (call,) = jax.make_jaxpr(total)(equation.invars[0].aval).jaxpr.eqns
        return equation.replace(primitive=call.primitive, params=call.params)
    inner = {name: _widened(value) for name, value in equation.params.items() if isinstance(value, ClosedJaxpr)}
    return equation.replace(params={**equation.params, **inner}) if inner else equation
