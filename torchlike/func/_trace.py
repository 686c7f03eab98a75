"""Runs functions of tensors on JAX arrays. All transforms of functions are built on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ParamSpec, TypeVar

import jax
import jax.numpy as jnp

from .._core.fields import node_of, requires_grad_flag, standing_in
from .._core.modes import modes
from .._core.node import next_number
from .._core.storage import without_escapes
from .._core.tensor import Tensor, from_value
from ..autograd.function import Function, once_differentiable
from ..engine.jax_settings import tracing
from ..engine.value import Value
from ..random_streams import rng

__all__ = ["array_of", "differentiable", "pull_back", "push_forward", "tensor_of"]

Arrays = list[jax.Array]
P = ParamSpec("P")
T = TypeVar("T")


def array_of(tensor: Tensor) -> Any:
    """The JAX array, or the tracer, of a tensor."""
    return tensor._value().jax()


def tensor_of(array: Any) -> Tensor:
    return from_value(Value.of(array))


def transform(fn: Callable[P, T]) -> Callable[P, T]:
    """The same function, which runs on tracers: JAX keeps 64-bit types, and no tracer may stay behind in a tensor from outside."""
    return tracing(without_escapes(fn))


def pull_back(function: Callable[[list[Tensor]], tuple[list[Tensor], object]], tensors: Sequence[Tensor]) -> Any:
    """``jax.vjp`` of a function from tensors to tensors.

    Args:
        function: returns its outputs, and arrays to be handed on beside them.

    Returns:
        outputs as arrays; a function from cotangents to gradients, in PyTorch's convention (the conjugate transpose); what was handed on.
    """

    def on_arrays(*arrays: object) -> tuple[Arrays, Any]:
        outs, aside = function([tensor_of(a) for a in arrays])
        return [array_of(o) for o in outs], aside

    outs, vjp, aside = transform(jax.vjp)(on_arrays, *[array_of(t) for t in tensors], has_aux=True)

    def pull(cotangents: Arrays) -> Arrays:
        grads = tracing(lambda: vjp([_conj(_at_home(c, o)) for c, o in zip(cotangents, outs, strict=True)]))()
        return [_conj(_real(g, t)) for g, t in zip(grads, tensors, strict=True)]

    return outs, pull, aside


def push_forward(function: Callable[[list[Tensor]], tuple[list[Tensor], object]], tensors: Sequence[Tensor]) -> Any:
    """Outputs, a function from tangents of the inputs to tangents of the outputs, and what was handed on.

    The pullback is linear in the cotangent; its own pullback is the map forwards. So an op needs one derivative, the one backwards.
    """

    def on_arrays(*arrays: object) -> tuple[Arrays, Any]:
        outs, aside = function([tensor_of(a) for a in arrays])
        return [array_of(o) for o in outs], aside

    @transform
    def twice() -> Any:
        outs, vjp, aside = jax.vjp(on_arrays, *[array_of(t) for t in tensors], has_aux=True)
        _, back = jax.vjp(vjp, [jnp.zeros_like(o) for o in outs])
        return outs, back, aside

    outs, back, aside = twice()

    def push(tangents: Arrays) -> Arrays:
        return tracing(back)(tuple(tangents))[0]

    return outs, push, aside


def _conj(array: Any) -> Any:
    return jnp.conj(array) if jnp.iscomplexobj(array) else array


def _at_home(cotangent: Any, out: Any) -> Any:
    return cotangent if cotangent.dtype == out.dtype else cotangent.astype(out.dtype)


def _real(gradient: Tensor, tensor: Tensor) -> Any:
    if gradient.dtype == jax.dtypes.float0:  # of integers
        return jnp.zeros(gradient.shape, tensor._aval.dtype)
    return gradient


# ---- seen from outside: gradients through a transform, to its inputs and to tensors that the function has captured


@tracing
def differentiable(run: Callable[[list[Tensor]], list[Tensor]], tensors: list[Tensor]) -> list[Tensor]:
    """``run(tensors)``, as one node of the graph if gradients are recorded and something ``run`` reads requires one.

    The backward runs ``run`` again, on the same random numbers, under ``jax.vjp``.
    """
    if not modes.grad_enabled:
        return run(tensors)
    before, state = next_number(), rng.states()
    outer, modes.captured = modes.captured, {}
    modes.update()
    try:
        outs = run(tensors)
    finally:
        captured, modes.captured = modes.captured, outer
        modes.update()
    known_ids = {id(t) for t in tensors}
    unknown = [(t, node_of(t)) for t in captured.values() if id(t) not in known_ids]
    others = [t for t, node in unknown if node is None or node.sequence < before]
    if outer is not None:
        outer.update({id(t): t for t in others})
    differentiable_inputs = [t for t in tensors if requires_grad_flag(t)]
    if any(t._value().traced for t in (*differentiable_inputs, *others, *outs)) or not (
        differentiable_inputs or others
    ):
        return outs
    inputs = [*tensors, *others]

    def again(values: list[Tensor]) -> list[Tensor]:
        with standing_in(others, values[len(tensors) :]), rng.state_as(state):
            return run(values[: len(tensors)])

    result = _Transformed.apply(again, outs, *inputs)
    return list(result) if isinstance(result, tuple) else [result]


class _Transformed(Function):
    """The autograd node of a transformed function."""

    @staticmethod
    def forward(ctx: Any, run: Any, outs: list[Tensor], *inputs: Tensor) -> tuple[Tensor, ...]:
        ctx.run, ctx.save = run, None
        ctx.save_for_backward(*inputs)
        ctx.mark_non_differentiable(*[o for o in outs if not (o.is_floating_point() or o.is_complex())])
        return tuple(outs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *cotangents: Tensor) -> Any:
        inputs = ctx.saved_tensors
        real = [t.is_floating_point() or t.is_complex() for t in inputs]

        def function(differentiable_inputs: list[Tensor]) -> tuple[list[Tensor], Any]:
            remaining = iter(differentiable_inputs)
            outs = ctx.run([next(remaining) if r else t.detach() for t, r in zip(inputs, real, strict=True)])
            return [o for o in outs if o.is_floating_point() or o.is_complex()], None

        _, pull, _ = pull_back(function, [t.detach() for t, r in zip(inputs, real, strict=True) if r])
        cotangents_used = [c for c in cotangents if c is not None and (c.is_floating_point() or c.is_complex())]
        grads = iter(pull([array_of(c) for c in cotangents_used]))
        return (None, None, *[tensor_of(next(grads)) if r else None for r in real])
