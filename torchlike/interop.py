"""Between tensors and JAX arrays, without copying."""

from __future__ import annotations

import jax

from ._core.tensor import Tensor, from_value
from .engine.value import Value

__all__ = ["from_jax", "to_jax"]


def from_jax(array: object) -> Tensor:
    """A tensor over a JAX array; over a tracer too, so that tensor code runs inside ``jax.jit``, ``jax.grad`` and ``jax.vmap``.

    Args:
        array: a ``jax.Array`` on one device.

    >>> import jax.numpy as jnp
    >>> torchlike.from_jax(jnp.ones(2)) * 3
    tensor([3., 3.])
    """
    if not isinstance(array, jax.Array):
        raise TypeError(f"from_jax(): argument 'array' must be jax.Array, not {type(array).__name__}")
    return from_value(Value.of(array))


def to_jax(tensor: Tensor) -> jax.Array:
    """The JAX array that holds a tensor's elements; the gradient history stays behind.

    >>> torchlike.to_jax(torch.ones(2))
    Array([1., 1.], dtype=float32)
    """
    return tensor.jax
