"""Sums of half-precision numbers, added up in float32 wherever JAX's own derivatives make them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array
from jax.extend.core import ClosedJaxpr, jaxpr_as_fun
from jax.extend.core.primitives import reduce_sum_p

from .half_precision import HALF


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
