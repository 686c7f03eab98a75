"""The collectives of tensors. Each is recorded like any other operation, and runs together with the operations around it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import no_grad
from ..engine.recorder import flush
from ..engine.value import Value
from ..ops import cat, stack
from ._collectives import ALL_GATHER, ALL_REDUCE, ALL_TO_ALL, BROADCAST, REDUCE_SCATTER, Collective, record
from ._groups import ProcessGroup, ReduceOp, group_of
from ._objects import objects_of_all
from ._works import Work

__all__ = [
    "_all_gather_base", "_reduce_scatter_base", "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_reduce",
    "all_reduce_coalesced", "all_to_all", "all_to_all_single", "barrier", "broadcast", "gather", "monitored_barrier", "reduce",
    "reduce_scatter", "reduce_scatter_tensor", "scatter",
]  # fmt: skip


def check_tensor(value: object, name: str) -> Tensor:
    """Returns the argument if it is a tensor; raises otherwise."""
    if not isinstance(value, Tensor):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\nbut got {type(value)} instead."
        )
    return value


def check_tensors(value: object, name: str) -> list[Tensor]:
    """Returns the argument if it is a list of tensors; raises otherwise."""
    if not isinstance(value, (list, tuple)) or not all(isinstance(element, Tensor) for element in value):
        raise TypeError(
            f"Invalid function argument. Expected parameter `{name}` of type List[torch.Tensor]\nbut got {type(value)} "
            f"with elements of type {[type(element) for element in value] if isinstance(value, (list, tuple)) else ''}."
        )
    return list(value)


def exchange(
    op: Collective, group: ProcessGroup, static: tuple[object, ...], tensors: Sequence[Tensor]
) -> list[Tensor]:
    """Runs a collective on tensors and returns new tensors. ``group`` has several processes."""
    assert group.engine is not None
    values: list[Value] = record(op, group.engine, static, [tensor._value() for tensor in tensors])
    return [from_value(value) for value in values]


def write(into: Tensor, source: Tensor) -> None:
    """Writes a result into the caller's tensor; autograd does not notice."""
    with no_grad():
        into.detach().copy_(source)


def _finished_work(async_op: bool, tensors: object = None) -> Work | None:
    return Work(tensors) if async_op else None


def checked(op: object, name: str, *tensors: Tensor) -> ReduceOp:
    """Returns the reduction if tensors of these dtypes support it; raises otherwise."""
    if not isinstance(op, ReduceOp):
        raise TypeError(f"{name}(): incompatible function arguments: expected a ReduceOp, got {op!r}")
    for tensor in tensors:
        kind = tensor._aval.dtype.kind
        if kind == "c" and op not in (ReduceOp.SUM, ReduceOp.AVG):
            raise ValueError(f"{name} does not support RedOpType.{op.name} on complex tensors")
        if op in (ReduceOp.BAND, ReduceOp.BOR, ReduceOp.BXOR) and kind not in "iub":
            raise RuntimeError(f"Cannot use ReduceOp.{op.name} with non-integral dtype")
        if op is ReduceOp.AVG and kind in "iub":
            words = tensor.type().rpartition(".")[2].removesuffix("Tensor")
            raise RuntimeError(f"result type Float can't be cast to the desired output type {words}")
    return op


def _count(tensors: Sequence[Tensor], group: ProcessGroup, what: str) -> None:
    if len(tensors) != group.size():
        raise ValueError(
            f"{what}: invalid list size {len(tensors)}, expected {group.size()}, one tensor for each process"
        )


def all_reduce(
    tensor: Tensor, op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Reduces the tensors of all processes to one, which every process gets.

    Args:
        tensor: the tensor of this process. The result is written into it.
        op: the reduction: ``ReduceOp.SUM``, ``AVG``, ``PRODUCT``, ``MIN``, ``MAX``, ``BAND``, ``BOR`` or ``BXOR``.
        group: the processes (default: all).
        async_op: return a ``Work``.

    Raises:
        DistBackendError: another process has failed, or calls another collective.

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.all_reduce
    """
    process_group = group_of(group)
    op = checked(op, "all_reduce", check_tensor(tensor, "tensor"))
    if process_group.size() > 1:
        write(tensor, exchange(ALL_REDUCE, process_group, (op,), [tensor])[0])
    return _finished_work(async_op, tensor)


def all_reduce_coalesced(
    tensors: list[Tensor], op: ReduceOp = ReduceOp.SUM, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """``all_reduce`` of several tensors of one dtype, sent as one."""
    process_group = group_of(group)
    op = checked(op, "all_reduce", *check_tensors(tensors, "tensors"))
    if process_group.size() > 1 and tensors:
        for tensor, result in zip(tensors, exchange(ALL_REDUCE, process_group, (op,), tensors), strict=True):
            write(tensor, result)
    return _finished_work(async_op, tensors)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduces the tensors of all processes to one, which process ``dst`` gets. The tensors of the others do not change."""
    process_group = group_of(group)
    op = checked(op, "reduce", check_tensor(tensor, "tensor"))
    number = process_group.number_of(dst, group_dst, "dst")
    if process_group.size() > 1:
        (result,) = exchange(ALL_REDUCE, process_group, (op,), [tensor])
        if process_group.rank() == number:
            write(tensor, result)
    return _finished_work(async_op, tensor)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives all processes the tensor of process ``src``."""
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = process_group.number_of(src, group_src, "src")
    if process_group.size() > 1:
        write(tensor, exchange(BROADCAST, process_group, (number,), [tensor])[0])
    return _finished_work(async_op, tensor)


def all_gather(tensor_list: list[Tensor], tensor: Tensor, group: object = None, async_op: bool = False) -> Work | None:
    """Puts the tensors of all processes into a list."""
    process_group = group_of(group)
    check_tensors(tensor_list, "tensor_list")
    check_tensor(tensor, "tensor")
    _count(tensor_list, process_group, "all_gather")
    parts = exchange(ALL_GATHER, process_group, (), [tensor])[0].unbind() if process_group.size() > 1 else [tensor]
    for into, gathered in zip(tensor_list, parts, strict=True):
        write(into, gathered)
    return _finished_work(async_op, tensor_list)


def all_gather_coalesced(
    output_tensor_lists: list[list[Tensor]],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """``all_gather`` of several tensors."""
    for number, tensor in enumerate(check_tensors(input_tensor_list, "tensor_list")):
        all_gather([outputs[number] for outputs in output_tensor_lists], tensor, group)
    return _finished_work(async_op, output_tensor_lists)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: ProcessGroup | None = None, async_op: bool = False
) -> Work | None:
    """Puts the tensors of all processes into one: concatenated, or stacked along a new first dimension, depending on its shape."""
    process_group = group_of(group)
    check_tensor(input_tensor, "input_tensor")
    check_tensor(output_tensor, "output_tensor")
    if output_tensor.numel() != input_tensor.numel() * process_group.size():
        raise ValueError("output tensor size must be equal to world_size times input tensor size")
    if output_tensor.dtype != input_tensor.dtype:
        raise TypeError("output tensor must have the same type as input tensor")
    gathered = exchange(ALL_GATHER, process_group, (), [input_tensor])[0] if process_group.size() > 1 else input_tensor
    write(output_tensor, gathered.reshape(output_tensor.shape))
    return _finished_work(async_op, output_tensor)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Puts the tensors of all processes into a list of process ``dst``."""
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = process_group.number_of(dst, group_dst, "dst", default=0)
    if process_group.rank() == number and not gather_list:
        raise ValueError("Argument ``gather_list`` must be specified on destination rank.")
    if process_group.rank() != number and gather_list:
        raise ValueError("Argument ``gather_list`` must NOT be specified on non-destination ranks.")
    if gather_list:
        _count(check_tensors(gather_list, "gather_list"), process_group, "gather")
    parts = exchange(ALL_GATHER, process_group, (), [tensor])[0].unbind() if process_group.size() > 1 else [tensor]
    for into, gathered in zip(gather_list or [], parts, strict=False):
        write(into, gathered)
    return _finished_work(async_op, gather_list)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each process its tensor of a list of process ``src``."""
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = process_group.number_of(src, group_src, "src", default=0)
    here = process_group.rank() == number
    if here and not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    if not here and scatter_list:
        raise ValueError("Argument ``scatter_list`` must NOT be specified on non-source ranks.")
    if scatter_list:
        _count(check_tensors(scatter_list, "scatter_list"), process_group, "scatter")
    if process_group.size() == 1:
        write(tensor, (scatter_list or [tensor])[0])
    else:
        with no_grad():
            rows = stack(scatter_list or [tensor] * process_group.size())
        write(tensor, exchange(ALL_TO_ALL, process_group, (), [rows])[0][number])
    return _finished_work(async_op, tensor)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces the lists of tensors of all processes to one list, of which each process gets its tensor."""
    process_group = group_of(group)
    op = checked(op, "reduce_scatter", check_tensor(output, "output"))
    _count(check_tensors(input_list, "input_list"), process_group, "reduce_scatter")
    if process_group.size() == 1:
        write(output, input_list[0])
    else:
        with no_grad():
            rows = stack(input_list)
        write(output, exchange(REDUCE_SCATTER, process_group, (op,), [rows])[0])
    return _finished_work(async_op, output)


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: ReduceOp = ReduceOp.SUM,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Reduces the tensors of all processes to one, of which each process gets its part."""
    process_group = group_of(group)
    op = checked(op, "reduce_scatter_tensor", check_tensor(output, "output"))
    check_tensor(input, "input")
    if input.numel() != output.numel() * process_group.size():
        raise ValueError("input tensor must be the same size as output size times world size")
    if output.dtype != input.dtype:
        raise TypeError("input tensor must be the same type as the output tensor.")
    sent = input.detach()
    if process_group.size() > 1:
        (sent,) = exchange(REDUCE_SCATTER, process_group, (op,), [sent.reshape(process_group.size(), *output.shape)])
    write(output, sent.reshape(output.shape))
    return _finished_work(async_op, output)


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each process its tensor of a list; the shapes may differ."""
    process_group = group_of(group)
    outputs = check_tensors(output_tensor_list, "output_tensor_list")
    inputs = check_tensors(input_tensor_list, "input_tensor_list")
    _count(outputs, process_group, "all_to_all")
    _count(inputs, process_group, "all_to_all")
    for into, received in zip(
        outputs, _sent(process_group, inputs, [output.numel() for output in outputs]), strict=True
    ):
        write(into, received.reshape(into.shape))
    return _finished_work(async_op, outputs)


def _sent(group: ProcessGroup, parts: list[Tensor], sizes: list[int]) -> list[Tensor]:
    """Returns the flattened parts that the processes send to this one. For the exchange, rows are padded to the longest one."""
    if group.size() == 1:
        return [parts[0].detach().reshape(-1)]
    longest = max(objects_of_all(group, max(*sizes, *(piece.numel() for piece in parts))))
    with no_grad():
        rows = stack([_padded(piece.detach().reshape(-1), longest) for piece in parts])
    (arrived,) = exchange(ALL_TO_ALL, group, (), [rows])
    return [row[:size] for row, size in zip(arrived.unbind(), sizes, strict=True)]


def _padded(flat: Tensor, size: int) -> Tensor:
    return flat if flat.numel() == size else cat([flat, flat.new_zeros(size - flat.numel())])


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: ProcessGroup | None = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each process its part of a tensor.

    Args:
        output, input: the tensors, which are split along their first dimension.
        output_split_sizes, input_split_sizes: the sizes of the parts; equal parts by default.
    """
    process_group = group_of(group)
    check_tensor(output, "output")
    check_tensor(input, "input")
    if not output_split_sizes and not input_split_sizes:
        if process_group.size() == 1:
            write(output, input.detach().reshape(output.shape))
            return _finished_work(async_op, output)
        if input.shape[0] % process_group.size() or output.shape[0] % process_group.size():
            raise RuntimeError("Tensor's dim 0 does not divide equally across group size")
        rows = input.detach().reshape(process_group.size(), -1)
        write(output, exchange(ALL_TO_ALL, process_group, (), [rows])[0].reshape(output.shape))
        return _finished_work(async_op, output)
    equal = [input.shape[0] // process_group.size()] * process_group.size()
    send_sizes = list(input_split_sizes or equal)
    receive_sizes = list(output_split_sizes or [output.shape[0] // process_group.size()] * process_group.size())
    if sum(send_sizes) != input.shape[0] or sum(receive_sizes) != output.shape[0]:
        raise RuntimeError("Split sizes doesn't match total dim 0 size")
    width = input[0:1].numel()
    received = _sent(process_group, list(input.detach().split(send_sizes)), [size * width for size in receive_sizes])
    write(output, cat(received).reshape(output.shape))
    return _finished_work(async_op, output)


def barrier(
    group: ProcessGroup | None = None,
    async_op: bool = False,
    device_ids: Sequence[int] | None = None,
    timeout: object = None,
) -> Work | None:
    """Waits until all processes of the group have called this."""
    process_group = group_of(group)
    flush()
    if process_group.engine is not None:
        process_group.engine.note_call()
        process_group.engine.agree("barrier()", ["barrier()"])
    return _finished_work(async_op)


def monitored_barrier(
    group: ProcessGroup | None = None, timeout: timedelta | None = None, wait_all_ranks: bool = False
) -> None:
    """``barrier`` with a time limit; the error names the processes that did not come.

    Raises:
        RuntimeError: a process did not call it in time.
    """
    process_group = group_of(group)
    flush()
    if process_group.engine is not None:
        seconds = None if timeout is None else timeout.total_seconds()
        process_group.engine.note_call()
        process_group.engine.agree("monitored_barrier()", ["monitored_barrier()"], seconds)


_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor  # older names of these functions
