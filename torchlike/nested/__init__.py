"""torch.nested: batches of tensors of different sizes, without padding.

The parts lie one after the other in memory. Functions of single elements, products, normalisations and attention work as for other
tensors; others raise an error that says their name. The strided layout takes parts of any sizes. In the jagged layout the parts differ in
one dimension, and more functions are there: reductions, and operations with tensors that broadcast.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import ops
from .._core import layouts
from .._core.annotations import DeviceLike, Dtype
from .._core.tensor import Tensor
from ._base import Nested
from ._jagged import Arrangement, NestedTensor as NestedTensor, jagged_of, jagged_over
from ._strided import over, strided_of

__all__ = [
    "as_nested_tensor", "masked_select", "narrow", "nested_tensor", "nested_tensor_from_jagged", "to_padded_tensor",
]  # fmt: skip


def nested_tensor(
    tensor_list: object,
    *,
    dtype: Dtype | None = None,
    layout: layouts.layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """A nested tensor with copies of some tensors as its parts: a leaf.

    Args:
        tensor_list: tensors of as many dimensions, or lists of numbers.
        dtype, device: of the parts; by default those of the first one.
        layout: ``torch.strided`` (the default) or ``torch.jagged``.

    >>> n = torch.nested.nested_tensor([torch.arange(3), torch.arange(5)])
    >>> n.to_padded_tensor(-1)
    tensor([[ 0,  1,  2, -1, -1],
            [ 0,  1,  2,  3,  4]])

    Source: https://docs.pytorch.org/docs/stable/nested.html
    """
    if not isinstance(tensor_list, (list, tuple)):
        raise TypeError("Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in nested_tensor")
    parts = [
        component.detach() if isinstance(component, Tensor) else ops.tensor(component) for component in tensor_list
    ]
    result = _from_parts(parts, dtype, device, layout).detach().clone()
    if requires_grad and not (result.is_floating_point() or result.is_complex()):
        raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
    return result._require_grad(requires_grad)


def as_nested_tensor(
    ts: Tensor | Sequence[Tensor],
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    layout: layouts.layout | None = None,
) -> Nested:
    """A nested tensor of some tensors, whose history goes on: gradients reach them.

    Args:
        ts: tensors of as many dimensions, or one tensor, whose rows are the parts.

    >>> x = torch.ones(2, requires_grad=True)
    >>> n = torch.nested.as_nested_tensor([x, torch.ones(3)])
    >>> (n * 3).to_padded_tensor(0).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    if isinstance(ts, Nested):
        if layout is not ts.layout:
            raise RuntimeError("as_nested_tensor(): Converting between nested tensor layouts is not supported")
        packed = ts._packed.to(device=device, dtype=dtype)
        return ts if packed is ts._packed else ts._like(packed)
    if isinstance(ts, Tensor):
        if ts.dim() < 2:
            raise RuntimeError("as_nested_tensor(): Expected tensor argument to have dim() > 1")
        _check_layout(layout)
        whole = ts.to(device=device, dtype=dtype)
        return jagged_over(whole) if layout is layouts.jagged else over(whole)
    if not isinstance(ts, (Tensor, list, tuple)) or not all(isinstance(element, Tensor) for element in ts):
        raise TypeError("as_nested_tensor(): Expected first argument to be a tensor or a list / tuple of tensors ")
    return _from_parts(list(ts), dtype, device, layout)


def _from_parts(
    parts: list[Tensor], dtype: Dtype | None, device: DeviceLike | None, layout: layouts.layout | None
) -> Nested:
    _check_layout(layout)
    if layout is layouts.jagged:
        for what, kinds in (
            ("have the same dtype", {part.dtype for part in parts}),
            ("be on the same device", {part.device for part in parts}),
            ("have the same dim", {part.dim() for part in parts}),
        ):
            if len(kinds) > 1:
                raise RuntimeError(f"When constructing a nested tensor, all tensors in list must {what}")
    for number, part in enumerate(parts):
        if part.dim() != parts[0].dim():
            raise RuntimeError(
                f"All Tensors given to nested_tensor must have the same dimension. Found dimension {part.dim()} for Tensor at index "
                f"{number} and dimension {parts[0].dim()} for Tensor at index 0."
            )
    kind = parts[0].dtype if dtype is None and parts else dtype
    parts = [part.to(device=device, dtype=kind) for part in parts]
    return _jagged(parts) if layout is layouts.jagged else strided_of(parts)


def _check_layout(layout: layouts.layout | None) -> None:
    if layout not in (None, layouts.strided, layouts.jagged):
        raise RuntimeError(f"Specified layout is unsupported for nested tensors: {layout}")


def _jagged(parts: list[Tensor]) -> NestedTensor:
    if not parts:
        raise RuntimeError("Cannot construct a nested tensor from an empty tensor list")
    if parts[0].dim() == 0:
        raise RuntimeError("Cannot construct a nested tensor from a list of zero-dim tensors")
    differing = [
        d for d, lengths in enumerate(zip(*(part.shape for part in parts), strict=True)) if len(set(lengths)) > 1
    ]
    if len(differing) > 1:
        raise RuntimeError(
            "Cannot represent given tensor list as a nested tensor with the jagged layout. Note that the jagged layout only allows for "
            "a single ragged dimension. For example: (B, *, D_0, D_1, ..., D_N), with ragged * dim."
        )
    at = differing[0] if differing else 0
    ends = [0]
    for part in parts:
        ends.append(ends[-1] + part.shape[at])
    return jagged_of(parts, Arrangement(ops.tensor(ends, device=parts[0].device), at + 1, ("min_seqlen", "max_seqlen")))


def nested_tensor_from_jagged(
    values: Tensor,
    offsets: Tensor | None = None,
    lengths: Tensor | None = None,
    jagged_dim: int | None = None,
    min_seqlen: int | None = None,
    max_seqlen: int | None = None,
) -> NestedTensor:
    """A jagged nested tensor over the memory of ``values``, where its parts lie one after the other.

    Args:
        offsets: where each part begins, and where the last one ends.
        lengths: the lengths of the parts, where no offsets are given.
        jagged_dim: the dimension of the result that is ragged, 1 by default.

    >>> n = torch.nested.nested_tensor_from_jagged(torch.arange(5), offsets=torch.tensor([0, 2, 5]))
    >>> n.unbind()
    (tensor([0, 1]), tensor([2, 3, 4]))
    """
    if offsets is None and lengths is None:
        raise RuntimeError("nested_tensor_from_jagged(): At least one of offsets or lengths is required.")
    if offsets is not None and lengths is not None:
        raise NotImplementedError("torchlike does not support nested tensors with holes: offsets and lengths together")
    if offsets is None:
        assert lengths is not None
        offsets = ops.cat([ops.zeros(1, dtype=lengths.dtype, device=lengths.device), lengths.cumsum(0)])
    given = {"min_seqlen": min_seqlen, "max_seqlen": max_seqlen}
    known = tuple(name for name, length in given.items() if length is not None)
    return jagged_of([values], Arrangement(offsets, 1 if jagged_dim is None else jagged_dim, known))


def narrow(
    tensor: Tensor, dim: int, start: int | Tensor, length: int | Tensor, layout: layouts.layout = layouts.strided
) -> NestedTensor:
    """A nested tensor of the piece of each row of a tensor that begins at ``start`` and has ``length`` elements along ``dim``.

    Args:
        dim: 1, the only one that may differ.
        start, length: a number, or a tensor with one for each row.
        layout: ``torch.jagged``; or ``torch.strided``, for numbers.

    >>> torch.nested.narrow(torch.arange(6).view(2, 3), 1, 0, torch.tensor([1, 3]), layout=torch.jagged).unbind()
    (tensor([0]), tensor([3, 4, 5]))
    """
    if layout is layouts.strided:
        if not (isinstance(start, int) and isinstance(length, int)):
            raise RuntimeError("start and length must be integers for the strided layout NT impl")
        return as_nested_tensor(tensor.narrow(dim, start, length))  # pyright: ignore[reportReturnType]
    if layout is not layouts.jagged:
        raise RuntimeError(f"Specified layout is unsupported for nested narrow: {layout}")
    if dim != 1:
        raise RuntimeError(f"jagged layout only supports dim=1, got {dim}")
    rows = tensor.shape[0]
    starts, lengths = ([n] * rows if isinstance(n, int) else n.tolist() for n in (start, length))
    return _jagged([row.narrow(0, s, n) for row, s, n in zip(tensor, starts, lengths, strict=True)])


def masked_select(tensor: Tensor, mask: Tensor) -> NestedTensor:
    """A jagged nested tensor of the elements of each row where a mask is True.

    >>> torch.nested.masked_select(torch.arange(4).view(2, 2), torch.tensor([[True, False], [True, True]])).unbind()
    (tensor([0]), tensor([2, 3]))
    """
    if tensor.layout is not layouts.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided tensor, given {tensor.layout}")
    if mask.layout is not layouts.strided:
        raise RuntimeError(f"torch.nested.masked_select requires a strided mask, given: {mask.layout}")
    mask = mask.expand(tensor.shape) if mask.dim() == tensor.dim() else mask.expand(*tensor.shape)
    counts = mask.reshape(mask.shape[0], -1).sum(1)
    return nested_tensor_from_jagged(tensor[mask], lengths=counts)


def to_padded_tensor(
    input: Tensor, padding: float, output_size: Sequence[int] | None = None, out: None = None
) -> Tensor:
    """One tensor with the parts of a nested one, each followed by ``padding``.

    Args:
        output_size: its size, where it shall be larger than needed.

    >>> torch.nested.to_padded_tensor(torch.nested.nested_tensor([[1, 2], [3]]), 0)
    tensor([[1, 2],
            [3, 0]])
    """
    if out is not None:
        raise NotImplementedError("torchlike does not support out= of to_padded_tensor")
    return input.to_padded_tensor(padding, output_size)
