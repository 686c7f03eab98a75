"""Process groups: sets of processes that work together, and how this process joins them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from datetime import timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from ..engine.collective import Answer, Group, wait_for_exchanges
from ..engine.recorder import flush
from ..utils.data.distributed import world as sampler_world
from ._stores import FileStore, HashStore, PrefixStore, Store
from .constants import default_pg_timeout
from .rendezvous import rendezvous

if TYPE_CHECKING:
    from ._connect import World

__all__ = [
    "Backend", "GroupMember", "ProcessGroup", "ReduceOp", "destroy_process_group", "get_backend",
    "get_default_backend_for_device", "get_global_rank", "get_group_rank", "get_node_local_rank", "get_process_group_ranks",
    "get_rank", "get_world_size", "group", "init_process_group", "is_available", "is_backend_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "is_torchelastic_launched", "is_ucc_available",
    "is_xccl_available", "new_group", "new_subgroups", "reduce_op", "split_group",
]  # fmt: skip


class ReduceOp(Enum):
    """The ways to reduce the tensors of several processes to one."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7


ReduceOp.RedOpType = ReduceOp  # pyright: ignore[reportAttributeAccessIssue]  libraries name the members by either
reduce_op = ReduceOp  # its former name


class ProcessGroup:
    """Processes that work together.

    ``ranks`` are the members' numbers in the world, in the order of the group.
    """

    def __init__(
        self,
        backend: str,
        name: str,
        ranks: Sequence[int],
        rank: int,
        store: Store,
        timeout: timedelta,
        world: World | None,
    ) -> None:
        self.backend, self.group_name, self.ranks, self.timeout = backend, name, list(ranks), timeout
        self.store = store
        self.world = world
        self._rank = self.ranks.index(rank)
        self.objects = itertools.count()  # counts the exchanges of objects
        self.engine = None if world is None else Group([world.devices[r] for r in self.ranks], self._ask)

    def rank(self) -> int:
        """This process's number."""
        return self._rank

    def size(self) -> int:
        """The number of processes."""
        return len(self.ranks)

    def name(self) -> str:
        """The name of the backend."""
        return self.backend

    def _ask(self, number: int, program: str, call: str, line: str, timeout: float | None = None) -> Answer:
        assert self.world is not None
        seconds = self.timeout.total_seconds() if timeout is None else timeout
        return self.world.control.ask(self.group_name, number, self.ranks, program, call, line, seconds)

    def global_rank(self, group_rank: int) -> int:
        """A member's number in the world."""
        if not 0 <= group_rank < len(self.ranks):
            raise ValueError(f"Group rank {group_rank} is not part of group {self}")
        return self.ranks[group_rank]

    def number_of(self, rank: int | None, group_rank: int | None, what: str, default: int | None = None) -> int:
        """Returns the number in the group of a process that the caller names by its number in the world or in the group."""
        if group_rank is not None:
            if rank is not None:
                raise ValueError("Can't specify both group_rank and global_rank")
            return self._within(group_rank)
        if rank is None:
            if default is None:
                raise ValueError("Must specify global_rank or group_rank")
            rank = default
        if len(self.ranks) == len(_world_group().ranks):
            return self._within(rank)
        if rank not in self.ranks:
            raise ValueError(f"Global rank {rank} is not part of group {self}")
        return self.ranks.index(rank)

    def _within(self, number: int) -> int:
        if not 0 <= number < len(self.ranks):
            raise ValueError(f"Invalid rank {number}, rank should be in the interval [0, {len(self.ranks) - 1}]")
        return number


class GroupMember:
    """The default group, and the object that stands for a group to which this process does not belong."""

    WORLD: ProcessGroup | None = None
    NON_GROUP_MEMBER: Any = -100


group = GroupMember
on_join: list[Callable[[Store, World], None]] = []  # called when this process joins others
_names = itertools.count()  # numbers in the names of groups, which all processes make in the same order


class Backend(str):
    """The name of a backend, through which processes exchange tensors, in lower case.

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


def is_available() -> bool:
    """Whether there is a distributed package.

    >>> torch.distributed.is_available()
    True
    """
    return True


def is_nccl_available() -> bool:
    """Whether the backend NCCL is available: no, since XLA has its own communication."""
    return False


def is_gloo_available() -> bool:
    """Whether the backend Gloo is available: yes, XLA uses it to exchange arrays on CPUs."""
    return True


def is_mpi_available() -> bool:
    """Whether the backend MPI is available."""
    return False


def is_ucc_available() -> bool:
    """Whether the backend UCC is available."""
    return False


def is_xccl_available() -> bool:
    """Whether the backend XCCL is available."""
    return False


def is_backend_available(backend: str) -> bool:
    """Whether a backend of this name is available."""
    return backend.lower() in ("gloo", "jax")


def is_torchelastic_launched() -> bool:
    """Whether the process was started by a launcher: ``torchrun``, or ``python -m torchlike.distributed.run``."""
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
    store: Store | None = None,
    group_name: str = "",
    pg_options: object = None,
    device_id: object = None,
) -> None:
    """Joins the other processes: all of them are the default group.

    Args:
        backend: any of PyTorch's names, or "jax". All mean the same: XLA exchanges tensors.
        init_method: where processes meet: "env://" (the default: read MASTER_ADDR, MASTER_PORT, RANK and WORLD_SIZE),
            "tcp://host:port" or "file:///path".
        timeout: how long to wait for others, here and in every collective; by default half an hour.
        world_size: the number of processes.
        rank: the number of this process.
        store: where processes meet, instead of ``init_method``.

    Raises:
        ValueError: the group exists already, or an argument is missing. DistNetworkError, DistStoreError: other processes do not
            join in time.

    >>> torch.distributed.init_process_group("gloo", store=torch.distributed.HashStore(), rank=0, world_size=1)
    >>> torch.distributed.get_world_size()
    1
    >>> torch.distributed.destroy_process_group()

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
    """
    if GroupMember.WORLD is not None:
        raise ValueError("trying to initialize the default process group twice!")
    timeout = default_pg_timeout if timeout is None else timeout
    if store is not None and init_method is not None:
        raise AssertionError("Cannot specify both init_method and store.")
    if (
        store is None
        and (init_method is None or not init_method.startswith(("tcp", "file")))
        and world_size == 1
        and rank == 0
    ):
        store = HashStore()  # the world has one process
    if store is None:
        store, rank, world_size = next(rendezvous(init_method or "env://", rank, world_size, timeout))
    elif world_size < 1 or rank < 0:
        raise AssertionError(
            "world_size must be positive if using store"
            if world_size < 1
            else "rank must be non-negative if using store"
        )
    if not 0 <= rank < world_size:
        raise ValueError(f"Invalid rank {rank}, rank should be in the interval [0, {world_size - 1}]")
    name = (backend or "gloo").lower()
    group_store = PrefixStore(f"group{next(_names)}", store)
    flush()
    from ._connect import join  # imported here, because it starts processes and threads

    connection = join(group_store, rank, world_size) if world_size > 1 else None
    if connection is not None:
        for opened in on_join:
            opened(group_store, connection)
    GroupMember.WORLD = ProcessGroup(
        name, f"world{group_store._prefix}", range(world_size), rank, group_store, timeout, connection
    )


def _world_group() -> ProcessGroup:
    if GroupMember.WORLD is None:
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")
    return GroupMember.WORLD


def group_of(group: object = None) -> ProcessGroup:
    """The group that was passed to a function, or the default group if it was None."""
    world = _world_group()
    if group is None:
        return world
    if not isinstance(group, ProcessGroup):
        raise ValueError("Invalid process group specified" if group != GroupMember.NON_GROUP_MEMBER else _NOT_IN_GROUP)
    return group


_NOT_IN_GROUP = "this process is not part of the given group"


def destroy_process_group(group: ProcessGroup | None = None) -> None:
    """Removes the default group with all others, or one group that ``new_group`` made. Recorded operations run first."""
    destroyed = group_of(group)
    flush()
    wait_for_exchanges()
    if destroyed is GroupMember.WORLD:
        GroupMember.WORLD = None
        underlying = destroyed.store
        while isinstance(underlying, PrefixStore):
            underlying = underlying.underlying_store
        if isinstance(underlying, FileStore):
            underlying.close()


def new_group(
    ranks: Sequence[int] | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    use_local_synchronization: bool = False,
    group_desc: str | None = None,
    device_id: object = None,
) -> ProcessGroup:
    """A group of some of the processes. All processes call it; processes outside the group get ``GroupMember.NON_GROUP_MEMBER``.

    Args:
        ranks: their numbers; by default all.

    Raises:
        ValueError: a rank is not in the world.
    """
    world = _world_group()
    # PyTorch sorts them too: the order of the list does not decide the ranks in the group.
    members = list(range(world.size())) if ranks is None else sorted(ranks)
    if len(set(members)) != len(members):
        raise ValueError(f"ranks list must not contain duplicate entries, got {members}")
    for rank in members:
        if not 0 <= rank < world.size():
            raise ValueError(
                f"Rank {rank} is out of range. Valid ranks are 0 to {world.size() - 1} (world_size={world.size()})"
            )
    # Also in processes outside the group, so that later groups have the same names everywhere.
    number = next(_names)
    if world.rank() not in members:
        return GroupMember.NON_GROUP_MEMBER
    name = f"group{number}" if not use_local_synchronization else "group" + "_".join(map(str, members))
    return ProcessGroup(
        backend or world.backend,
        name,
        members,
        world.rank(),
        PrefixStore(name, world.store),
        timeout or world.timeout,
        world.world,
    )


def new_subgroups(
    group_size: int | None = None,
    group: ProcessGroup | None = None,
    timeout: timedelta | None = None,
    backend: str | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> tuple[ProcessGroup, list[ProcessGroup]]:
    """Divides the processes into groups of ``group_size`` neighbours. Returns the group of this process, and all groups.

    Raises:
        ValueError: the number of processes is not a multiple of the size.
    """
    world = group_of(group)
    size = int(os.environ.get("LOCAL_WORLD_SIZE", world.size())) if group_size is None else group_size
    if size <= 0:
        raise ValueError(f"The arg 'group_size' ({size}) must be positive")
    if world.size() % size:
        raise ValueError(f"The world size ({world.size()}) must be divisible by group_size={size}")
    groups = [new_group(world.ranks[first : first + size], timeout, backend) for first in range(0, world.size(), size)]
    return groups[world.rank() // size], groups


def split_group(
    parent_pg: ProcessGroup | None = None,
    split_ranks: Sequence[Sequence[int]] | None = None,
    timeout: timedelta | None = None,
    pg_options: object = None,
    group_desc: str | None = None,
) -> ProcessGroup | None:
    """Splits a group into several, given as lists of numbers in the parent. Returns the group of this process, or None."""
    if not split_ranks:
        raise ValueError("split_ranks cannot be None or empty")
    parent = group_of(parent_pg)
    own_group = None
    for ranks in split_ranks:
        group = new_group([parent.ranks[rank] for rank in ranks], timeout)
        own_group = group if isinstance(group, ProcessGroup) else own_group
    return own_group


def _given_group(group: object) -> ProcessGroup | None:
    world = _world_group()
    if group is None:
        return world
    return group if isinstance(group, ProcessGroup) else None


def get_rank(group: ProcessGroup | None = None) -> int:
    """This process's rank in a group; -1 if it is not in it."""
    given_group = _given_group(group)
    return -1 if given_group is None else given_group.rank()


def get_world_size(group: object = None) -> int:
    """The number of processes in a group; -1 if this process is not in it."""
    given_group = _given_group(group)
    return -1 if given_group is None else given_group.size()


# The module of the samplers is in a lower layer and cannot import this one.
sampler_world.size, sampler_world.rank, sampler_world.joined = get_world_size, get_rank, is_initialized


def get_node_local_rank(fallback_rank: int | None = None) -> int:
    """Returns this process's number on its machine, which the launcher sets in the environment.

    Raises:
        RuntimeError: the environment does not have it, and ``fallback_rank`` is None.
    """
    if "LOCAL_RANK" in os.environ:
        return int(os.environ["LOCAL_RANK"])
    if fallback_rank is not None:
        return int(fallback_rank)
    raise RuntimeError(
        "LOCAL_RANK is not in the environment. Consider passing fallback_rank to allow `get_node_local_rank` to work"
    )


def get_backend(group: ProcessGroup | None = None) -> Backend:
    """The name that the group was made with."""
    return Backend(group_of(group).backend)


def get_process_group_ranks(group: ProcessGroup | None = None) -> list[int]:
    """The numbers of a group's processes."""
    return list(group_of(group).ranks)


def get_global_rank(group: ProcessGroup | None, group_rank: int) -> int:
    """The number in the world of a process with this number in a group."""
    return group_of(group).global_rank(group_rank)


def get_group_rank(group: ProcessGroup | None, global_rank: int) -> int:
    """The number in a group of a process with this number in the world."""
    group_asked = group_of(group)
    if global_rank not in group_asked.ranks:
        raise ValueError(f"Global rank {global_rank} is not part of group {group_asked}")
    return group_asked.ranks.index(global_rank)


def get_default_backend_for_device(device: Any) -> str:
    """The name of PyTorch's usual backend for a kind of device."""
    kind = device.partition(":")[0] if isinstance(device, str) else device.type
    backend = Backend.default_device_backend_map.get(kind)
    if not backend:
        raise ValueError(f"Default backend not registered for device : {device}")
    return backend
