"""The adapter to optax: chains of gradient transformations with PyTorch's numerics.

Numbers such as the learning rate come in as 0-d float64 arrays, inputs of the program, so that a change compiles nothing.
Where optax computes what PyTorch computes, its transformation stands in the chain; where it differs, one of ours. Most often it
differs in ``1 - beta``, which optax takes in the parameter's dtype: ``1 - 0.999`` in float32 is off by 5e-5 of itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import optax

Transformation = optax.GradientTransformation
Array = jax.Array
State = dict[str, Array]

chain = optax.chain
trace = optax.trace
apply_updates: Callable[[Any, Any], Any] = optax.apply_updates
with_extra_arguments = optax.with_extra_args_support


def scale_by_learning_rate(dtype: Any, lr: Array) -> Transformation:
    """The last part of a chain: downwards, by the rate."""
    return optax.scale_by_learning_rate(lr.astype(dtype))


def towards_the_minimum(dtype: Any, maximize: bool, weight_decay: Array | None = None) -> list[Transformation]:
    """The first parts of a chain: gradients turned round if wanted, and weight decay added to them."""
    parts = [optax.scale(-1.0)] if maximize else []
    return parts + decayed(dtype, weight_decay)


def decayed(dtype: Any, weight_decay: Array | None) -> list[Transformation]:
    """Weight decay added to what has come so far, if there is any."""
    return [] if weight_decay is None else [optax.add_decayed_weights(weight_decay.astype(dtype))]


def transformation(names: str, update: Callable[[Array, State, Array], tuple[Array, State]]) -> Transformation:
    """One of ours, on single arrays where optax speaks of trees.

    Args:
        names: those of its state, with blanks between them; PyTorch's names.
        update: from gradient, state and parameter to what comes out and the new state, of exactly these names.
    """

    def init(params: Any) -> dict[str, Any]:
        return dict.fromkeys(names.split(), params)  # for the structure alone

    def checked(updates: Any, state: Any, params: Any = None) -> Any:
        out, new = update(updates, state, params)
        return out, {name: new[name] for name in names.split()}

    return Transformation(init, checked)


def running_mean(old: Array, new: Array, beta: Array) -> Array:
    """``beta old + (1 - beta) new``."""
    return old + (new - old) * (1 - beta).astype(old.dtype)


def running_square(old: Array, new: Array, beta: Array) -> Array:
    """``beta old + (1 - beta) new^2``."""
    return old * beta.astype(old.dtype) + new * new * (1 - beta).astype(old.dtype)


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
