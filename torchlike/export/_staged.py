"""A module and example arguments as a program of JAX, whose inputs are the parameters, the buffers and the tensors among the arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax import Array
from jax.extend.core import ClosedJaxpr

from .._core.signatures import Function
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..engine.aval import portable
from ..engine.jax_settings import tracing
from ..interop import from_jax
from ..nn.modules.module import Module
from ..nn.utils.stateless import call_with
from ..random import get_rng_state, set_rng_state
from ..utils._python_dispatch import TorchDispatchMode
from ..utils._pytree import tree_flatten, tree_unflatten
from ._generalized import Made, made_p
from ._plain import plain

__all__ = ["Program", "RandomNumbers", "containers", "numbered", "stage", "tensors_of"]


class RandomNumbers(RuntimeError):
    """A module draws random numbers while it is traced, which would be constants of its program."""


@dataclass
class Program:
    """What a module computes from its weights and its arguments."""

    jaxpr: ClosedJaxpr
    weights: dict[str, Tensor]
    examples: list[Tensor]
    others: list[object]  # what the result holds besides tensors
    result: object  # the number of each tensor of the result, in containers that JAX knows


def containers(value: object, of_tensor: Callable[[Tensor], object]) -> object:
    """The same in lists, tuples and dictionaries alone, which every process knows. None in the place of what is no tensor."""
    if isinstance(value, Tensor):
        return of_tensor(value)
    if isinstance(value, Mapping):
        return {key: containers(each, of_tensor) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        parts = [containers(each, of_tensor) for each in value]
        return parts if isinstance(value, list) else tuple(parts)
    return None


def numbered(value: object) -> Any:
    """The same containers with the numbers of the tensors.

    Raises:
        TypeError: there are tensors in other containers.
    """
    count = itertools.count()
    found = containers(value, lambda _: next(count))
    if next(count) != len(tensors_of(value)):
        raise TypeError(
            f"torchlike cannot export {type(value).__name__}: it takes tensors in lists, tuples and dictionaries"
        )
    return found


def tensors_of(args: object) -> list[Tensor]:
    """The tensors among arguments."""
    return [leaf for leaf in tree_flatten(args)[0] if isinstance(leaf, Tensor)]


class _Making(TorchDispatchMode):
    """Makes a part of the program of what a module makes of numbers alone (``arange``, ``ones``): its size may be one that varies."""

    sees_whole = True

    def __torch_dispatch__(self, func: Function, types: object, args: Any = (), kwargs: Any = None) -> object:
        result = func(*args, **(kwargs or {}))
        if not isinstance(result, Tensor) or result._value().traced or tensors_of((args, kwargs)):
            return result
        return from_jax(made_p.bind(made=Made(result.numpy())))


@tracing
def stage(
    module: Module, args: tuple[object, ...], kwargs: dict[str, object], shapes: Sequence[Sequence[int]] | None = None
) -> Program:
    """Traces a module by JAX, without gradients, and leaves it as it is.

    Args:
        shapes: of the tensors among the arguments, if not their own; what the module makes of numbers is then a part of the program.
    """
    weights = dict(module.named_parameters()) | dict(module.named_buffers())
    leaves, tree = tree_flatten((args, kwargs))
    places = [place for place, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
    examples = [leaves[place] for place in places]
    found: list[Any] = []

    def run(*arrays: Array) -> list[Array]:
        tensors = {name: from_jax(array) for name, array in zip(weights, arrays, strict=False)}
        given = list(leaves)
        for place, array in zip(places, arrays[len(weights) :], strict=True):
            given[place] = from_jax(array)
        positional, named = tree_unflatten(given, tree)
        with no_grad(), portable(), nullcontext() if shapes is None else _Making():
            result = call_with(module, tensors, tuple(positional), named)
        parts = tree_flatten(result)[0]
        found[:] = [[part for part in parts if part is not None and not isinstance(part, Tensor)], numbered(result)]
        return [part.jax for part in parts if isinstance(part, Tensor)]

    own = [each.shape for each in examples]
    specs = [_spec(each, shape) for each, shape in zip(examples, shapes or own, strict=True)]
    before = get_rng_state()
    jaxpr = jax.make_jaxpr(run)(*[_spec(each, each.shape) for each in weights.values()], *specs)
    if get_rng_state().tolist() != before.tolist():
        set_rng_state(before)
        raise RandomNumbers(
            "it draws random numbers, which would be the same ones in each call. Where they are dropout's, call eval() before"
        )
    return Program(plain(jaxpr), weights, examples, *found)


def _spec(tensor: Tensor, shape: Sequence[int]) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(tuple(shape), np.dtype(tensor._aval.dtype))
