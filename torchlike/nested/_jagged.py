"""Nested tensors of the jagged layout: one dimension differs from part to part, and has no length but a name."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import ops
from .._core.annotations import IntOrInts
from .._core.layouts import jagged, layout as layout_type
from .._core.signatures import Kwargs
from .._core.size import Size, SymInt
from .._core.tensor import Tensor
from ._base import Compute, Nested, count, hold, name_of, padded, refuse, swapped, within

__all__ = ["Arrangement", "NestedTensor", "RaggedLength", "jagged_of", "jagged_over"]

_numbers = itertools.count(1)


class RaggedLength(SymInt):
    """Stands for the lengths of the ragged dimension. Equal where the parts have their bounds from the same tensor."""

    # What it stands for is no number of a tracer's, which the class refuses.
    def __init__(self, number: int, times: int = 1) -> None:
        self.number, self.times = number, times

    def __repr__(self) -> str:
        return f"j{self.number}" if self.times == 1 else f"{self.times}*j{self.number}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RaggedLength) and (other.number, other.times) == (self.number, self.times)

    def __hash__(self) -> int:
        return hash((self.number, self.times))

    def __mul__(self, times: int) -> RaggedLength:
        return RaggedLength(self.number, self.times * times)

    __rmul__ = __mul__

    def __ge__(self, other: int) -> bool:
        if other <= 2 * self.times:  # as if no length were less than 2, which PyTorch takes for granted
            return True
        raise ValueError(f"{self} >= {other}: the lengths of the parts differ")

    def __gt__(self, other: int) -> bool:
        return self >= other + 1

    def __lt__(self, other: int) -> bool:
        return not self >= other

    def __le__(self, other: int) -> bool:
        return not self > other


class Arrangement:
    """Where the parts lie: bounds along the ragged dimension, which is dimension ``at`` of the nested tensor."""

    def __init__(self, offsets: Tensor, at: int = 1, known: tuple[str, ...] = ()) -> None:
        self.offsets, self.at = offsets, at
        self.known = known  # which extremes of the lengths were given, as PyTorch notes it
        self._bounds: list[int] | None = None
        # The name stays with the tensor of bounds: nested tensors over the same one fit together.
        named_offsets: Any = offsets
        self.length: RaggedLength = getattr(named_offsets, "_ragged_length", None) or RaggedLength(next(_numbers))
        named_offsets._ragged_length = self.length

    @property
    def lengths(self) -> list[int]:
        bounds = self.offsets.tolist() if self._bounds is None else self._bounds
        self._bounds = bounds
        return [end - start for start, end in itertools.pairwise(bounds)]

    def along(self, at: int) -> Arrangement:
        """The same parts where another dimension is the ragged one."""
        moved = Arrangement(self.offsets, at, self.known)
        moved._bounds = self._bounds
        return moved

    def rows(self) -> np.ndarray:
        """Which part each row of all belongs to."""
        lengths = self.lengths
        return np.repeat(np.arange(len(lengths)), lengths)


class NestedTensor(Nested):
    """Parts that differ in one dimension. ``_packed`` has them one after the other along that dimension.

    Source: https://docs.pytorch.org/docs/stable/nested.html
    """

    _arrangement: Arrangement

    @property
    def layout(self) -> layout_type:
        return jagged

    def _parts(self) -> list[Tensor]:
        return list(ops.split(self._packed, self._arrangement.lengths, self._arrangement.at - 1))

    def dim(self) -> int:
        """One more than the parts have."""
        return self._packed.dim() + 1

    @property
    def shape(self) -> Size:
        """The sizes, with the name of the ragged length in its place."""
        inner: list[object] = list(self._packed.shape)
        inner[self._arrangement.at - 1] = self._arrangement.length
        return tuple.__new__(Size, (len(self), *inner))

    def size(self, dim: int | None = None) -> Size | int | RaggedLength:
        """The shape, or the length along a dimension."""
        return self.shape if dim is None else tuple(self.shape)[within(dim, self.dim())]

    def stride(self, dim: int | None = None) -> tuple[int | RaggedLength, ...] | int | RaggedLength:
        strides: list[int] = list(self._packed.stride())
        first_stride = self._arrangement.length * strides[self._arrangement.at - 1]
        for length in self._packed.shape[: self._arrangement.at - 1]:
            first_stride = first_stride * length
        strides_of_all = (first_stride, *strides)
        return strides_of_all if dim is None else strides_of_all[within(dim, self.dim())]

    def __len__(self) -> int:
        return self._arrangement.offsets.shape[0] - 1

    def is_contiguous(self, memory_format: object = None) -> bool:
        return self._packed.is_contiguous()

    def values(self) -> Tensor:
        """All parts one after the other, as one tensor."""
        return self._packed

    def offsets(self) -> Tensor:
        """Where each part begins, and where the last one ends."""
        return self._arrangement.offsets

    def lengths(self) -> None:
        """None: each part ends where the next one begins."""

    # The names that PyTorch's own class has for these, which libraries read.

    @property
    def _values(self) -> Tensor:
        return self._packed

    @property
    def _offsets(self) -> Tensor:
        return self._arrangement.offsets

    @property
    def _lengths(self) -> None:
        return None

    @property
    def _ragged_idx(self) -> int:
        return self._arrangement.at

    @property
    def _metadata_cache(self) -> dict[str, int]:
        found = {"min_seqlen": self._min_seqlen, "max_seqlen": self._max_seqlen}
        return {name: found[name] for name in self._arrangement.known}

    @property
    def _max_seqlen(self) -> int:
        return max(self._arrangement.lengths, default=0)

    @property
    def _min_seqlen(self) -> int:
        return min(self._arrangement.lengths, default=0)

    def __repr__(self, *, tensor_contents: object = None) -> str:
        grad = ""
        if self.grad_fn is not None:
            grad = f", grad_fn={self.grad_fn!r}"
        elif self.requires_grad:
            grad = ", requires_grad=True"
        shape = ", ".join(map(str, self.shape))
        return f"NestedTensor(size=({shape}), offsets={self.offsets()}{grad}, contiguous={self.is_contiguous()})"

    __str__ = __repr__

    def to_padded_tensor(self, padding: float, output_size: Sequence[int] | None = None) -> Tensor:
        """One tensor, in which each part is followed by ``padding``, or cut at ``output_size``."""
        at = self._arrangement.at - 1
        size = list(self._packed.shape)
        size[at] = self._max_seqlen if output_size is None else output_size[at + 1]
        return ops.stack(
            [padded(part.narrow(at, 0, min(size[at], part.shape[at])), size, padding) for part in self._parts()]
        )

    def _pair(self, name: str, func: Compute, args: Sequence[object], kwargs: Kwargs) -> Nested:
        plain = []
        for other in args:
            if isinstance(other, NestedTensor):
                fits = (self._arrangement.length, self._arrangement.at) == (
                    other._arrangement.length,
                    other._arrangement.at,
                )
                plain.append(other._packed if fits else None)
            else:
                plain.append(self._spread(other) if isinstance(other, Tensor) and other.dim() else other)
        if any(operand is None for operand in plain):
            shapes = [f"({', '.join(map(str, a.shape))})" for a in args if isinstance(a, Tensor)]
            raise RuntimeError(
                f"cannot call binary pointwise function {name}.Tensor with inputs of shapes {' and '.join(shapes)}"
            )
        return self._like(func(*plain, **swapped(kwargs)))

    def _spread(self, dense: Tensor) -> Tensor | None:
        """A tensor that broadcasts with this one, in the shape of the packed elements; None if it does not fit."""
        at, dims = self._arrangement.at, self.dim()
        if dense.dim() > dims:
            return None
        dense = dense.reshape((1,) * (dims - dense.dim()) + tuple(dense.shape))
        batch, ragged = dense.shape[0], dense.shape[at]
        if batch == 1 and ragged == 1:
            return dense[0]
        if batch == len(self) and ragged == 1:
            return (
                dense.transpose(0, at)[0].index_select(at - 1, ops.tensor(self._arrangement.rows()))
                if at == 1
                else None
            )
        if batch == len(self) and ragged >= self._max_seqlen:
            parts = [row.narrow(at - 1, 0, n) for row, n in zip(dense, self._arrangement.lengths, strict=True)]
            return ops.cat(parts, at - 1)
        return None


def jagged_of(parts: Sequence[Tensor], arrangement: Arrangement) -> NestedTensor:
    """A nested tensor of parts that lie as in this arrangement; of one tensor of all parts, over its memory."""
    packed = parts[0] if len(parts) == 1 else ops.cat(list(parts), arrangement.at - 1)
    return hold(NestedTensor, packed, arrangement, packed)


def jagged_over(tensor: Tensor) -> NestedTensor:
    """A nested tensor whose parts are the rows of a tensor, in the tensor's memory."""
    tensor = tensor.contiguous()
    rows, length = tensor.shape[:2]
    ends = ops.arange(rows + 1, device=tensor.device) * length
    arrangement = Arrangement(ends, 1, ("min_seqlen", "max_seqlen"))
    return hold(NestedTensor, tensor.reshape(rows * length, *tensor.shape[2:]), arrangement, tensor)


# ---- functions


def _inner(input: Nested, dim: int, name: str, extra: int = 0) -> int:
    """The dimension of the packed elements that a dimension of the nested tensor is; it must be neither the batch nor ragged."""
    dim = within(dim, input.dim() + extra)
    if dim == 0:
        raise RuntimeError(f"{name}(): not supported for NestedTensor on dim=0")
    return dim - 1


def _along(name: str, position: int = 1) -> Callable[..., Nested | tuple[Nested, ...]]:
    """A function along one dimension, which must not be the ragged one."""

    def along(
        func: Compute, input: Nested | Sequence[Nested], *args: int, **kwargs: int
    ) -> Nested | tuple[Nested, ...]:
        first = input if isinstance(input, Nested) else next(tensor for tensor in input if isinstance(tensor, Nested))
        values = list(args)
        if "dim" in kwargs:
            dim = kwargs.pop("dim")
        elif len(values) >= position:
            dim = values.pop(position - 1)
        else:
            dim = 0
        inner = _inner(first, dim, name)
        if inner == first._arrangement.at - 1:
            raise RuntimeError(f"{name}(): not supported for NestedTensor on ragged dim")
        result = func(swapped(input), *values[: position - 1], inner, *values[position - 1 :], **kwargs)
        return first._like(result) if isinstance(result, Tensor) else tuple(map(first._like, result))

    return along


def _softmax(func: Compute, input: Nested, dim: int, *args: object, **kwargs: object) -> Nested:
    inner = _inner(input, dim, "softmax")
    if inner != input._arrangement.at - 1:
        return input._like(func(input._packed, inner, *args, **kwargs))
    if inner:
        raise RuntimeError(
            f"{name_of(func)}(): not supported when reducing along the ragged dimension for ragged_idx > 1 for NestedTensor"
        )
    return jagged_of([func(part, inner, *args, **kwargs) for part in input._parts()], input._arrangement)


def _reduced(
    func: Compute, input: Nested, dim: IntOrInts | None = None, keepdim: bool = False, **kwargs: object
) -> Tensor:
    if dim is None:
        return func(input._packed, **kwargs)
    if (name := name_of(func)) in ("max", "min"):  # they give indices as well
        refuse(input, f"{name} along a dimension")
    dims = [within(d, input.dim()) for d in ((dim,) if isinstance(dim, int) else dim)]
    at = input._arrangement.at
    if 0 in dims and at not in dims:
        raise RuntimeError(
            "sum(): reducing along the batch dimension but not the ragged dimension is not supported for nested tensors"
        )
    if at in dims and 0 not in dims and len(dims) > 1:
        raise RuntimeError("sum(): reducing along a ragged and non-batch dimension is not supported for nested tensors")
    inner = [d - 1 for d in dims if d > 0]
    axes: IntOrInts = inner[0] if isinstance(dim, int) else inner
    if 0 in dims:
        reduced = func(input._packed, axes, keepdim, **kwargs)
        return reduced[None] if keepdim else reduced
    if at in dims:
        return ops.stack([func(part, inner[0], keepdim, **kwargs) for part in input._parts()])
    moved = at if keepdim else at - sum(d < at for d in dims)
    return hold(NestedTensor, func(input._packed, axes, keepdim, **kwargs), input._arrangement.along(moved))


def _of_values(func: Compute, input: Tensor, *args: object, **kwargs: object) -> Nested:
    """A function of the last dimensions, which are not the ragged one."""
    if not isinstance(input, Nested):
        refuse(next(a for a in args if isinstance(a, Nested)), "this with a nested second argument")
    if input._arrangement.at == input.dim() - 1:
        refuse(input, "a function along the ragged dimension")
    return input._like(func(input._packed, *args, **kwargs))


def _matmul(func: Compute, input: Tensor, other: Tensor) -> Nested:
    nested = isinstance(input, Nested)
    if nested and isinstance(other, Nested):
        first, second = input._arrangement, other._arrangement
        if (
            first.length == second.length
            and input.dim() > 3
            and first.at < input.dim() - 2
            and second.at < other.dim() - 2
        ):
            products = [ops.matmul(a, b) for a, b in zip(input._parts(), other._parts(), strict=True)]
            return jagged_of(products, first)
    if not nested or isinstance(other, Nested) or other.dim() != 2 or input._arrangement.at == input.dim() - 1:
        shapes = " and ".join(
            f"({', '.join(map(str, side.shape))})" if isinstance(side, Nested) and side is input else str(side.shape)
            for side in (input, other)
        )
        raise RuntimeError(f"matmul(): not supported between inputs of shapes {shapes}")
    return input._like(ops.matmul(input._packed, other))


def _embedding(func: Compute, input: Nested, weight: Tensor, *args: object, **kwargs: object) -> Nested:
    return input._like(func(input._packed, weight, *args, **kwargs))


def _transpose(func: Compute, input: Nested, dim0: int, dim1: int) -> Nested:
    first, second = within(dim0, input.dim()), within(dim1, input.dim())
    if first == second:
        return input
    if 0 in (first, second):
        raise ValueError("Transpose is not supported on the batch dimension for jagged NT")
    at = {first: second, second: first}.get(input._arrangement.at, input._arrangement.at)
    return hold(NestedTensor, func(input._packed, first - 1, second - 1), input._arrangement.along(at))


def _unsqueeze(func: Compute, input: Nested, dim: int) -> Nested:
    inner = _inner(input, dim, "unsqueeze", 1)
    at = input._arrangement.at
    return hold(NestedTensor, func(input._packed, inner), input._arrangement.along(at + (inner < at)))


def _squeeze(func: Compute, input: Nested, dim: int) -> Nested:
    inner, at = _inner(input, dim, "squeeze"), input._arrangement.at
    if inner == at - 1 or input._packed.shape[inner] != 1:
        return input
    return hold(NestedTensor, func(input._packed, inner), input._arrangement.along(at - (inner < at - 1)))


def _view(func: Compute, input: Nested, *shape: int) -> Nested:
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    at = input._arrangement.at
    ragged = sizes[at] if at < len(sizes) else None
    inner = sizes[1:]
    fits = sizes[0] in (len(input), -1) and ragged in (-1, input._arrangement.length)
    if fits:
        inner[at - 1] = input._packed.shape[at - 1]
        known_count, total = count([n for n in inner if n != -1]), input.numel()
        fits = total == known_count if -1 not in inner else bool(known_count) and total % known_count == 0
    if not fits:
        name, words = func.__name__, ", ".join(map(str, sizes))
        raise RuntimeError(f"{name}(): cannot view shape ({', '.join(map(str, input.shape))}) as [{words}]")
    return input._like(func(input._packed, inner))


def _expand(func: Compute, input: Nested, *shape: int) -> Nested:
    sizes = list(shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape)
    at = input._arrangement.at
    if (
        len(sizes) != input.dim()
        or sizes[0] not in (len(input), -1)
        or sizes[at] not in (-1, input._arrangement.length)
    ):
        refuse(input, "expand to other lengths of the first and the ragged dimension")
    sizes[at] = -1
    return input._like(func(input._packed, sizes[1:]))


def _flatten(func: Compute, input: Nested, start_dim: int = 0, end_dim: int = -1) -> Nested:
    start, end = within(start_dim, input.dim()), within(end_dim, input.dim())
    at = input._arrangement.at
    if start == end:
        return input
    if start == 0:
        raise RuntimeError("flatten(): not supported for NestedTensor on dim=0")
    if start <= at <= end:
        raise RuntimeError("flatten(): not supported for NestedTensor on ragged dim")
    moved = at - (end - start) if end < at else at
    return hold(NestedTensor, func(input._packed, start - 1, end - 1), input._arrangement.along(moved))


def _unflatten(func: Compute, input: Nested, dim: int, sizes: Sequence[int]) -> Nested:
    inner, at = _inner(input, dim, "unflatten"), input._arrangement.at
    if inner == at - 1:
        refuse(input, "unflatten of the ragged dimension")
    moved = at + len(sizes) - 1 if inner < at - 1 else at
    return hold(NestedTensor, func(input._packed, inner, sizes), input._arrangement.along(moved))


def _item(func: Compute, input: Nested, index: object) -> Tensor:
    first, *inner_index = index if isinstance(index, tuple) else (index,)
    if isinstance(first, int):
        if not -len(input) <= first < len(input):
            raise IndexError("tuple index out of range")
        part = input._parts()[first]
        return part[tuple(inner_index)] if inner_index else part
    if (
        first is Ellipsis
        and len(inner_index) == 1
        and isinstance(inner_index[0], int)
        and input._arrangement.at < input.dim() - 1
    ):
        return input._like(input._packed[..., inner_index[0]])
    if isinstance(first, slice):
        raise RuntimeError("slice(): not supported for NestedTensor on dim=0")
    return refuse(input, "this index")


def _attention(func: Compute, query: Nested, key: Nested, value: Nested, *args: object, **kwargs: object) -> Nested:
    if not all(isinstance(tensor, NestedTensor) for tensor in (query, key, value)):
        refuse(
            next(t for t in (query, key, value) if isinstance(t, Nested)), "attention between nested and other tensors"
        )
    parts = zip(query._parts(), key._parts(), value._parts(), strict=True)
    return jagged_of([func(q[None], k[None], v[None], *args, **kwargs)[0] for q, k, v in parts], query._arrangement)


NestedTensor._named = {
    "softmax": _softmax, "log_softmax": _softmax, "linear": _of_values, "layer_norm": _of_values, "rms_norm": _of_values,
    "matmul": _matmul,
    "__matmul__": _matmul, "bmm": _matmul, "embedding": _embedding, "transpose": _transpose,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "view": _view, "expand": _expand, "reshape": _view, "flatten": _flatten,
    "unflatten": _unflatten, "__getitem__": _item, "scaled_dot_product_attention": _attention,
    "chunk": _along("chunk", 2), "split": _along("split", 2),
    "cat": _along("cat"), "stack": _along("stack"),
    **dict.fromkeys(("sum", "mean", "amax", "amin", "max", "min", "any", "all", "argmax", "argmin", "prod", "logsumexp"), _reduced),
}  # fmt: skip
