"""torch.distributed.algorithms.ddp_comm_hooks.default_hooks: averages of gradients, exchanged in full or in half precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...._core.dtypes import bfloat16, dtype, float16
from ...._core.tensor import Tensor
from ....futures import Future
from ..._buckets import GradBucket
from ..._groups import ProcessGroup, group_of
from ..._tensors import all_reduce

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]

Hook = Callable[[Any, GradBucket], Future[Tensor]]


def _average(process_group: ProcessGroup | None, buffer: Any) -> Future[Tensor]:
    group = group_of(process_group)
    buffer.div_(group.size())
    all_reduce(buffer, group=group)
    future: Future[Tensor] = Future()
    future.set_result(buffer)
    return future


def allreduce_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients over all processes, as DistributedDataParallel does without a hook.

    Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
    """
    return _average(process_group, bucket.buffer())


def _compressed(process_group: ProcessGroup | None, bucket: GradBucket, kind: dtype) -> Future[Tensor]:
    buffer: Any = bucket.buffer()
    return _average(process_group, buffer.to(kind)).then(lambda done: buffer.copy_(done.value()))


def fp16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients in float16.

    Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
    """
    return _compressed(process_group, bucket, float16)


def bf16_compress_hook(process_group: ProcessGroup | None, bucket: GradBucket) -> Future[Tensor]:
    """Averages the gradients in bfloat16.

    Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
    """
    return _compressed(process_group, bucket, bfloat16)


def _wrapper(hook: Hook, kind: dtype) -> Hook:
    def wrapped(hook_state: object, bucket: GradBucket) -> Future[Tensor]:
        buffer: Any = bucket.buffer()
        bucket.set_buffer(buffer.to(kind))
        return hook(hook_state, bucket).then(lambda done: buffer.copy_(done.value()))

    return wrapped


def fp16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives another one the gradients in float16.

    Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
    """
    return _wrapper(hook, float16)


def bf16_compress_wrapper(hook: Hook) -> Hook:
    """A hook that gives another one the gradients in bfloat16.

    Source: https://docs.pytorch.org/docs/stable/ddp_comm_hooks.html
    """
    return _wrapper(hook, bfloat16)
