"""torch.distributed.nn.functional: collectives that return new tensors, and whose gradients are exchanged between processes.

The gradients are those of the sum of the losses of all processes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..._core.tensor import Tensor
from ...autograd.function import Function, FunctionCtx
from ...ops import cat, stack, zeros_like
from .._collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER, Collective
from .._groups import ProcessGroup, ReduceOp, group_of
from .._tensors import checked, exchange

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "all_to_all_single", "broadcast", "gather", "reduce", "reduce_scatter", "scatter",
]  # fmt: skip


def _apply_collective(op: Collective, group: ProcessGroup, static: tuple[object, ...], tensor: Tensor) -> Tensor:
    if group.size() == 1:
        return tensor.clone()
    return exchange(op, group, static, [tensor])[0]


class _AllReduce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, op: ReduceOp, tensor: Tensor) -> Tensor:
        ctx.group, ctx.op = group, op
        return _apply_collective(ALL_REDUCE, group, (op,), tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, None, _AllReduce.apply(ctx.group, ctx.op, grads[0])


class _Broadcast(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, source: int, tensor: Tensor) -> Tensor:
        ctx.group, ctx.source = group, source
        return _apply_collective(BROADCAST, group, (source,), tensor)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        total = _AllReduce.apply(ctx.group, ReduceOp.SUM, grads[0])
        return None, None, total if ctx.group.rank() == ctx.source else zeros_like(grads[0])


class _Reduce(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, to: int, op: ReduceOp, tensor: Tensor) -> Tensor:
        ctx.group, ctx.to = group, to
        total = _apply_collective(ALL_REDUCE, group, (op,), tensor)
        return total if group.rank() == to else tensor.clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, None, None, _Broadcast.apply(ctx.group, ctx.to, grads[0])


class _AllGather(Function):
    """Gathers into one tensor with an additional first dimension."""

    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, tensor: Tensor) -> Tensor:
        ctx.group = group
        return _apply_collective(ALL_GATHER, group, (), tensor) if group.size() > 1 else stack([tensor])

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, _ReduceScatter.apply(ctx.group, ReduceOp.SUM, grads[0])


class _ReduceScatter(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, op: ReduceOp, rows: Tensor) -> Tensor:
        ctx.group = group
        return _apply_collective(REDUCE_SCATTER, group, (op,), rows) if group.size() > 1 else rows[0].clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, None, _AllGather.apply(ctx.group, grads[0])


class _AllToAll(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, group: ProcessGroup, rows: Tensor) -> Tensor:
        ctx.group = group
        return _apply_collective(ALL_TO_ALL, group, (), rows)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, _AllToAll.apply(ctx.group, grads[0])


def all_reduce(tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """Reduces the tensors of all processes to one. The gradient is reduced in the same way."""
    return _AllReduce.apply(group_of(group), checked(op, "all_reduce", tensor), tensor)


def broadcast(tensor: Tensor, src: int, group: ProcessGroup | None = None) -> Tensor:
    """Returns the tensor of process ``src``. Its gradient is the sum of the gradients of all processes."""
    process_group = group_of(group)
    return _Broadcast.apply(process_group, process_group.number_of(src, None, "src"), tensor)


def reduce(tensor: Tensor, dst: int, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None) -> Tensor:
    """Reduces the tensors of all processes to one in process ``dst``; other processes get their tensor back."""
    process_group = group_of(group)
    return _Reduce.apply(
        process_group, process_group.number_of(dst, None, "dst"), checked(op, "reduce", tensor), tensor
    )


def all_gather(tensor: Tensor, group: object = None) -> tuple[Tensor, ...]:
    """The tensors of all processes."""
    return _AllGather.apply(group_of(group), tensor).unbind()


def gather(tensor: Tensor, dst: int = 0, group: ProcessGroup | None = None) -> tuple[Tensor, ...]:
    """Returns the tensors of all processes in process ``dst``, and zeros in other processes."""
    process_group = group_of(group)
    parts = all_gather(tensor, process_group)
    if process_group.rank() == process_group.number_of(dst, None, "dst"):
        return parts
    return tuple(gradient * 0 for gradient in parts)


def scatter(tensors: Sequence[Tensor], src: int = 0, group: ProcessGroup | None = None) -> Tensor:
    """This process's tensor of the list of process ``src``."""
    process_group = group_of(group)
    return _AllToAll.apply(process_group, stack(list(tensors)))[process_group.number_of(src, None, "src")]


def reduce_scatter(
    output: Tensor, input_list: Sequence[Tensor], op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None
) -> Tensor:
    """Reduces the lists of all processes, and returns this process's part. ``output`` is not used; the list determines the shape."""
    return _ReduceScatter.apply(group_of(group), checked(op, "reduce_scatter", output), stack(list(input_list)))


def all_to_all(
    output_tensor_list: Sequence[Tensor], input_tensor_list: Sequence[Tensor], group: ProcessGroup | None = None
) -> tuple[Tensor, ...]:
    """Exchanges lists of tensors of one shape: this process gets one tensor of each process's list.

    Raises:
        NotImplementedError: the tensors differ in shape.
    """
    if len({tuple(tensor.shape) for tensor in (*output_tensor_list, *input_tensor_list)}) > 1:
        raise NotImplementedError(
            "torchlike does not support distributed.nn.all_to_all of tensors of several shapes yet"
        )
    return _AllToAll.apply(group_of(group), stack(list(input_tensor_list))).unbind()


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
) -> Tensor:
    """Exchanges equal parts of tensors: this process gets one part of each process's tensor.

    Raises:
        NotImplementedError: the parts differ in size.
    """
    process_group = group_of(group)
    if len({*(output_split_sizes or ()), *(input_split_sizes or ())}) > 1:
        raise NotImplementedError("torchlike does not support distributed.nn.all_to_all_single into unequal parts yet")
    return cat(list(_AllToAll.apply(process_group, input.reshape(process_group.size(), -1, *input.shape[1:])).unbind()))
