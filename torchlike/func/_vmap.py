"""vmap: applies a function of one example to many examples at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp

from .._core.modes import modes
from .._core.tensor import Tensor
from .._core.vmapped import Vmapped
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_structure
from ._trace import array_of, differentiable, tensor_of, transform

__all__ = ["vmap"]

# Checked for all calls: (number of mapped arrays, the flat arguments, their dims)
# A dimension for all tensors, or a tree of dimensions.
InDims: TypeAlias = "int | tuple[object, ...] | list[object] | dict[str, object] | None"


def vmap(
    func: Callable[..., object],
    in_dims: InDims = 0,
    out_dims: InDims = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """The function that applies ``func`` to each example of a batch, all at once.

    Args:
        in_dims: which dimension of each argument counts the examples; None for an argument that all share. A nest like the arguments', or
            one number for all.
        out_dims: where that dimension stands in the results.
        randomness: of random functions within ``func``: "error" (not allowed), "same" (all examples draw the same), "different".
        chunk_size: how many examples at once; None for all.

    >>> torch.func.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])

    Raises:
        ValueError: the dimensions do not fit the arguments or the results, or no argument is mapped over.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.func.vmap.html
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(f"Only allowed values for randomness are 'error', 'different', or 'same'. Got {randomness}")
    if chunk_size is not None and chunk_size <= 0:
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")
    name = getattr(func, "__name__", None) or repr(func)

    @functools.wraps(func)
    def wrapper(*args: object, **kwargs: object) -> Any:
        leaves, dims, shape = _inputs(name, in_dims, args)
        mapped = [i for i, dim in enumerate(dims) if dim is not None]
        sizes = [leaves[i].shape[dims[i]] for i in mapped]
        if any(size != sizes[0] for size in sizes):
            raise ValueError(
                f"vmap: Expected all tensors to have the same size in the mapped dimension, got sizes {sizes} for the mapped dimension"
            )
        batch = sizes[0]
        tensors = [i for i, leaf in enumerate(leaves) if isinstance(leaf, Tensor)]
        after = {}

        def run(run_tensors: list[Tensor]) -> list[Tensor]:
            values = list(leaves)
            for i, tensor in zip(tensors, run_tensors, strict=True):
                values[i] = tensor
            arrays = [array_of(values[i]) for i in mapped]
            step = batch if chunk_size is None else chunk_size
            parts = []
            for start in range(0, max(batch, 1), max(step, 1)):
                here = [
                    a if step >= batch else jax.lax.slice_in_dim(a, start, min(start + step, batch), axis=dims[i] or 0)
                    for a, i in zip(arrays, mapped, strict=True)
                ]
                parts.append(_map(func, name, values, mapped, dims, shape, here, out_dims, randomness, kwargs, after))
            return [
                tensor_of(p[0] if len(p) == 1 or dim is None else transform(jnp.concatenate)(p, axis=dim))
                for p, dim in zip(zip(*parts, strict=True), after["dims"], strict=True)
            ]

        outs = differentiable(run, [leaves[i] for i in tensors])
        return after["shape"].unflatten(outs)

    return wrapper


def _inputs(name: str, in_dims: InDims, args: tuple[object, ...]) -> tuple[list[Any], list[int | None], TreeSpec]:
    call = f"vmap({name}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{call}: expected `in_dims` to be int or a (potentially nested) tuple matching the structure of inputs, got: "
            f"{type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you are trying to vmap over a function with no "
            "inputs. The latter is unsupported."
        )
    leaves, shape = tree_flatten(args)
    dims_of_leaves = _broadcast_to_and_flatten(in_dims, shape)
    if dims_of_leaves is None:
        raise ValueError(
            f"{call}: in_dims is not compatible with the structure of `inputs`. in_dims has structure {tree_structure(in_dims)} but "
            f"inputs has structure {shape}."
        )
    dims: list[int | None] = []
    for leaf, dim in zip(leaves, dims_of_leaves, strict=True):
        if dim is None:
            dims.append(None)
            continue
        if not isinstance(dim, int):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but in_dim must be either an integer dimension or None."
            )
        if not isinstance(leaf, Tensor):
            raise ValueError(
                f"{call}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We cannot vmap over non-Tensor arguments, "
                "please use None as the respective in_dim"
            )
        if not -leaf.dim() <= dim < leaf.dim():
            raise ValueError(
                f"{call}: Got in_dim={dim} for some input, but that input is a Tensor of dimensionality {leaf.dim()} so expected in_dim "
                f"to satisfy -{leaf.dim()} <= in_dim < {leaf.dim()}."
            )
        dims.append(dim % leaf.dim())
    if all(dim is None for dim in dims):
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    return leaves, dims, shape


def _map(
    func: Callable[..., object],
    name: str,
    leaves: Sequence[object],
    mapped: list[int],
    dims: list[int | None],
    shape: TreeSpec,
    arrays: list[Any],
    out_dims: InDims,
    randomness: str,
    kwargs: Mapping[str, object],
    after: dict[str, Any],
) -> list[Any]:
    """Maps the function over all examples of these arrays; returns the outputs as arrays, with the mapped dimension in its place."""
    size = arrays[0].shape[dims[mapped[0]] or 0]
    shared_outputs = {}  # outputs that all examples share, by number

    def one(index: object, *examples: object) -> list[Any]:
        values = list(leaves)
        for i, example in zip(mapped, examples, strict=True):
            values[i] = tensor_of(example)
        with _within(Vmapped(size, index, randomness)):
            result = func(*shape.unflatten(values), **kwargs)
        outs, after["shape"] = tree_flatten(result)
        after["dims"] = _outputs(name, out_dims, outs, after["shape"])
        mapped_outputs = []
        for number, (out, dim) in enumerate(zip(outs, after["dims"], strict=True)):
            if dim is None:
                if out._value().traced:
                    raise ValueError(f"vmap({name}, ...): `{name}` can not return a BatchedTensor when out_dim is None")
                shared_outputs[number] = array_of(out)
            else:
                mapped_outputs.append(array_of(out))
        return mapped_outputs

    @transform
    def all_examples() -> list[Any]:
        results = iter(
            jax.vmap(one, in_axes=(0, *[dims[i] for i in mapped]), axis_size=size)(jnp.arange(size), *arrays)
        )
        return [
            shared_outputs[number] if dim is None else jnp.moveaxis(next(results), 0, dim)
            for number, dim in enumerate(after["dims"])
        ]

    return all_examples()


def _outputs(name: str, out_dims: InDims, outs: list[Any], shape: TreeSpec) -> list[int | None]:
    if not isinstance(out_dims, (int, tuple, list, dict)) and out_dims is not None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing where "
            "in the outputs the vmapped dimension should appear."
        )
    for out in outs:
        if not isinstance(out, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean to set out_dims= to None for "
                "output?"
            )
    dims_of_outputs = _broadcast_to_and_flatten(out_dims, shape)
    if dims_of_outputs is None and isinstance(out_dims, tuple) and shape.is_leaf() and len(out_dims) == 1:
        dims_of_outputs = list(out_dims)  # one output may be given for with a tuple of one
    if dims_of_outputs is None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible with the structure of `outputs`. out_dims has "
            f"structure {tree_structure(out_dims)} but outputs has structure {shape}."
        )
    dims: list[int | None] = []
    for out, dim in zip(outs, dims_of_outputs, strict=True):
        if dim is None:
            dims.append(None)
            continue
        rank = out.dim() + 1
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
            )
        dims.append(dim % rank)
    return dims


@contextmanager
def _within(level: Vmapped) -> Iterator[None]:
    outer = modes.vmaps
    modes.vmaps = (*outer, level)
    try:
        yield
    finally:
        modes.vmaps = outer
