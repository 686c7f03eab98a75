"""Between tensors and JAX: arrays without copying, tensors in JAX's transformations, and JAX's functions in a torchlike graph."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import jax
import numpy as np
from jax import Array

from ._core.tensor import Tensor, alias, from_host, from_value
from .dispatch.apply import apply, internal_dispatcher
from .dispatch.opdef import Saves
from .engine.jax_settings import tracing
from .engine.value import Value

__all__ = ["admit_to_jax", "from_jax", "jax_function", "to_jax"]


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


# ---- tensors as nodes of JAX's trees


def _flatten(tensor: Tensor) -> tuple[tuple[object], None]:
    return (tensor.jax,), None


def admit_to_jax(kind: type[Tensor]) -> None:
    """Lets JAX take tensors of this class for containers of one array, so that its transformations take and return them.

    Where JAX has something else in the place of the array (a shape, a marker), that stands for the tensor too.
    """

    def unflatten(_: object, children: Sequence[object]) -> Any:
        (child,) = children
        if isinstance(child, np.ndarray):
            return alias(from_host(child.copy()), kind)
        return alias(from_jax(child), kind) if isinstance(child, Array) else child

    jax.tree_util.register_pytree_node(kind, _flatten, unflatten)


admit_to_jax(Tensor)


# ---- functions of JAX as operations


def jax_function(function: Callable[..., object]) -> Callable[..., Any]:
    """A function of JAX arrays as a function of tensors, with derivatives of every order.

    It is recorded like any operation: it runs when its result is needed, and becomes a part of the compiled step. So it must be a
    pure function that JAX can trace; it is traced once for each shape and dtype, and each value of an argument that is no tensor.

    Args:
        function: takes arrays, or lists, tuples and dictionaries of them, and other arguments that can be hashed; returns arrays, or
            containers of them. What PyTorch would have as int64 or float64 it gets as that.

    Raises:
        TypeError: an argument that is no tensor cannot be hashed; the function returns something that is no array.

    >>> import jax.numpy as jnp
    >>> log_cosh = torchlike.jax_function(lambda x: jnp.log(jnp.cosh(x)))
    >>> x = torch.tensor([0.0, 1.0], requires_grad=True)
    >>> y = log_cosh(x)
    >>> y.sum().backward()
    >>> x.grad
    tensor([0.0000, 0.7616])
    """
    results: dict[Hashable, Any] = {}  # by the structure and the shapes of the arguments: the structure of the result

    def compute(arrays: Sequence[object], structure: Any) -> tuple[Any, ...]:
        fixed, tree = structure
        remaining_arrays = iter(arrays)
        leaves = [next(remaining_arrays) if leaf is _TENSOR else leaf.value for leaf in fixed]
        args, kwargs = jax.tree.unflatten(tree, leaves)
        leaves, result = jax.tree.flatten(function(*args, **kwargs))
        results[structure, _shapes(arrays)] = result
        for leaf in leaves:
            if not isinstance(leaf, Array):
                raise TypeError(f"jax_function(): {name} returned a {type(leaf).__name__}, which is not an array")
        return tuple(leaves)

    name = getattr(function, "__name__", type(function).__name__)
    compute.__annotations__ = {"arrays": "list[Array]", "structure": "Any", "return": "Any"}
    dispatcher = internal_dispatcher(
        compute, f"jax_function({name})", saves=Saves.INPUTS, several=True, backward="JaxFunctionBackward0"
    )

    @functools.wraps(function)
    def call(*args: object, **kwargs: object) -> Any:
        leaves, tree = jax.tree.flatten((args, kwargs), is_leaf=lambda leaf: isinstance(leaf, Tensor))
        tensors = [leaf for leaf in leaves if isinstance(leaf, Tensor)]
        fixed = tuple(_TENSOR if isinstance(leaf, Tensor) else _Fixed(leaf) for leaf in leaves)
        structure = fixed, tree
        if not tensors:
            return tracing(lambda: jax.tree.map(from_jax, function(*args, **kwargs)))()
        outs = apply(dispatcher, (tensors, structure))
        return jax.tree.unflatten(results[structure, _shapes([t._aval for t in tensors])], outs)

    return call


def _shapes(arrays: Sequence[Any]) -> tuple[Hashable, ...]:
    return tuple((tuple(array.shape), np.dtype(array.dtype)) for array in arrays)


class _Tensor:
    """Stands for a tensor in the structure of a call."""


_TENSOR = _Tensor()


class _Fixed:
    """An argument that is no tensor. Equal ones are of one class, as 1 and 1.0 are not the same to JAX."""

    __slots__ = ("value", "_key")

    def __init__(self, value: object) -> None:
        self.value, self._key = value, (type(value), repr(value) if isinstance(value, float) else value)
        try:
            hash(self._key)
        except TypeError:
            raise TypeError(
                f"jax_function(): an argument of type {type(value).__name__} is no tensor and cannot be hashed: make it a tensor"
            ) from None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)
