"""Nested tensors of the strided layout: parts of any sizes in one memory, each with strides of its own.

``transpose``, ``select``, ``chunk`` and the like give views: the same memory, where the parts lie in another way.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple, NoReturn

from .. import ops
from .._core.annotations import IntOrInts
from .._core.dtypes import int64
from .._core.layouts import (
    contiguous_format,
    layout as layout_type,
    memory_format as memory_format_type,
    preserve_format,
    strided,
)
from .._core.signatures import Kwargs
from .._core.tensor import Tensor
from ._base import Compute, Nested, count, hold, is_number, name_of, refuse, swapped, within

__all__ = ["Places", "StridedNestedTensor", "over", "rebuilt", "strided_of"]

_Numbers = tuple[int, ...]
_NO_SIZES = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."
_GAPS = "NestedTensor must be contiguous to get buffer."
# What PyTorch computes of the memory, wherever the parts lie in it.
_ANYWHERE = {"clone", "detach", "dropout", "alpha_dropout", "feature_dropout", "requires_grad"}
_SHORT_NAMES = {
    "truediv": "div", "truediv_": "div_", "true_divide": "div", "divide": "div", "multiply": "mul", "subtract": "sub", "rmul": "mul",
}  # fmt: skip


class Places(NamedTuple):
    """Where the parts lie: the shape of each, its strides, and where it begins."""

    sizes: tuple[_Numbers, ...]
    strides: tuple[_Numbers, ...]
    offsets: _Numbers

    @classmethod
    def in_order(cls, sizes: Sequence[Sequence[int]]) -> Places:
        """Parts one after the other, each in the usual order."""
        shapes = tuple(tuple(size) for size in sizes)
        strides = tuple(tuple(math.prod(shape[d + 1 :]) for d in range(len(shape))) for shape in shapes)
        return cls(
            shapes,
            strides,
            tuple(itertools.accumulate((count(shape) for shape in shapes[:-1]), initial=0))[: len(shapes)],
        )

    @property
    def contiguous(self) -> bool:
        """Whether the parts lie one after the other, each in the usual order."""
        usual = Places.in_order(self.sizes)
        return self.offsets == usual.offsets and all(
            all(n == 1 or own == step for n, own, step in zip(size, strides, steps, strict=True))
            for size, strides, steps in zip(self.sizes, self.strides, usual.strides, strict=True)
        )

    def reordered(self, order: Sequence[int]) -> Places:
        """The dimensions of each part in another order; those that are left out have the first index."""
        return self._replace(
            sizes=tuple(tuple(size[d] for d in order) for size in self.sizes),
            strides=tuple(tuple(steps[d] for d in order) for steps in self.strides),
        )


class StridedNestedTensor(Nested):
    """What ``nested_tensor`` gives where nothing else is asked for. ``_packed`` is the memory, in one dimension."""

    _arrangement: Places
    _plain_elsewhere = True  # PyTorch has no class for it: see ``torch.overrides.has_torch_function``

    @property
    def layout(self) -> layout_type:
        return strided

    def _parts(self) -> list[Tensor]:
        sizes, strides, offsets = self._arrangement
        if self._arrangement.contiguous:
            pieces = ops.split(self._packed, list(map(count, sizes)))
            return [piece.reshape(shape) for piece, shape in zip(pieces, sizes, strict=True)]
        return [ops.as_strided(self._packed, *where) for where in zip(sizes, strides, offsets, strict=True)]

    def _check_buffer(self, name: str, inplace: bool) -> None:
        if (inplace or name not in _ANYWHERE) and not self._arrangement.contiguous:
            raise RuntimeError(_GAPS)

    def _arranged(self, gradient: Tensor | None) -> Tensor | None:
        if not isinstance(gradient, StridedNestedTensor) or gradient._arrangement == self._arrangement:
            return swapped(gradient)
        if gradient._arrangement.sizes != self._arrangement.sizes:
            raise RuntimeError("the gradient of a nested tensor must have parts of the same sizes")
        memory = ops.zeros_like(self._packed.detach())
        laid = hold(StridedNestedTensor, memory, self._arrangement)
        for part, values in zip(laid._parts(), gradient._parts(), strict=True):
            part.copy_(values)
        return memory

    def dim(self) -> int:
        """One more than the parts have."""
        return 1 + len(self._arrangement.sizes[0]) if self._arrangement.sizes else 1

    def numel(self) -> int:
        return sum(map(count, self._arrangement.sizes))

    nelement = numel

    def __reduce_ex__(self, protocol: object) -> tuple[object, tuple[object, ...]]:
        memory = self._packed.detach()._require_grad(self.requires_grad)
        return rebuilt, (
            memory,
            self._nested_tensor_size(),
            self._nested_tensor_strides(),
            self._nested_tensor_storage_offsets(),
        )

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(_NO_SIZES.format("sizes"))

    def size(self, dim: int | None = None) -> int:
        """The length along a dimension that is as long in each part."""
        if dim is None:
            raise RuntimeError(_NO_SIZES.format("sizes"))
        dim = within(dim, self.dim())
        if dim == 0:
            return len(self._arrangement.sizes)
        lengths = {shape[dim - 1] for shape in self._arrangement.sizes}
        if len(lengths) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return lengths.pop()

    def _nested_tensor_size(self) -> Tensor:
        return ops.tensor(self._arrangement.sizes, dtype=int64)

    def _nested_tensor_strides(self) -> Tensor:
        return ops.tensor(self._arrangement.strides, dtype=int64)

    def _nested_tensor_storage_offsets(self) -> Tensor:
        return ops.tensor(self._arrangement.offsets, dtype=int64)

    def stride(self, dim: int | None = None) -> NoReturn:
        raise RuntimeError(_NO_SIZES.format("strides"))

    def __len__(self) -> int:
        raise RuntimeError(_NO_SIZES.format("sizes"))

    def is_contiguous(self, memory_format: object = None) -> bool:
        return self._arrangement.contiguous

    def values(self) -> Tensor:
        """The memory, in one dimension."""
        return self._packed

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """One tensor, in which each part is followed by ``padding``."""
        _needs_order(self, "for now to_padded_tensor only supports contiguous nested tensor")
        return super().to_padded_tensor(padding, output_size)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        flag = self.requires_grad
        parts = [repr(part.detach()._require_grad(flag)) for part in self._parts()]
        inner = ",\n".join("\n".join(f"  {line}" for line in part.split("\n")) for part in parts)
        node, end = self.grad_fn, ""
        if node is not None:
            end = f", grad_fn=<{node.name()}>"
        elif flag:
            end = ", requires_grad=True"
        return f"nested_tensor([\n{inner}\n]{end})"

    __str__ = __repr__

    def _pair(self, name: str, func: Compute, args: Sequence[object], kwargs: Kwargs) -> Nested:
        if name == "eq" and all(isinstance(other, Nested) for other in args):
            raise RuntimeError("eq does not support nested tensor as other value.")
        own: list[StridedNestedTensor] = [other for other in args if isinstance(other, StridedNestedTensor)]
        for other in args:
            if isinstance(other, Tensor) and not isinstance(other, Nested) and not is_number(other):
                words = (
                    "a nested self and non-nested other"
                    if other is not args[0]
                    else "a non-nested self and nested other"
                )
                raise RuntimeError(f"Expected both self and other to be nested, but got {words}")
        first = own[0]._arrangement
        if any(other._arrangement.sizes != first.sizes for other in own):
            raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        if name.removesuffix("_") in ("masked_fill", "copy"):
            for other in own:
                other._check_buffer(name, True)
        name = _SHORT_NAMES.get(name, name)
        if all(other._arrangement == first for other in own):
            return own[0]._like(func(*swapped(args), **swapped(kwargs)))
        if name not in ("add", "sub"):
            what = "strides" if any(other._arrangement.strides != first.strides for other in own) else "offsets"
            raise RuntimeError(f"{name} requires {what} to match when given NestedTensors")
        args = [in_order(other) if isinstance(other, StridedNestedTensor) else other for other in args]
        return strided_of(own[0]._parts())._like(func(*swapped(args), **swapped(kwargs)))


def strided_of(parts: Sequence[Tensor], like: Tensor | None = None) -> StridedNestedTensor:
    """A nested tensor of some parts in memory of its own, history and all."""
    flat = [part.reshape(-1) for part in parts]
    packed = ops.cat(flat) if flat else (ops.empty(0) if like is None else like.new_empty(0))
    return hold(StridedNestedTensor, packed, Places.in_order([part.shape for part in parts]))


def rebuilt(memory: Tensor, sizes: Tensor, strides: Tensor, offsets: Tensor) -> StridedNestedTensor:
    """A nested tensor over memory of one dimension, as files and pickles describe it."""
    shapes, steps = (tuple(map(tuple, each.tolist())) for each in (sizes, strides))
    places = Places(shapes, steps, tuple(offsets.tolist()))
    if sizes.shape != strides.shape or sizes.shape[:1] != offsets.shape:
        raise RuntimeError("the parts of the nested tensor do not have a size, strides and an offset each")
    for size, stride, offset in zip(*places, strict=True):
        needed = 1 + offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) if count(size) else 0
        if min(offset, *size, *stride) < 0 or needed > memory.numel():
            raise RuntimeError("a part of the nested tensor lies outside of its memory")
    return hold(StridedNestedTensor, memory, places)


def over(tensor: Tensor) -> StridedNestedTensor:
    """A nested tensor whose parts are the rows of a tensor, in the tensor's memory."""
    tensor = tensor.contiguous()
    places = Places.in_order([tuple(tensor.shape[1:])] * tensor.shape[0])
    return hold(StridedNestedTensor, tensor.reshape(-1), places, tensor)


def in_order(input: StridedNestedTensor) -> StridedNestedTensor:
    """The tensor itself if its parts lie in order, or a copy in which they do."""
    return input if input._arrangement.contiguous else strided_of(input._parts())


def _view_of(input: Nested, places: Places) -> StridedNestedTensor:
    """The same memory, where the parts lie in another way."""
    return hold(StridedNestedTensor, input._packed, places, input if input._view_of is None else input._view_of)


def _needs_order(input: Nested, words: str) -> None:
    if not input.is_contiguous():
        raise RuntimeError(words)


# ---- functions that go through the parts


def _each(func: Compute, input: Nested, *args: object, **kwargs: object) -> StridedNestedTensor:
    return strided_of([func(part, *args, **kwargs) for part in input._parts()], input._packed)


def _linear(func: Compute, input: Nested, *args: object, **kwargs: object) -> StridedNestedTensor:
    _needs_order(input, "for now linear only supports contiguous nested tensor")
    return _each(func, input, *args, **kwargs)


def _softmax(func: Compute, input: Nested, dim: int | None = None, *args: object, **kwargs: object) -> Nested:
    if dim is None:
        refuse(input, "softmax without dim")
    if not input._arrangement.sizes:
        return input._like(input._packed)
    dim = within(dim, input.dim())
    if dim == 0:
        raise RuntimeError("Cannot apply softmax across nested dimension 0")
    return _each(func, input, dim - 1, *args, **kwargs)


def _sum(func: Compute, input: Nested, dim: IntOrInts | None = None, keepdim: bool = False, **kwargs: object) -> Nested:
    if dim is None:
        refuse(input, "sum over all elements")
    (last,) = (dim,) if isinstance(dim, int) else dim
    dim = within(last, input.dim())
    if dim != input.dim() - 1:
        raise RuntimeError(
            f"NestedTensor can only be reduced across the last dimension for now got dimension {dim} instead."
        )
    if not keepdim:
        raise RuntimeError("NestedTensor always requires keepdim=True for now.")
    _needs_order(input, "NestedTensor does not support reductions when the input is noncontiguous for now.")
    return _each(func, input, -1, True, **kwargs)


def _transpose(func: Compute, input: Nested, dim0: int, dim1: int) -> Nested:
    first, second = within(dim0, input.dim()), within(dim1, input.dim())
    if 0 in (first, second) and first != second:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    if first == second:
        return input
    order = list(range(input.dim() - 1))
    order[first - 1], order[second - 1] = order[second - 1], order[first - 1]
    return _view_of(input, input._arrangement.reordered(order))


def _matmul(func: Compute, input: Tensor, mat2: Tensor) -> Nested:
    if not (isinstance(input, Nested) and isinstance(mat2, Nested)):
        kinds = ["nested" if isinstance(side, Nested) else "non-nested" for side in (input, mat2)]
        raise RuntimeError(f"Expected both to be nested, but got a {kinds[0]} self and {kinds[1]} other")
    if input.size(0) != mat2.size(0):
        raise RuntimeError(
            f"matmul: For nested tensors, both should have the same batch size: got {input.size(0)} and {mat2.size(0)}"
        )
    return strided_of([ops.matmul(a, b) for a, b in zip(input._parts(), mat2._parts(), strict=True)])


def _layer_norm(
    func: Compute,
    input: Nested,
    normalized_shape: Sequence[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Nested:
    if weight is None or bias is None:
        raise ValueError("NestedTensor layer_norm requires weight and bias")
    _needs_order(input, "Expected nested_tensor_impl_is_contiguous(nt_input) to be true, but got false.")
    return _each(func, input, normalized_shape, weight, bias, eps)


def _item(func: Compute, input: Nested, index: object) -> Tensor:
    first, *inner_index = index if isinstance(index, tuple) else (index,)
    if first is Ellipsis and not inner_index:
        return input
    if first is None:
        return _unsqueeze(func, input, 0)
    if not isinstance(first, int):
        refuse(input, "an index other than a number")
    parts = input._parts()
    if not -len(parts) <= first < len(parts):
        raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(parts)}")
    return parts[first][tuple(inner_index)] if inner_index else parts[first]


def _select(func: Compute, input: Nested, dim: int, index: int) -> Tensor:
    dim = within(dim, input.dim())
    if dim == 0:
        return _item(func, input, index)
    places: Places = input._arrangement
    for number, size in enumerate(places.sizes):
        if not 0 <= index < size[dim - 1]:
            raise IndexError(
                f"index {index} is out of bounds for dimension {dim - 1} of the {number}th constituent tensor with size {size[dim - 1]}"
            )
    offsets = tuple(
        offset + index * steps[dim - 1] for offset, steps in zip(places.offsets, places.strides, strict=True)
    )
    order = [d for d in range(input.dim() - 1) if d != dim - 1]
    return _view_of(input, places.reordered(order)._replace(offsets=offsets))


def _view(func: Compute, input: Nested, *shape: int) -> Nested:
    (first, *inner) = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    if first != input.size(0):
        raise RuntimeError("view: For now nested view cannot change or infer the implicit batch dimension")
    sizes = [_inferred(part, inner, first) for part in input._arrangement.sizes]
    if input._arrangement.contiguous:
        return _view_of(input, Places.in_order(sizes))
    if name_of(func) == "view":
        raise RuntimeError("view size is not compatible with input tensor's size and stride")
    return strided_of([part.reshape(size) for part, size in zip(input._parts(), sizes, strict=True)], input._packed)


def _inferred(part: _Numbers, inner: Sequence[int], batch: int) -> list[int]:
    """The shape that a part gets. -1 keeps a length, or is inferred where only one is left open."""
    kept = [n if n != -1 or i >= len(part) else part[i] for i, n in enumerate(inner)]
    if len(inner) >= len(part) and count(kept) == count(part) and min(kept, default=0) >= 0:
        return kept
    known = count([n for n in inner if n != -1])
    if inner.count(-1) == 1 and known and count(part) % known == 0:
        return [count(part) // known if n == -1 else n for n in inner]
    if -1 in inner or known != count(part):
        raise RuntimeError(f"shape '{[batch, *inner]}' is invalid for input of size {count(part)}")
    return list(inner)


def _unsqueeze(func: Compute, input: Nested, dim: int) -> Nested:
    dim = within(dim, input.dim() + 1)
    if dim == 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this feature, please "
            "open an issue on github describing your use case."
        )
    places: Places = input._arrangement
    sizes, strides = [], []
    for size, steps in zip(places.sizes, places.strides, strict=True):
        step = steps[dim - 1] * size[dim - 1] if dim <= len(size) else 1
        sizes.append((*size[: dim - 1], 1, *size[dim - 1 :]))
        strides.append((*steps[: dim - 1], step, *steps[dim - 1 :]))
    return _view_of(input, Places(tuple(sizes), tuple(strides), places.offsets))


def _squeeze(func: Compute, input: Nested, dim: int | None = None) -> Nested:
    asks = "is not supported at the moment{} if you need this feature, please open an issue on github describing your use case."
    if dim is None:
        instead = ", however you can use squeeze(Tensor self, int dim) instead"
        raise RuntimeError(f"squeeze(): For nested tensors, squeeze without the dim argument {asks.format(instead)}")
    dim = within(dim, input.dim())
    if dim == 0:
        raise RuntimeError(f"squeeze(): For nested tensors, squeezing dimension 0 {asks.format('')}")
    if input.dim() == 2:
        raise RuntimeError(
            f"squeeze(): For nested tensors, squeezing a nested tensor of singleton tensors {asks.format(',')}"
        )
    if any(size[dim - 1] != 1 for size in input._arrangement.sizes):
        return input
    return _view_of(input, input._arrangement.reordered([d for d in range(input.dim() - 1) if d != dim - 1]))


def _chunk(func: Compute, input: Nested, chunks: int, dim: int = 0) -> tuple[Nested, ...]:
    if within(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    places: Places = input._arrangement
    for size in places.sizes:
        if size[-1] % chunks:
            raise RuntimeError(
                "Chunk for nested tensors is only supported for nested tensors with trailing dimension divisible by chunks, got: "
                f"{size[-1]} % {chunks} != 0"
            )
    views = []
    for number in range(chunks):
        sizes = tuple((*size[:-1], size[-1] // chunks) for size in places.sizes)
        ahead = [number * size[-1] * steps[-1] for size, steps in zip(sizes, places.strides, strict=True)]
        offsets = tuple(map(sum, zip(places.offsets, ahead, strict=True)))
        views.append(_view_of(input, places._replace(sizes=sizes, offsets=offsets)))
    return tuple(views)


def _cat(func: Compute, tensors: Sequence[Tensor], dim: int = 0) -> Nested:
    if dim != 0 or not all(isinstance(tensor, Nested) for tensor in tensors):
        refuse(next(t for t in tensors if isinstance(t, Nested)), "cat other than of nested tensors along dimension 0")
    own = [tensor for tensor in tensors if isinstance(tensor, Nested)]
    for tensor in own:
        _needs_order(tensor, "Expected each tensor in given list to be contiguous.")
    return strided_of([part for tensor in own for part in tensor._parts()])


def _attention(func: Compute, query: Nested, key: Nested, value: Nested, *args: object, **kwargs: object) -> Nested:
    if not all(isinstance(tensor, Nested) for tensor in (query, key, value)):
        refuse(
            next(t for t in (query, key, value) if isinstance(t, Nested)), "attention between nested and other tensors"
        )
    parts = zip(query._parts(), key._parts(), value._parts(), strict=True)
    return strided_of([func(q[None], k[None], v[None], *args, **kwargs)[0] for q, k, v in parts])


def _embedding(func: Compute, input: Tensor, weight: Tensor, *args: object, **kwargs: object) -> Nested:
    if not isinstance(input, Nested):
        refuse(weight, "embedding from a nested table")
    return _each(func, input, weight, *args, **kwargs)


def _no_sizes(func: Compute, input: Nested) -> NoReturn:
    raise RuntimeError(_NO_SIZES.format("strides" if func.__name__ == "tolist" else "sizes"))


def _empty_like(
    func: Compute, input: Nested, *, memory_format: memory_format_type | None = None, **kwargs: object
) -> Nested:
    if memory_format not in (None, preserve_format, contiguous_format):
        given = "".join(map(str.capitalize, str(memory_format).removeprefix("torch.").split("_")))
        raise RuntimeError(
            f"empty_like_nested only supports memory format Preserve or Contiguous, but got {given} instead."
        )
    if memory_format is not contiguous_format:
        return input._like(func(input._packed, **kwargs))
    memory = input._packed.new_empty(input.numel())
    return hold(StridedNestedTensor, func(memory, **kwargs), Places.in_order(input._arrangement.sizes))


StridedNestedTensor._named = {
    "softmax": _softmax, "log_softmax": _softmax, "sum": _sum, "transpose": _transpose, "matmul": _matmul, "bmm": _matmul,
    "__matmul__": _matmul, "linear": _linear, "layer_norm": _layer_norm, "__getitem__": _item, "select": _select,
    "contiguous": lambda f, input, *args, **kwargs: in_order(input), "view": _view, "reshape": _view, "unsqueeze": _unsqueeze,
    "squeeze": _squeeze, "chunk": _chunk, "cat": _cat, "scaled_dot_product_attention": _attention, "embedding": _embedding,
    "tolist": _no_sizes, "numpy": _no_sizes, "empty_like": _empty_like,
}  # fmt: skip
