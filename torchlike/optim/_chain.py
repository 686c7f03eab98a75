"""The door to optax: chains of gradient transformations with PyTorch's numerics.

Numbers such as the learning rate come in as 0-d float64 arrays, inputs of the program, so that a change compiles nothing.
Where optax computes what PyTorch computes, its transformation stands in the chain; where it differs, one of ours.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import optax

Transformation = optax.GradientTransformation
Array = jax.Array


def sgd(
    dtype: Any,
    first: bool,
    lr: Array,
    *,
    momentum: Array | None = None,
    dampening: Array | None = None,
    weight_decay: Array | None = None,
    nesterov: bool = False,
    maximize: bool = False,
) -> Transformation:
    """Gradient descent, perhaps with weight decay and momentum; what is None takes no part."""
    parts = _towards_the_minimum(dtype, maximize, weight_decay)
    if momentum is not None:
        if dampening is None:
            parts.append(optax.trace(momentum.astype(dtype), nesterov))
        else:
            parts.append(_dampened_trace(momentum.astype(dtype), (1 - dampening).astype(dtype), nesterov, first))
    parts.append(optax.scale_by_learning_rate(lr.astype(dtype)))
    return optax.chain(*parts)


def adam(
    dtype: Any,
    first: bool,
    lr: Array,
    beta1: Array,
    beta2: Array,
    eps: Array,
    *,
    weight_decay: Array | None = None,
    decoupled: bool = False,
    amsgrad: bool = False,
    maximize: bool = False,
) -> Transformation:
    """Adam; with ``decoupled`` weight decay AdamW."""
    parts = _towards_the_minimum(dtype, maximize, None if decoupled else weight_decay)
    parts.append(_scale_by_adam(dtype, beta1, beta2, eps, amsgrad))
    if decoupled and weight_decay is not None:
        parts.append(optax.add_decayed_weights(weight_decay.astype(dtype)))
    parts.append(optax.scale_by_learning_rate(lr.astype(dtype)))
    return optax.chain(*parts)


def _towards_the_minimum(dtype: Any, maximize: bool, weight_decay: Array | None) -> list[Transformation]:
    parts = [optax.scale(-1.0)] if maximize else []
    if weight_decay is not None:
        parts.append(optax.add_decayed_weights(weight_decay.astype(dtype)))
    return parts


def _transformation(init: Any, update: Any) -> Transformation:
    """One of ours: its parameters are single arrays, not the trees that optax speaks of."""
    return Transformation(init, update)


def _dampened_trace(decay: Array, share: Array, nesterov: bool, first: bool) -> Transformation:
    """``optax.trace`` where a gradient after the first enters with a share of less than one."""

    def update(grads: Array, state: dict[str, Array], params: Any = None) -> tuple[Array, dict[str, Array]]:
        trace = grads if first else decay * state["momentum_buffer"] + share * grads
        return (grads + decay * trace if nesterov else trace), {"momentum_buffer": trace}

    return _transformation(lambda params: {"momentum_buffer": jnp.zeros_like(params)}, update)


def _scale_by_adam(dtype: Any, beta1: Array, beta2: Array, eps: Array, amsgrad: bool) -> Transformation:
    """``optax.scale_by_adam``, but with bias corrections in float64: ``1 - 0.999`` in float32 is off by 5e-5 of itself."""

    def init(params: Array) -> dict[str, Array]:
        state = {name: jnp.zeros_like(params) for name in ADAM_STATE[1 : 4 if amsgrad else 3]}
        return {"step": jnp.zeros((), jnp.float32), **state}

    def update(grads: Array, state: dict[str, Array], params: Any = None) -> tuple[Array, dict[str, Array]]:
        step = state["step"] + 1
        mean = state["exp_avg"] + (grads - state["exp_avg"]) * (1 - beta1).astype(dtype)
        square = state["exp_avg_sq"] * beta2.astype(dtype) + grads * grads * (1 - beta2).astype(dtype)
        new = {"step": step, "exp_avg": mean, "exp_avg_sq": square}
        if amsgrad:
            square = new["max_exp_avg_sq"] = jnp.maximum(state["max_exp_avg_sq"], square)
        count = step.astype(jnp.float64)
        root = jnp.sqrt(1 - beta2**count).astype(dtype)
        scale = (1 / (1 - beta1**count)).astype(dtype)
        return mean * scale / (jnp.sqrt(square) / root + eps.astype(dtype)), new

    return _transformation(init, update)


# State by PyTorch's names, in the order of the leaves of the chain's state (dictionaries are flattened by sorted keys).
ADAM_STATE = ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq")


def apply_to(
    chain: Transformation, param: Array, grad: Array, state: dict[str, Array], names: tuple[str, ...]
) -> tuple[Array, dict[str, Array]]:
    """One step of a chain on one parameter: its new value and its new state.

    ``names``: those of the leaves of the chain's state, in order.
    """
    leaves = [state[name] for name in names]
    opened = jax.tree.unflatten(jax.tree.structure(jax.eval_shape(chain.init, param)), leaves)
    updates, closed = chain.update(grad, opened, param)
    new: Any = optax.apply_updates(param, updates)
    return new, dict(zip(names, jax.tree.leaves(closed), strict=True))
