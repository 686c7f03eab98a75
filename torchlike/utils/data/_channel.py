"""The connection between the program and one worker process: tasks one way, batches the other.

Each worker has a connection of its own, so a worker that is killed at any moment leaves no lock behind that others need. On Linux it is a
pair of sockets that keep messages whole, and what is large lies in memory that both map. Elsewhere it is the standard library's pipes.

The program never waits while it sends: it keeps what does not fit for later. A worker may wait until the program takes a batch.
"""

from __future__ import annotations

import array
import contextlib
import os
import pickle
import queue
import select
import socket
import sys
import weakref
from collections import deque
from collections.abc import Sequence
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from typing import TYPE_CHECKING, Any

from ._memory import Blocks, Layout, Mapped, anonymous_file, mapped, parts_of
from ._packing import packed, unpacked

if TYPE_CHECKING:
    from multiprocessing.queues import Queue
    from multiprocessing.synchronize import Event

__all__ = ["connect"]

CHECK_SECONDS = 5.0  # seconds between a worker's looks whether the program is alive
MAX_MESSAGE = 2**16
# What is smaller lies in the message itself. The rest of a message needs little more.
MAX_INLINE = 2**14
_TOO_MANY_FILES = (
    "Too many open files. Communication with the workers is no longer possible. Please increase the limit using `ulimit -n` in the "
    "shell or change the sharing strategy by calling `torch.multiprocessing.set_sharing_strategy('file_system')` at the beginning of "
    "your code"
)


class Alive:
    """Whether the program that started this process is alive."""

    def __init__(self) -> None:
        self._parent = os.getppid()

    def __call__(self) -> bool:
        program = parent_process()
        return os.getppid() == self._parent and (program is None or program.is_alive())


# ---- sockets and shared memory


def _send(end: socket.socket, data: bytes, file: int | None, flags: int = 0) -> None:
    files = [] if file is None else [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))]
    end.sendmsg([data], files, flags)  # ``socket.send_fds`` ignores the flags before Python 3.13


def _received(end: socket.socket, flags: int = 0) -> tuple[bytes, list[int], int]:
    files = array.array("i")
    data, others, flags, _ = end.recvmsg(MAX_MESSAGE, socket.CMSG_LEN(files.itemsize), flags | socket.MSG_CMSG_CLOEXEC)
    for level, kind, content in others:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            files.frombytes(content[: len(content) - len(content) % files.itemsize])
    return data, list(files), flags


class SocketOfProgram:
    """The program's end. ``waitable``: what to wait for with ``multiprocessing.connection.wait``."""

    def __init__(self, end: socket.socket) -> None:
        self.waitable = end
        self._unsent: deque[tuple[bytes, int | None]] = deque()
        self._blocks = Mapped()
        _ends.add(self)

    def post(self, message: object) -> None:
        """Sends a message to the worker, as soon as there is room for it."""
        body, buffers = packed((message, self._blocks.returned()))
        file = index = None
        if _size(body, buffers) > MAX_INLINE:
            layout = Layout([memoryview(body), *buffers])
            index, file = layout.index, anonymous_file(layout.end)
            layout.lay(mapped(file, layout.end))
            body, buffers = b"", []
        self._unsent.append((pickle.dumps((index, body, _copies(buffers))), file))
        self.flush()

    def flush(self) -> None:
        """Sends what is still unsent and fits."""
        while self._unsent:
            body, file = self._unsent[0]
            try:
                _send(self.waitable, body, file, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return
            except OSError:
                pass  # the worker has ended: whoever waits for its batch is told
            self._unsent.popleft()
            if file is not None:
                os.close(file)

    def collect(self) -> Any:
        """The next message of the worker; None if there is none yet.

        Raises:
            EOFError: the worker has ended.
        """
        self.flush()
        try:
            try:
                data, files, flags = _received(self.waitable, socket.MSG_DONTWAIT)
            except ConnectionResetError:  # the worker left tasks unread: said once, before what it had sent
                data, files, flags = _received(self.waitable, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return None
        except OSError:
            raise EOFError from None
        if flags & socket.MSG_CTRUNC:
            raise RuntimeError(_TOO_MANY_FILES)
        if not data:
            raise EOFError
        lent, body, buffers, dropped = pickle.loads(data)
        self._blocks.forget(dropped)
        if lent is not None:
            number, nbytes, index = lent
            try:
                body, *buffers = self._blocks.parts(number, files[0] if files else None, nbytes, index)
            finally:
                for file in files:
                    os.close(file)
        return unpacked(body, buffers)

    def close(self) -> None:
        """Tells the worker that nothing more is wanted, whoever else has the socket."""
        with contextlib.suppress(OSError):  # the worker has ended
            self.waitable.shutdown(socket.SHUT_RDWR)
        self.forget()

    __del__ = close  # an interrupt may come before anybody else closes it

    def forget(self) -> None:
        """Closes the socket of this process alone."""
        self.waitable.close()
        while self._unsent:
            file = self._unsent.popleft()[1]
            if file is not None:
                os.close(file)


class SocketOfWorker:
    """A worker's end."""

    def __init__(self, end: socket.socket, spare: int) -> None:
        self._end = end
        self._blocks = Blocks(spare)

    def __getstate__(self) -> tuple[socket.socket, int]:
        return self._end, self._blocks._spare

    def __setstate__(self, state: tuple[socket.socket, int]) -> None:
        self.__init__(*state)

    def next(self, alive: Alive) -> Any:
        """The next message of the program.

        Raises:
            EOFError: there will be none.
        """
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        while not poll.poll(CHECK_SECONDS * 1000):
            if not alive():
                raise EOFError
        if self.hung_up():
            raise EOFError
        try:
            data, files, _ = _received(self._end)
        except OSError:
            raise EOFError from None
        if not data:
            raise EOFError
        index, body, buffers = pickle.loads(data)
        if index is not None:
            body, *buffers = parts_of(mapped(files[0], sum(index)), index)
            os.close(files[0])
        message, returned = unpacked(body, buffers)
        self._blocks.give_back(returned)
        return message

    def hung_up(self) -> bool:
        """Whether the program wants nothing more."""
        poll = select.poll()
        poll.register(self._end, 0)
        return any(event & (select.POLLHUP | select.POLLERR) for _, event in poll.poll(0))

    def post(self, message: object) -> None:
        """Sends a message to the program.

        Raises:
            EOFError: the program wants nothing more. Other exceptions: the message cannot be pickled.
        """
        body, buffers = packed(message)
        file = lent = None
        if _size(body, buffers) > MAX_INLINE:
            layout = Layout([memoryview(body), *buffers])
            number, memory, file = self._blocks.take(layout.end)
            layout.lay(memory)
            lent = number, memory.nbytes, layout.index
            body, buffers = b"", []
        data = pickle.dumps((lent, body, _copies(buffers), self._blocks.dropped))
        self._blocks.dropped = []
        try:
            _send(self._end, data, file)
        except ConnectionError:
            raise EOFError from None
        finally:
            if file is not None:
                os.close(file)

    def close(self) -> None:
        self._end.close()

    __del__ = close


# One more buffer takes some bytes more in a message.
_BYTES_FOR_A_BUFFER = 32


def _size(body: bytes, buffers: Sequence[memoryview]) -> int:
    return len(body) + sum(buffer.nbytes + _BYTES_FOR_A_BUFFER for buffer in buffers)


def _copies(buffers: Sequence[memoryview]) -> list[bytearray]:
    return [bytearray(buffer) for buffer in buffers]


_ends: weakref.WeakSet[SocketOfProgram] = weakref.WeakSet()


def _forget_ends() -> None:
    """A process that was forked is not the program of any worker: the ends that it has would keep them waiting for it."""
    for end in list(_ends):
        end.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_ends)


# ---- pipes, where the system has no such sockets


class PipesOfProgram:
    """The program's end: see ``SocketOfProgram``. The queue has a thread that sends, and the pipe brings the batches."""

    def __init__(self, tasks: Queue[bytes | None], results: Connection, done: Event) -> None:
        self.waitable = results
        self._tasks, self._done = tasks, done
        tasks.cancel_join_thread()  # unread tasks must not keep the program from ending

    def post(self, message: object) -> None:
        self._tasks.put(_whole(message))

    def collect(self) -> Any:
        return unpacked(*pickle.loads(self.waitable.recv_bytes())) if self.waitable.poll() else None

    def close(self) -> None:
        self._done.set()
        self._tasks.put(None)
        self._tasks.close()
        self.waitable.close()


class PipesOfWorker:
    """A worker's end: see ``SocketOfWorker``."""

    def __init__(self, tasks: Queue[bytes | None], results: Connection, done: Event) -> None:
        self._tasks, self._results, self._done = tasks, results, done

    def next(self, alive: Alive) -> Any:
        while True:
            try:
                message = self._tasks.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                message = None if not alive() else b""
            if message is None or self.hung_up():
                raise EOFError
            if message:
                return unpacked(*pickle.loads(message))

    def hung_up(self) -> bool:
        return self._done.is_set()

    def post(self, message: object) -> None:
        data = _whole(message)
        try:
            self._results.send_bytes(data)
        except ConnectionError:
            raise EOFError from None

    def close(self) -> None:
        self._results.close()


def _whole(message: object) -> bytes:
    """A message as bytes, arrays included."""
    body, buffers = packed(message)
    return pickle.dumps((body, _copies(buffers)))


def connect(context: BaseContext, spare: int) -> tuple[Any, Any]:
    """The two ends of a new connection, the program's and the worker's. ``spare``: how many free blocks a worker keeps."""
    if sys.platform == "linux":
        here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        return SocketOfProgram(here), SocketOfWorker(there, spare)
    results, sender = context.Pipe(duplex=False)
    tasks, done = context.Queue(), context.Event()
    return PipesOfProgram(tasks, results, done), PipesOfWorker(tasks, sender, done)
