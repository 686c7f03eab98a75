"""The adapter to optax: chains of gradient transformations with PyTorch's numerics.

Numbers such as the learning rate are 0-d float64 arrays, inputs of the program, so that a change compiles nothing. Where optax
computes what PyTorch computes, the chain has optax's transformation; where it does not, one of ours. The most frequent difference
is ``1 - beta``, which optax computes in the parameter's dtype: in float32, ``1 - 0.999`` has a relative error of 5e-5.

optax takes a tenth of a second to import, so that each function imports it when it is first called: at the first step.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import jax
import numpy as np

if TYPE_CHECKING:
    import optax

Transformation: TypeAlias = "optax.GradientTransformation"
Array = jax.Array
State = dict[str, Array]


def chain(*parts: Transformation) -> Transformation:
    """The transformations one after the other."""
    import optax

    return optax.chain(*parts)


def trace(decay: Any, nesterov: bool = False) -> Transformation:
    """Momentum: the sum of all gradients, each earlier one multiplied by ``decay`` once more."""
    import optax

    return optax.trace(decay, nesterov)


def apply_updates(params: Any, updates: Any) -> Any:
    """The parameters after the updates, in their own dtypes."""
    import optax

    return optax.apply_updates(params, updates)


def with_extra_arguments(transformation: Any) -> Any:
    """The transformation as one whose ``update`` takes, and may ignore, further keywords."""
    import optax

    return optax.with_extra_args_support(transformation)


def scale_by_learning_rate(dtype: np.dtype, lr: Array) -> Transformation:
    """The last part of a chain: the step goes downwards, multiplied by the rate."""
    import optax

    return optax.scale_by_learning_rate(lr.astype(dtype))


def towards_the_minimum(dtype: np.dtype, maximize: bool, weight_decay: Array | None = None) -> list[Transformation]:
    """The first parts of a chain: they negate the gradients for ``maximize``, and add weight decay to them."""
    import optax

    parts = [optax.scale(-1.0)] if maximize else []
    return parts + decayed(dtype, weight_decay)


def decayed(dtype: np.dtype, weight_decay: Array | None) -> list[Transformation]:
    """The part of a chain that adds weight decay to the updates; none if there is no weight decay."""
    import optax

    return [] if weight_decay is None else [optax.add_decayed_weights(weight_decay.astype(dtype))]


def transformation(names: str, update: Callable[[Array, State, Array], tuple[Array, State]]) -> Transformation:
    """A transformation of ours, on single arrays where optax's work on trees.

    Args:
        names: PyTorch's names of its state, with blanks between them.
        update: from gradient, state and parameter to the update and the new state, which has exactly these names.
    """

    def init(params: object) -> dict[str, Any]:
        return dict.fromkeys(names.split(), params)  # only the structure is used

    def update_named(updates: Any, state: Any, params: Any = None) -> Any:
        out, new_state = update(updates, state, params)
        return out, {name: new_state[name] for name in names.split()}

    import optax

    return optax.GradientTransformation(init, update_named)


def descent(scale: Callable[..., Transformation]) -> Callable[..., Transformation]:
    """The chain of most algorithms: ``maximize``, weight decay, the algorithm's own part, and the learning rate.

    Args:
        scale: the algorithm's own part, from the dtype and those numbers and flags that are not named here.
    """

    def make(
        dtype: np.dtype,
        first: bool,
        lr: Array,
        *,
        weight_decay: Array | None = None,
        decoupled: bool = False,
        maximize: bool = False,
        **options: object,
    ) -> Transformation:
        parts = towards_the_minimum(dtype, maximize, None if decoupled else weight_decay)
        parts.append(scale(dtype, **options))
        parts += decayed(dtype, weight_decay) if decoupled else []
        return chain(*parts, scale_by_learning_rate(dtype, lr))

    return make


def running_mean(old: Array, new: Array, beta: Array) -> Array:
    """``beta old + (1 - beta) new``."""
    return old + (new - old) * (1 - beta).astype(old.dtype)


def running_square(old: Array, new: Array, beta: Array) -> Array:
    """``beta old + (1 - beta) new^2``."""
    return old * beta.astype(old.dtype) + new * new * (1 - beta).astype(old.dtype)


def apply_to(
    chain: Transformation, param: Array, grad: Array, state: dict[str, Array], names: tuple[str, ...]
) -> tuple[Array, dict[str, Array]]:
    """One step of a chain on one parameter: the parameter's new value and its new state.

    Args:
        names: the names of the leaves of the chain's state, in the order of ``jax.tree.leaves``.
    """
    leaves = [state[name] for name in names]
    chain_state = jax.tree.unflatten(jax.tree.structure(jax.eval_shape(chain.init, param)), leaves)
    updates, new_state = chain.update(grad, chain_state, param)
    new_param = apply_updates(param, updates)
    return new_param, dict(zip(names, jax.tree.leaves(new_state), strict=True))
