"""Nested tensors of the strided layout: parts of any sizes, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from .. import ops
from .._core.annotations import IntOrInts
from .._core.layouts import layout as layout_type, strided
from .._core.signatures import Kwargs
from .._core.tensor import Tensor
from ._base import Compute, Nested, count, hold, is_number, refuse, swapped, within

__all__ = ["StridedNestedTensor", "strided_of"]

_Shapes = tuple[tuple[int, ...], ...]
_NO_SIZES = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


class StridedNestedTensor(Nested):
    """What ``nested_tensor`` gives where nothing else is asked for. ``_arrangement`` has the shape of each part."""

    _arrangement: _Shapes

    @property
    def layout(self) -> layout_type:
        return strided

    def _parts(self) -> list[Tensor]:
        pieces = ops.split(self._packed, [count(shape) for shape in self._arrangement])
        return [piece.reshape(shape) for piece, shape in zip(pieces, self._arrangement, strict=True)]

    def dim(self) -> int:
        """One more than the parts have."""
        return 1 + len(self._arrangement[0]) if self._arrangement else 1

    @property
    def shape(self) -> NoReturn:
        raise RuntimeError(_NO_SIZES.format("sizes"))

    def size(self, dim: int | None = None) -> int:
        """The length along a dimension that is as long in each part."""
        if dim is None:
            raise RuntimeError(_NO_SIZES.format("sizes"))
        dim = within(dim, self.dim())
        if dim == 0:
            return len(self._arrangement)
        lengths = {shape[dim - 1] for shape in self._arrangement}
        if len(lengths) > 1:
            raise RuntimeError(f"Given dimension {dim} is irregular and does not have a size.")
        return lengths.pop()

    def _nested_tensor_size(self) -> Tensor:
        return ops.tensor(self._arrangement)

    def stride(self, dim: int | None = None) -> NoReturn:
        raise RuntimeError(_NO_SIZES.format("strides"))

    def __len__(self) -> int:
        raise RuntimeError(_NO_SIZES.format("sizes"))

    def is_contiguous(self, memory_format: object = None) -> bool:
        return True

    def values(self) -> Tensor:
        """All elements in one dimension."""
        return self._packed

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
        for other in args:
            if isinstance(other, Tensor) and not isinstance(other, Nested) and not is_number(other):
                words = (
                    "a nested self and non-nested other"
                    if other is not args[0]
                    else "a non-nested self and nested other"
                )
                raise RuntimeError(f"Expected both self and other to be nested, but got {words}")
            if isinstance(other, Nested) and other._arrangement != self._arrangement:
                raise RuntimeError(f"{name} does not support broadcasting when given a NestedTensor")
        return self._like(func(*swapped(args), **swapped(kwargs)))


def strided_of(parts: Sequence[Tensor], like: Tensor | None = None) -> StridedNestedTensor:
    """A nested tensor of some parts, history and all."""
    flat = [part.reshape(-1) for part in parts]
    packed = ops.cat(flat) if flat else (ops.empty(0) if like is None else like.new_empty(0))
    return hold(StridedNestedTensor, packed, tuple(tuple(part.shape) for part in parts))


# ---- functions that go through the parts


def _each(func: Compute, input: Nested, *args: object, **kwargs: object) -> StridedNestedTensor:
    return strided_of([func(part, *args, **kwargs) for part in input._parts()], input._packed)


def _of_dense(func: Compute, input: Nested, *args: object, **kwargs: object) -> StridedNestedTensor:
    return _each(func, input, *args, **kwargs)


def _softmax(func: Compute, input: Nested, dim: int | None = None, *args: object, **kwargs: object) -> Nested:
    if dim is None:
        refuse(input, "softmax without dim")
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
    return _each(func, input, -1, True, **kwargs)


def _transpose(func: Compute, input: Nested, dim0: int, dim1: int) -> Nested:
    first, second = within(dim0, input.dim()), within(dim1, input.dim())
    if 0 in (first, second) and first != second:
        raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
    return input if first == second else _each(func, input, first - 1, second - 1)


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
    return _each(func, input, normalized_shape, weight, bias, eps)


def _item(func: Compute, input: Nested, index: object) -> Tensor:
    first, *inner_index = index if isinstance(index, tuple) else (index,)
    if not isinstance(first, int):
        refuse(input, "an index other than a number")
    parts = input._parts()
    if not -len(parts) <= first < len(parts):
        raise IndexError(f"index {first} is out of bounds for dimension 0 with size {len(parts)}")
    return parts[first][tuple(inner_index)] if inner_index else parts[first]


def _view(func: Compute, input: Nested, *shape: int) -> Nested:
    (first, *inner_shape) = shape[0] if len(shape) == 1 and isinstance(shape[0], (list, tuple)) else shape
    if first != input.size(0):
        raise RuntimeError("view: For now nested view cannot change or infer the implicit batch dimension")
    parts = []
    for part in input._parts():  # -1 keeps a length, or is inferred where only one is left open
        inferred = [n if n != -1 or i >= part.dim() else part.shape[i] for i, n in enumerate(inner_shape)]
        parts.append(
            part.reshape(
                inferred if len(inner_shape) >= part.dim() and count(inferred) == part.numel() else inner_shape
            )
        )
    return strided_of(parts, input._packed)


def _unsqueeze(func: Compute, input: Nested, dim: int) -> Nested:
    dim = within(dim, input.dim() + 1)
    if dim == 0:
        raise RuntimeError(
            "unsqueeze(): For nested tensors, unsqueezing dimension 0 is not supported at the moment if you need this feature, please "
            "open an issue on github describing your use case."
        )
    return _each(func, input, dim - 1)


def _squeeze(func: Compute, input: Nested, dim: int | None = None) -> Nested:
    if dim is None:
        refuse(input, "squeeze without dim")
    dim = within(dim, input.dim())
    if dim == 0:
        refuse(input, "squeeze of the first dimension")
    return _each(func, input, dim - 1)


def _chunk(func: Compute, input: Nested, chunks: int, dim: int = 0) -> tuple[Nested, ...]:
    if within(dim, input.dim()) != input.dim() - 1:
        raise RuntimeError("Chunk for nested tensors is currently only supported for the last dimension.")
    pieces = [func(part, chunks, -1) for part in input._parts()]
    return tuple(strided_of(results) for results in zip(*pieces, strict=True))


def _cat(func: Compute, tensors: Sequence[Tensor], dim: int = 0) -> Nested:
    if dim != 0 or not all(isinstance(tensor, Nested) for tensor in tensors):
        refuse(next(t for t in tensors if isinstance(t, Nested)), "cat other than of nested tensors along dimension 0")
    return strided_of([part for tensor in tensors if isinstance(tensor, Nested) for part in tensor._parts()])


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


StridedNestedTensor._named = {
    "softmax": _softmax, "log_softmax": _softmax, "sum": _sum, "transpose": _transpose, "matmul": _matmul, "bmm": _matmul,
    "__matmul__": _matmul, "linear": _of_dense, "layer_norm": _layer_norm, "__getitem__": _item, "select": lambda f, input, dim, index: (
        _item(f, input, index) if dim == 0 else refuse(input, "select along another dimension than 0")
    ), "view": _view, "reshape": _view, "unsqueeze": _unsqueeze, "squeeze": _squeeze, "chunk": _chunk, "cat": _cat,
    "scaled_dot_product_attention": _attention, "embedding": _embedding, "tolist": _no_sizes, "numpy": _no_sizes,
}  # fmt: skip
