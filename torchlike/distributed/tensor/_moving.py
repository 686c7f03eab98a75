"""Moves what processes keep of a tensor from one way of spreading it to another, with gradients.

The gradient of a piece is the piece of the gradient. Where all processes have the whole, they have the whole gradient, and where they
have terms, each term has the gradient of their sum.
"""

from __future__ import annotations

from collections.abc import Sequence

from jax import Array, lax

from ..._core.fields import requires_grad_flag
from ..._core.tensor import Tensor, alias
from ...autograd.function import Function, FunctionCtx
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...engine.collective import AXIS
from ...ops import cat, chunk, div, narrow, stack, unbind, zeros
from .._collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, REDUCE_SCATTER, Collective
from .._groups import ProcessGroup, ReduceOp
from .._tensors import exchange
from ._specs import Spec, of_gradient
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["index_in", "moved", "own_part", "with_zeros"]

_OPS = {
    "sum": ReduceOp.SUM, "avg": ReduceOp.AVG, "product": ReduceOp.PRODUCT, "min": ReduceOp.MIN, "max": ReduceOp.MAX,
}  # fmt: skip


def _own_row(size: int, dim: int, arrays: Sequence[Array]) -> list[Array]:
    (x,) = arrays
    length = x.shape[dim] // size
    return [lax.dynamic_slice_in_dim(x, lax.axis_index(AXIS) * length, length, dim)]


def _own_index(size: int, arrays: Sequence[Array]) -> list[Array]:
    return [lax.axis_index(AXIS).astype(arrays[0].dtype)]


# Nothing is exchanged here. The place in the group is asked in the program, so that all processes have the same one.
OWN_PART, OWN_INDEX = Collective("own_part", _own_row), Collective("own_index", _own_index)


def index_in(group: ProcessGroup, like: Tensor) -> Tensor:
    """This process's number in a group, as a tensor of the dtype of ``like``."""
    if group.size() == 1:
        return zeros((), dtype=like.dtype)
    return exchange(OWN_INDEX, group, (), [like])[0]


def with_zeros(piece: Tensor, dim: int, length: int) -> Tensor:
    """A tensor with zeros at its end, so that it has this length."""
    if piece.shape[dim] == length:
        return piece
    shape = list(piece.shape)
    shape[dim] = length - shape[dim]
    return cat([piece, zeros(*shape, dtype=piece.dtype)], dim)


# ---- one dimension of the mesh


def _slice(piece: Tensor, group: ProcessGroup, dim: int) -> Tensor:
    """This process's part of what all have."""
    size = group.size()
    if size == 1:
        return piece
    padded = with_zeros(piece, dim, -(-piece.shape[dim] // size) * size)
    return exchange(OWN_PART, group, (dim,), [padded])[0]


def _gather(piece: Tensor, group: ProcessGroup, dim: int, length: int) -> Tensor:
    """What the parts of all processes make up."""
    if group.size() > 1:
        piece = cat(list(unbind(exchange(ALL_GATHER, group, (), [piece])[0])), dim)
    return narrow(piece, dim, 0, length) if piece.shape[dim] != length else piece


def _rows(piece: Tensor, group: ProcessGroup, dim: int) -> Tensor:
    """Parts along a dimension as rows, one for each process."""
    size = group.size()
    padded = with_zeros(piece, dim, -(-piece.shape[dim] // size) * size)
    return stack(list(chunk(padded, size, dim)))


def _combine(piece: Tensor, group: ProcessGroup, op: str) -> Tensor:
    return piece if group.size() == 1 else exchange(ALL_REDUCE, group, (_OPS[op],), [piece])[0]


def _combine_part(piece: Tensor, group: ProcessGroup, op: str, dim: int) -> Tensor:
    """This process's part of what the terms of all processes give."""
    if group.size() == 1:
        return piece
    return exchange(REDUCE_SCATTER, group, (_OPS[op],), [_rows(piece, group, dim)])[0]


def _transpose(piece: Tensor, group: ProcessGroup, before: int, after: int, length: int) -> Tensor:
    """Parts along another dimension."""
    if group.size() == 1:
        return piece
    rows = exchange(ALL_TO_ALL, group, (), [_rows(piece, group, after)])[0]
    joined = cat(list(unbind(rows)), before)
    return narrow(joined, before, 0, length) if joined.shape[before] != length else joined


# ---- all dimensions of the mesh


def _one_change(piece: Tensor, before: Spec, after: Spec, n: int) -> Tensor:
    """The stored piece where the placements differ along one dimension of the mesh, and no other one cuts the same dimensions."""
    group, old, new, shape = before.mesh.get_group(n), before.placements[n], after.placements[n], before.shape
    if isinstance(old, Partial):
        if isinstance(new, Shard):
            return _combine_part(piece, group, old.reduce_op, new.dim)
        return _combine(piece, group, old.reduce_op)
    if isinstance(new, Partial):
        # Each process gets an equal share of the sum.
        return div(piece, group.size()) if new.reduce_op == "sum" else piece
    if isinstance(old, Shard):
        if isinstance(new, Shard):
            return _transpose(piece, group, old.dim, new.dim, shape[old.dim])
        return _gather(piece, group, old.dim, shape[old.dim])
    assert isinstance(new, Shard)
    return _slice(piece, group, new.dim)


def _is_alone(spec: Spec, n: int) -> bool:
    placement = spec.placements[n]
    if isinstance(placement, Shard):
        return [dim for dim, _ in spec.cut()].count(placement.dim) == 1
    return isinstance(placement, (Replicate, Partial))


def own_part(piece: Tensor, spec: Spec) -> Tensor:
    """What this process stores of a tensor that all have."""
    for dim, n in spec.cut():
        piece = _slice(piece, spec.mesh.get_group(n), dim)
    return piece


def _changed(piece: Tensor, before: Spec, after: Spec) -> Tensor:
    """What this process stores of a tensor that is spread in another way."""
    differing = [n for n, (a, b) in enumerate(zip(before.placements, after.placements, strict=True)) if a != b]
    for n in list(differing):  # terms first, since they are the largest
        if isinstance(before.placements[n], Partial):
            target: Placement = after.placements[n]
            middle = _with(before, n, target)
            if not _is_alone(middle, n):
                middle = _with(before, n, Replicate())
            piece, before = _one_change(piece, before, middle, n), middle
            if before.placements[n] == target:
                differing.remove(n)
    if len(differing) == 1 and _is_alone(before, differing[0]) and _is_alone(after, differing[0]):
        return _one_change(piece, before, after, differing[0])
    return _by_gathering(piece, before, after, set(differing))


def _with(spec: Spec, n: int, placement: Placement) -> Spec:
    return spec.replaced([placement if k == n else each for k, each in enumerate(spec.placements)])


def _by_gathering(piece: Tensor, before: Spec, after: Spec, differing: set[int]) -> Tensor:
    """Gathers what is cut in another way, and all that was cut after it along the same dimension; then cuts anew."""
    cut_before, cut_after = before.cut(), after.cut()
    anew = set(differing)
    anew |= {n for dim, n in cut_before if any(d == dim and k in anew for d, k in cut_before + cut_after)}
    for dim, n in reversed(cut_before):
        if n in anew:
            before = _with(before, n, Replicate())
            piece = _gather(piece, before.mesh.get_group(n), dim, before.stored(dim))
    for dim, n in cut_after:
        if n in anew:
            piece = _slice(piece, after.mesh.get_group(n), dim)
    for n in differing:
        if isinstance(after.placements[n], Partial):
            piece = div(piece, after.mesh.size(n))
    return piece


class _Moved(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, piece: Tensor, before: Spec, after: Spec, terms: frozenset[int]) -> Tensor:
        ctx.before, ctx.after, ctx.terms = before, after, terms
        with no_grad():
            moved_piece = _changed(piece, before, after)
            return alias(piece) if moved_piece is piece else moved_piece

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> object:
        before, after = ctx.before, ctx.after
        grad = moved(grads[0], of_gradient(after, ctx.terms), of_gradient(before))
        for n in before.partial():
            if before.placements[n].reduce_op == "avg" and not isinstance(after.placements[n], Partial):
                grad = div(grad, before.mesh.size(n))
        return grad, None, None, None


def moved(piece: Tensor, before: Spec, after: Spec, terms: frozenset[int] = frozenset()) -> Tensor:
    """What this process stores of a tensor that is to be spread in another way. Gradients flow back.

    Args:
        terms: the dimensions of the mesh along which processes will have terms of the gradient, which are then added.
    """
    if is_grad_enabled() and requires_grad_flag(piece):
        if before == after and not terms:
            return piece
        return _Moved.apply(piece, before, after, terms)
    if before == after:
        return piece
    with no_grad():
        return _changed(piece, before, after)
