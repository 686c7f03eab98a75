"""Process groups and collectives of one process, which keep what they are given or copy it where it belongs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from enum import Enum
from typing import Any

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..utils.data.distributed import world

__all__ = [
    "Backend", "DistBackendError", "DistError", "DistNetworkError", "DistStoreError", "all_to_all_single",
    "get_default_backend_for_device", "get_global_rank", "get_process_group_ranks", "reduce_op", "reduce_scatter_tensor",
    "GroupMember", "ProcessGroup", "ReduceOp", "Work", "all_gather", "all_gather_into_tensor", "all_gather_object",
    "all_reduce", "all_to_all", "barrier", "broadcast", "broadcast_object_list", "destroy_process_group", "gather",
    "get_backend", "get_rank", "get_world_size", "group", "init_process_group", "is_available",
    "irecv", "is_gloo_available", "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched",
    "isend", "new_group", "recv", "reduce", "reduce_scatter", "scatter", "send",
]  # fmt: skip


class ReduceOp(Enum):
    """How the tensors of several processes become one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


ReduceOp.RedOpType = ReduceOp  # pyright: ignore[reportAttributeAccessIssue]  libraries name the members by either


class ProcessGroup:
    """Processes that work together: here, one."""

    def __init__(self, backend: str) -> None:
        self.backend = backend

    def rank(self) -> int:
        """This process's number."""
        return 0

    def size(self) -> int:
        """How many processes there are."""
        return 1


class Work:
    """A collective that was asked for with ``async_op=True``: it is done."""

    def wait(self, timeout: timedelta | None = None) -> bool:
        """Waits for nothing."""
        return True

    def is_completed(self) -> bool:
        """Whether it is done."""
        return True

    def is_success(self) -> bool:
        """Whether it went well."""
        return True


class GroupMember:
    """The default group, and what stands for a group that this process is not in."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = -100


group = GroupMember


def is_available() -> bool:
    """Whether there is a distributed package.

    >>> torch.distributed.is_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Whether NCCL can be chosen: no, XLA brings its own communication."""
    return False


def is_gloo_available() -> bool:
    """Whether Gloo can be chosen: as a name for the group of one process."""
    return True


def is_mpi_available() -> bool:
    """Whether MPI can be chosen."""
    return False


def is_torchelastic_launched() -> bool:
    """Whether the process was started by torchelastic."""
    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def is_initialized() -> bool:
    """Whether ``init_process_group`` was called."""
    return GroupMember.WORLD is not None


def init_process_group(
    backend: str | None = None,
    init_method: str | None = None,
    timeout: timedelta | None = None,
    world_size: int = -1,
    rank: int = -1,
    store: object = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
) -> None:
    """Makes the default group, of this one process.

    Args:
        backend: any of PyTorch's names.
        init_method: where processes meet; by default the environment says it, with RANK and WORLD_SIZE.
        timeout: how long to wait for others, of whom there are none.
        world_size: the number of processes: 1.
        rank: this one's number: 0.

    Raises:
        NotImplementedError: several processes. ValueError: a second time, or nothing says how many processes there are.

    >>> torch.distributed.init_process_group("gloo", rank=0, world_size=1)
    >>> torch.distributed.get_world_size()
    1
    >>> torch.distributed.destroy_process_group()

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    if store is None and (init_method is None or init_method.startswith("env://")):
        rank = _from_environment("RANK") if rank == -1 else rank
        world_size = _from_environment("WORLD_SIZE") if world_size == -1 else world_size
    if world_size > 1:
        raise NotImplementedError(
            f"torchlike does not support torch.distributed with several processes yet: world_size is {world_size}"
        )
    if rank > 0:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, 0]")
    GroupMember.WORLD = ProcessGroup((backend or "gloo").lower())


def _from_environment(name: str) -> int:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
        )
    return int(value)


def _group(given: Any = None) -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return given or GroupMember.WORLD


def destroy_process_group(group: object = None) -> None:
    """Forgets the default group, or one of ``new_group``'s."""
    if _group(group) is GroupMember.WORLD:
        GroupMember.WORLD = None


def new_group(
    ranks: Sequence[int] | None = None, timeout: object = None, backend: Any = None, **options: object
) -> ProcessGroup:
    """A group of some of the processes: of this one.

    Raises:
        ValueError: a process that there is not.
    """
    world = _group()
    if any(rank != 0 for rank in ranks or ()):
        raise ValueError("the new group's rank should be within the world_size set by init_process_group")
    return ProcessGroup(backend or world.backend)


def get_rank(group: object = None) -> int:
    """This process's number in a group: 0."""
    return _group(group).rank()


def get_world_size(group: object = None) -> int:
    """How many processes a group has: 1."""
    return _group(group).size()


world.size, world.rank = get_world_size, get_rank  # for samplers, which stand below


def get_backend(group: object = None) -> str:
    """The name that the group was made with."""
    return _group(group).backend


def _done(async_op: bool) -> Work | None:
    return Work() if async_op else None


def _check(group: object, *ranks: int | None, **tensors: object) -> None:
    _group(group)
    for name, given in tensors.items():
        if not isinstance(given, Tensor):
            raise TypeError(
                f"Invalid function argument. Expected parameter `{name}` of type torch.Tensor\nbut got {type(given)} instead."
            )
    for rank in ranks:
        if rank not in (0, None):
            raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, 0]")


def _copy(into: Any, source: Any) -> None:
    with no_grad():
        into.copy_(source)


def barrier(
    group: object = None,
    async_op: bool = False,
    device_ids: Sequence[int] | None = None,
    timeout: object = None,
) -> Work | None:
    """Waits for the other processes, of whom there are none."""
    _group(group)
    return _done(async_op)


def all_reduce(tensor: object, op: object = ReduceOp.SUM, group: object = None, async_op: bool = False) -> Work | None:
    """Makes one tensor of all processes': of one it is itself."""
    _check(group, tensor=tensor)
    return _done(async_op)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: object = ReduceOp.SUM,
    group: object = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Makes one tensor of all processes', in process ``dst``."""
    _check(group, dst, group_dst, tensor=tensor)
    return _done(async_op)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives all processes the tensor of process ``src``."""
    _check(group, src, group_src, tensor=tensor)
    return _done(async_op)


def broadcast_object_list(
    object_list: Sequence[object],
    src: int | None = None,
    group: object = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> None:
    """Gives all processes the objects of process ``src``."""
    _check(group, src, group_src)


def all_gather(
    tensor_list: Sequence[object], tensor: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """Puts the tensors of all processes into a list."""
    _check(group, tensor=tensor)
    _copy(tensor_list[0], tensor)
    return _done(async_op)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: object = None, async_op: bool = False
) -> Work | None:
    """Puts the tensors of all processes into one."""
    _check(group, output_tensor=output_tensor, input_tensor=input_tensor)
    _copy(output_tensor, input_tensor.reshape(output_tensor.shape))
    return _done(async_op)


def all_gather_object(object_list: list[Any], obj: Any, group: object = None) -> None:
    """Puts the objects of all processes into a list."""
    _check(group)
    object_list[0] = obj


def gather(
    tensor: object,
    gather_list: Any = None,
    dst: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Puts the tensors of all processes into a list of process ``dst``."""
    _check(group, dst, group_dst, tensor=tensor)
    if gather_list:
        _copy(gather_list[0], tensor)
    return _done(async_op)


def scatter(
    tensor: object,
    scatter_list: Any = None,
    src: int | None = None,
    group: object = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Gives each process its tensor of a list of process ``src``."""
    _check(group, src, group_src, tensor=tensor)
    if not scatter_list:
        raise ValueError("Argument ``scatter_list`` must be specified on source rank.")
    _copy(tensor, scatter_list[0])
    return _done(async_op)


def reduce_scatter(
    output: Any, input_list: list[Any], op: object = ReduceOp.SUM, group: object = None, async_op: bool = False
) -> Work | None:
    """Makes one list of tensors of all processes', and gives each process its part."""
    _check(group, output=output)
    _copy(output, input_list[0])
    return _done(async_op)


def all_to_all(
    output_tensor_list: Sequence[object],
    input_tensor_list: Sequence[object],
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each process its part of a list."""
    _check(group)
    _copy(output_tensor_list[0], input_tensor_list[0])
    return _done(async_op)


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: object = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor to another process. A world of one has no other: always ValueError."""
    _check(group, dst, group_dst, tensor=tensor)
    raise _to_itself("destination")


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Takes a tensor from another process. A world of one has no other: always ValueError."""
    _check(group, src, group_src, tensor=tensor)
    raise _to_itself("source")


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: object = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work:
    """``send`` without waiting."""
    _check(group, dst, group_dst, tensor=tensor)
    raise _to_itself("destination")


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: object = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work:
    """``recv`` without waiting."""
    _check(group, src, group_src, tensor=tensor)
    raise _to_itself("source")


def _to_itself(end: str) -> ValueError:
    return ValueError(f"Invalid {end} rank: {end} rank should not be the same as the rank of the current process.")


def reduce_scatter_tensor(
    output: Tensor, input: Tensor, op: object = ReduceOp.SUM, group: object = None, async_op: bool = False
) -> Work | None:
    """Makes one tensor of all processes', and gives each process its part."""
    _check(group, output=output, input=input)
    _copy(output, input.reshape(output.shape))
    return _done(async_op)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: object = None,
    async_op: bool = False,
) -> Work | None:
    """Sends each process its part of a tensor."""
    _check(group, output=output, input=input)
    _copy(output, input.reshape(output.shape))
    return _done(async_op)


_all_gather_base, _reduce_scatter_base = all_gather_into_tensor, reduce_scatter_tensor  # their former names
reduce_op = ReduceOp  # its former name


def get_process_group_ranks(group: object = None) -> list[int]:
    """The numbers of a group's processes."""
    _group(group)
    return [0]


def get_global_rank(group: Any, group_rank: int) -> int:
    """The number in the world of a process with this number in a group."""
    _group(group)
    if group_rank != 0:
        raise ValueError(f"Group rank {group_rank} is not part of group {group}")
    return 0


class Backend(str):
    """The name of what processes exchange tensors with, in small letters.

    >>> torch.distributed.Backend("GLOO")
    'gloo'
    """

    UNDEFINED, GLOO, NCCL, UCC, MPI, XCCL, FAKE = "undefined", "gloo", "nccl", "ucc", "mpi", "xccl", "fake"
    backend_list = [UNDEFINED, GLOO, NCCL, XCCL, UCC, MPI, FAKE]
    default_device_backend_map = {"cpu": GLOO, "cuda": NCCL, "xpu": XCCL, "mps": GLOO, "hpu": FAKE}

    def __new__(cls, name: str) -> Backend:
        if not isinstance(name, str):
            raise ValueError("Backend constructor parameter must be string-ish")
        return str.__new__(cls, name.lower())


def get_default_backend_for_device(device: Any) -> str:
    """The name of PyTorch's usual backend for a kind of device."""
    kind = device.partition(":")[0] if isinstance(device, str) else device.type
    found = Backend.default_device_backend_map.get(kind)
    if not found:
        raise ValueError(f"Default backend not registered for device : {device}")
    return found


class DistError(RuntimeError):
    """What goes wrong between processes."""


class DistStoreError(DistError):
    """What goes wrong with the store that processes meet at."""


class DistNetworkError(DistError):
    """What goes wrong in the network."""


class DistBackendError(DistError):
    """What goes wrong in a backend."""
