"""vmap: applies a function of one example to many examples at once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from .. import ops
from .._core.fields import version_of
from .._core.modes import modes
from .._core.storage import without_escapes
from .._core.tensor import Tensor
from .._core.vmapped import Vmapped, levels_of, within
from ..autograd.crossings import enter, leave
from ..autograd.grad_mode import recording
from ..dispatch.inplace import check_writable, write
from ..utils._pytree import TreeSpec, _broadcast_to_and_flatten, tree_flatten, tree_structure

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
        batch, step = sizes[0], chunk_size
        if step is None or step >= batch:
            call = _Mapped(func, name, leaves, dims, shape, out_dims, randomness, kwargs)
            outs = call.outputs(batch)
            return call.result.unflatten(outs)
        parts = []
        for start in range(0, batch, step):
            chunk = [
                leaf if dim is None else leaf.narrow(dim, start, min(step, batch - start))
                for leaf, dim in zip(leaves, dims, strict=True)
            ]
            call = _Mapped(func, name, chunk, dims, shape, out_dims, randomness, kwargs)
            parts.append(call.outputs(min(step, batch - start)))
        outs = [
            column[0] if dim is None else ops.cat(column, dim)
            for column, dim in zip(zip(*parts, strict=True), call.dims, strict=True)
        ]
        return call.result.unflatten(outs)

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


class _Mapped:
    """One call of a mapped function. ``result`` says how its outputs hang together, ``dims`` where the examples stand in them."""

    result: TreeSpec
    dims: list[int | None]

    def __init__(
        self,
        func: Callable[..., object],
        name: str,
        leaves: Sequence[Any],
        in_dims: list[int | None],
        shape: TreeSpec,
        out_dims: InDims,
        randomness: str,
        kwargs: Mapping[str, object],
    ) -> None:
        self.func, self.name, self.shape, self.kwargs = func, name, shape, kwargs
        self.leaves, self.in_dims, self.out_dims, self.randomness = leaves, in_dims, out_dims, randomness

    def outputs(self, batch: int) -> list[Tensor]:
        """The outputs for all examples."""
        level = Vmapped(batch, self.randomness)
        return without_escapes(self._outputs, level)(level)

    def _outputs(self, level: Vmapped) -> list[Tensor]:
        firsts = [_moved(leaf, dim, 0) if dim else leaf for leaf, dim in zip(self.leaves, self.in_dims, strict=True)]
        mapped = [
            first if dim is None else enter(first, level) for first, dim in zip(firsts, self.in_dims, strict=True)
        ]
        versions = [version_of(tensor) if isinstance(tensor, Tensor) else 0 for tensor in mapped]
        with within(level):
            result = self.func(*self.shape.unflatten(mapped), **self.kwargs)
        outs, self.result = tree_flatten(result)
        self.dims = _outputs(self.name, self.out_dims, outs, self.result)
        results = []
        for out, dim in zip(outs, self.dims, strict=True):
            if dim is None:
                if isinstance(out, Tensor) and level in levels_of(out._aval):
                    raise ValueError(
                        f"vmap({self.name}, ...): `{self.name}` can not return a BatchedTensor when out_dim is None"
                    )
                results.append(out)
            else:
                whole = leave(out, level)
                results.append(_moved(whole, 0, dim) if dim else whole)
        # The function has written to its arguments: so to the examples of the caller's tensors.
        for first, tensor, dim, version in zip(firsts, mapped, self.in_dims, versions, strict=True):
            if dim is not None and version_of(tensor) != version:
                check_writable(first)
                write(first, leave(tensor, level))
        return results


def _moved(tensor: Tensor, source: int, destination: int) -> Tensor:
    """The tensor with the dimension of its examples at another place. In PyTorch that is no operation, which ``no_grad`` would hide."""
    with recording(not modes.inference):
        return ops.movedim(tensor, source, destination)


def _outputs(name: str, out_dims: InDims, outs: list[Any], shape: TreeSpec) -> list[int | None]:
    if not isinstance(out_dims, (int, tuple, list, dict)) and out_dims is not None:
        raise ValueError(
            f"vmap({name}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a python collection of ints representing where "
            "in the outputs the vmapped dimension should appear."
        )
    dims_of_outputs: list[Any] | None = _broadcast_to_and_flatten(out_dims, shape)
    if dims_of_outputs is None and isinstance(out_dims, tuple) and len(out_dims) == 1:
        if shape.is_leaf() and isinstance(outs[0], Tensor):  # one output may be given for with a tuple of one
            dims_of_outputs = list(out_dims)
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
        if not isinstance(out, Tensor):
            raise ValueError(
                f"vmap({name}, ...): `{name}` must only return Tensors, got type {type(out)}. Did you mean to set out_dims= to None for "
                "output?"
            )
        rank = out.dim() + 1
        if not -rank <= dim < rank:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-rank}, {rank - 1}], but got {dim})"
            )
        dims.append(dim % rank)
    return dims
