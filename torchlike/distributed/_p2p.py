"""Tensors sent from one process to another, over a network connection between the two hosts."""

from __future__ import annotations

import pickle
import socket
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from .._core.annotations import DeviceLike
from .._core.tensor import Tensor, from_value
from ..engine.recorder import flush
from ..engine.value import Value
from ._groups import ProcessGroup, group_of, on_join
from ._hub import notice_loss
from ._stores import Store
from ._tensors import check_tensor, write
from ._works import Work
from .errors import DistBackendError

if TYPE_CHECKING:
    from ._control import Control

__all__ = [
    "P2POp", "batch_isend_irecv", "irecv", "isend", "recv", "recv_object_list", "send", "send_object_list",
]  # fmt: skip

Key = tuple[str, int, object]  # group, sender's number in it, tag


class Mailbox:
    """Messages from other processes that have arrived and were not received yet."""

    def __init__(self, store: Store, control: Control) -> None:
        self._store, self._control = store, control
        self._boxes: dict[Key, deque[bytes]] = {}
        self._out: dict[int, socket.socket] = {}
        self._lock = threading.Lock()
        self._listener = socket.create_server(("", 0), backlog=256)
        self._listener.settimeout(None)
        host = control.own_host()
        store.set(f"p2p/{control.rank}", f"{host} {self._listener.getsockname()[1]}")
        threading.Thread(target=self._accept, name="torchlike-mailbox", daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            connection.settimeout(None)
            threading.Thread(target=self._receive, args=(connection,), daemon=True).start()

    def _receive(self, connection: socket.socket) -> None:
        with connection, connection.makefile("rb") as stream:
            while True:
                try:
                    # The ranks of one job trust each other: PyTorch's send_object_list unpickles as well.
                    key, content = pickle.load(stream)
                except (EOFError, OSError, pickle.UnpicklingError):
                    return  # the process has ended, which the hub reports
                with self._control.changed:
                    self._boxes.setdefault(key, deque()).append(content)
                    self._control.changed.notify_all()

    def send(self, group: ProcessGroup, to: int, tag: object, content: bytes) -> None:
        """Sends to a member of a group, by its number there."""
        flush()
        rank = group.global_rank(to)
        call = f"send to rank {rank}"
        self._control.check(call)
        message = pickle.dumps(((group.group_name, group.rank(), tag), content))
        try:
            with self._lock:
                # One connection to each receiver, so that its messages arrive in the order in which they were sent.
                connection = self._out.get(rank)
                if connection is None:
                    host, port = self._store.get(f"p2p/{rank}").decode().split()
                    connection = self._out[rank] = socket.create_connection((host, int(port)), 60.0)
                    connection.settimeout(None)
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    notice_loss(connection)
                connection.sendall(message)
        except OSError as error:
            self._control.check(call)
            raise DistBackendError(f"[Rank {self._control.rank}] {call} failed: {error}") from None

    def take(self, group: ProcessGroup, source: int | None, tag: object, timeout: float | None) -> tuple[int, bytes]:
        """Takes the oldest message of a member, or of any member. Returns the sender's number in the group, and the message."""
        flush()
        seconds = group.timeout.total_seconds() if timeout is None else timeout
        sources = [source] if source is not None else [n for n in range(group.size()) if n != group.rank()]
        keys: list[Key] = [(group.group_name, number, tag) for number in sources]

        def present() -> Key | None:
            return next((key for key in keys if self._boxes.get(key)), None)

        with self._control.changed:
            self._control.changed.wait_for(lambda: present() is not None or self._control.failure is not None, seconds)
            key = present()
            if key is not None:
                content = self._boxes[key].popleft()
                if not self._boxes[key]:
                    del self._boxes[key]
                return key[1], content
        self._control.check("recv")
        raise DistBackendError(
            f"[Rank {self._control.rank}] recv timed out after {seconds:g} s: rank "
            f"{', '.join(str(group.global_rank(n)) for n in sources)} has sent nothing"
        )


_mailboxes: list[Mailbox] = []


def open_mailbox(store: Store, control: Control) -> None:
    """Opens the mailbox to which other processes send."""
    if not _mailboxes:
        _mailboxes.append(Mailbox(store, control))


on_join.append(lambda store, world: open_mailbox(store, world.control))


def mailbox(group: ProcessGroup) -> Mailbox:
    assert group.world is not None
    return _mailboxes[0]


def _peer_rank(group: ProcessGroup, rank: int | None, group_rank: int | None, end: str) -> int:
    number = group.number_of(rank, group_rank, end)
    if number == group.rank():
        raise ValueError(f"Invalid {end} rank: {end} rank should not be the same as the rank of the current process.")
    return number


def send(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> None:
    """Sends a tensor to another process.

    Raises:
        ValueError: the receiver is this process. DistBackendError: the receiver has ended.
    """
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = _peer_rank(process_group, dst, group_dst, "destination")
    mailbox(process_group).send(process_group, number, tag, pickle.dumps(tensor._value().numpy(), protocol=5))


def isend(
    tensor: Tensor,
    dst: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_dst: int | None = None,
) -> Work:
    """``send``, without waiting."""
    # The receiver's thread takes the message out of the connection at any time, so sending never waits for a matching ``recv``.
    send(tensor, dst, group, tag, group_dst)
    return Work(tensor)


def recv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> int:
    """Receives a tensor from another process, or from any, and returns the number of its sender.

    Raises:
        ValueError: the sender is this process. DistBackendError: the sender has ended, or nothing arrives in time.
    """
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = None if src is None and group_src is None else _peer_rank(process_group, src, group_src, "source")
    return _receive(process_group, tensor, number, tag, None)


def irecv(
    tensor: Tensor,
    src: int | None = None,
    group: ProcessGroup | None = None,
    tag: int = 0,
    group_src: int | None = None,
) -> Work:
    """``recv``, which takes place when ``wait()`` of the result is called."""
    process_group = group_of(group)
    check_tensor(tensor, "tensor")
    number = None if src is None and group_src is None else _peer_rank(process_group, src, group_src, "source")

    def finish(timeout: float | None) -> None:
        work._source = _receive(process_group, tensor, number, tag, timeout)

    work = Work(tensor, finish)
    return work


def _receive(group: ProcessGroup, tensor: Tensor, number: int | None, tag: int, timeout: float | None) -> int:
    sender, content = mailbox(group).take(group, number, tag, timeout)
    array: np.ndarray = pickle.loads(content)
    aval = tensor._aval
    if array.dtype != aval.dtype or array.size != tensor.numel():
        raise DistBackendError(
            f"[Rank {group.world.control.rank if group.world else 0}] recv: rank {group.global_rank(sender)} has sent "
            f"{array.dtype}{list(array.shape)}, not {aval.dtype}{list(aval.shape)}"
        )
    write(tensor, from_value(Value.on_host(array.reshape(tensor.shape), aval.placement)))
    return group.global_rank(sender)


def send_object_list(
    object_list: list[object],
    dst: int | None = None,
    group: ProcessGroup | None = None,
    device: DeviceLike | None = None,
    group_dst: int | None = None,
) -> None:
    """Sends objects to another process."""
    process_group = group_of(group)
    mailbox(process_group).send(
        process_group, process_group.number_of(dst, group_dst, "destination"), "objects", pickle.dumps(object_list)
    )


def recv_object_list(
    object_list: list[object],
    src: int | None = None,
    group: ProcessGroup | None = None,
    device: DeviceLike | None = None,
    group_src: int | None = None,
) -> int:
    """Receives objects from another process, and returns its number."""
    process_group = group_of(group)
    number = None if src is None and group_src is None else process_group.number_of(src, group_src, "source")
    sender, content = mailbox(process_group).take(process_group, number, "objects", None)
    for place, received in enumerate(pickle.loads(content)):
        object_list[place] = received
    return process_group.global_rank(sender)


class P2POp:
    """One of the operations of ``batch_isend_irecv``.

    Args:
        op: ``isend`` or ``irecv``.
        tensor: the tensor to send, or the one to receive into.
        peer: the other process.
    """

    def __init__(
        self,
        op: Callable[..., Work],
        tensor: Tensor,
        peer: int | None = None,
        group: object = None,
        tag: int = 0,
        group_peer: int | None = None,
    ) -> None:
        if op not in (isend, irecv):
            raise ValueError(
                "Invalid ``op``. Expected ``op`` to be of type ``torch.distributed.isend`` or ``torch.distributed.irecv``."
            )
        self.op, self.tensor, self.group, self.tag = op, check_tensor(tensor, "tensor"), group_of(group), tag
        self.group_peer = self.group.number_of(peer, group_peer, "peer")
        self.peer = self.group.global_rank(self.group_peer)

    def __repr__(self) -> str:
        return (
            f"P2POp({self.op.__name__} pg={self.group.group_name}, peer={self.peer}, tensor={tuple(self.tensor.shape)})"
        )


def batch_isend_irecv(p2p_op_list: list[P2POp]) -> list[Work]:
    """Begins several sends and receives, in any order.

    Raises:
        ValueError: the list is empty, or an element is not a ``P2POp``.
    """
    if not p2p_op_list or not all(isinstance(transfer, P2POp) for transfer in p2p_op_list):
        raise ValueError("Invalid ``p2p_op_list``. Each op is expected to to be of type ``torch.distributed.P2POp``.")
    return [
        transfer.op(transfer.tensor, group=transfer.group, tag=transfer.tag, **_peer(transfer))
        for transfer in p2p_op_list
    ]


def _peer(op: P2POp) -> dict[str, int]:
    return {"group_dst" if op.op is isend else "group_src": op.group_peer}
