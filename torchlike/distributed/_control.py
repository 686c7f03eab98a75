"""This process's connections to the hub. The process asks the hub before each collective; the hub reports ranks that have failed."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from types import TracebackType
from typing import TypeAlias

from ..engine.collective import Answer, wait_for_exchanges
from ..engine.recorder import finish_all
from ._hub import notice_loss
from .errors import DistBackendError

Message: TypeAlias = dict[str, object]

# How many seconds after the failure of another rank this process is ended if it has raised no error for it by then.
GRACE_SECONDS = 4.0
# How many seconds after a request's own timeout the hub has to answer, which then says who is missing.
ANSWER_SECONDS = 5.0
HUB = os.path.join(os.path.dirname(__file__), "_hub.py")


def start_hub(size: int) -> tuple[int, int]:
    """Starts the hub's process, and returns the ports of the hub and of JAX's service."""
    # XLA reads its flags when jaxlib is loaded. Those of the user are for the ranks.
    environment = {k: v for k, v in os.environ.items() if k not in ("XLA_FLAGS", "PYTHONSTARTUP")}
    process = subprocess.Popen(
        # -P keeps the folder of ``_hub.py`` off the path: the files there are no top-level modules.
        [sys.executable, "-P", HUB, str(size)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=environment,
        start_new_session=True,  # Ctrl-C ends the ranks, and they end the hub
        text=True,
    )
    assert process.stdout is not None
    with process.stdout as output:
        line = output.readline()
    if not line:
        raise DistBackendError("the process that the ranks talk to could not be started")
    process.returncode = 0  # no rank waits for the hub to end, because it lives as long as any rank
    hub_port, service_port = map(int, line.split())
    return hub_port, service_port


class Control:
    """The connections of this rank to the hub, for the life of the process."""

    def __init__(self, host: str, port: int, rank: int) -> None:
        self.rank, self._host = rank, host
        self.failure: str | None = None  # the failure of another rank, as the hub described it
        self.raised = False  # whether this rank has raised an error for it
        self.changed = threading.Condition()
        self._lock = threading.Lock()
        self._count = 0
        self._arrived = b""
        # Two connections: a rank that waits for an answer on one must still hear on the other that a rank has failed.
        self._asks = self._open(host, port, tells=False)
        self._told = self._open(host, port, tells=True)
        self._ended = False
        welcome = threading.Event()
        threading.Thread(target=self._listen, args=(welcome,), name="torchlike-watcher", daemon=True).start()
        # The hub knows this connection by then, so this rank hears of each later failure.
        welcome.wait(30.0)
        atexit.register(self.leave)
        self._hook, sys.excepthook = sys.excepthook, self._excepthook

    def _open(self, host: str, port: int, tells: bool) -> socket.socket:
        connection = socket.create_connection((host, port), 60.0)
        connection.settimeout(None)
        # Each message is a question that another process waits for, so the system must not hold it back to fill a packet.
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        notice_loss(connection)
        self._send(connection, {"kind": "hello", "rank": self.rank, "tells": tells})
        return connection

    def own_host(self) -> str:
        """The address of this machine in the network of the others."""
        return self._asks.getsockname()[0]

    @staticmethod
    def _send(connection: socket.socket, message: Message) -> None:
        connection.sendall(json.dumps(message).encode() + b"\n")

    # ---- requests

    def ask(
        self, group: str, number: int, members: list[int], program: str, call: str, line: str, timeout: float
    ) -> Answer:
        """Waits until all members of the group have reached this collective. Returns whether they run the same program.

        Raises:
            DistBackendError: another rank has failed, calls another collective, or does not reach this one in time.
        """
        with self._lock:
            self.check(call)
            self._count += 1
            message: Message = {
                "kind": "ask", "id": self._count, "group": group, "number": number, "members": members,
                "program": program, "call": call, "line": line, "timeout": timeout,
            }  # fmt: skip
            try:
                self._asks.settimeout(timeout + ANSWER_SECONDS)
                self._send(self._asks, message)
                reply = self._reply(self._count)
            except OSError as error:
                # The system's own TimeoutError, for a lost connection, has a number.
                late = f"timed out after {timeout:g} s: " * (isinstance(error, TimeoutError) and error.errno is None)
                reply = {"answer": "error", "text": self.failure or late + self._lost_hub()}
        if reply["answer"] == "error":
            self.raised = True
            raise DistBackendError(f"[Rank {self.rank}] {call} failed: {reply['text']}")
        return Answer.SAME if reply["answer"] == "same" else Answer.SPLIT

    def _reply(self, number: int) -> Message:
        while True:
            while b"\n" in self._arrived:
                line, self._arrived = self._arrived.split(b"\n", 1)
                reply: Message = json.loads(line)
                if reply["id"] == number:  # replies with other numbers are to requests that were interrupted
                    return reply
            data = self._asks.recv(1 << 16)
            if not data:
                raise ConnectionError
            self._arrived += data

    def check(self, call: str) -> None:
        """Raises ``DistBackendError`` for ``call`` if another rank has failed."""
        if self.failure is not None:
            self.raised = True
            raise DistBackendError(f"[Rank {self.rank}] {call} failed: {self.failure}")

    def _lost_hub(self) -> str:
        return f"the process that the ranks talk to, at {self._host}, does not answer: its machine or the network to it has failed"

    # ---- messages from the hub

    def _listen(self, welcome: threading.Event) -> None:
        buffer = b""
        while True:
            lost = "the process that the ranks talk to has ended"
            try:
                data = self._told.recv(1 << 16)
            except ConnectionResetError:
                data = b""
            except OSError:
                data, lost = b"", self._lost_hub()
            if not data:
                if not self._ended:
                    self._fail(lost)
                return
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                message = json.loads(line)
                if message["kind"] == "welcome":
                    welcome.set()
                # Another rank waits for a collective that this one may have recorded and not run. It runs in another thread, since this one
                # must go on listening for failures.
                elif message["kind"] == "nudge":
                    threading.Thread(target=finish_all, args=("other processes wait for it",), daemon=True).start()
                elif message["kind"] == "failed":
                    self._fail(message["text"])

    def _fail(self, text: str) -> None:
        with self.changed:
            if self.failure is not None:
                return
            self.failure = text
            self.changed.notify_all()
        threading.Thread(target=self._end_soon, daemon=True).start()

    def _end_soon(self) -> None:
        """Ends this process if it has raised no error in time, since it may be waiting for a collective that will never end."""
        time.sleep(GRACE_SECONDS)
        if not self.raised and not self._ended:
            sys.stderr.write(f"torchlike.distributed.DistBackendError: [Rank {self.rank}] {self.failure}\n")
            sys.stderr.flush()
            os._exit(1)

    # ---- the end

    def _excepthook(self, kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        self._hook(kind, error, trace)
        if not self._ended:
            self._ended = True
            with contextlib.suppress(OSError):
                self._send(self._told, {"kind": "raised", "text": f"{kind.__name__}: {error}"[:500]})
            for stream in (sys.stdout, sys.stderr):
                stream.flush()
            code = 1 if not issubclass(kind, KeyboardInterrupt) else 130
            os._exit(code)  # without exit handlers, which would wait for the other ranks

    def leave(self) -> None:
        """Runs what is recorded, and tells the hub that this rank will take part in no further collective."""
        if self._ended:
            return
        try:
            finish_all("the process ends")
            if not self.raised:
                wait_for_exchanges()
        except Exception as error:
            if not self.raised:
                sys.stderr.write(f"{type(error).__name__}: {error}\n")
        self._ended = True
        with contextlib.suppress(OSError):
            self._send(self._told, {"kind": "bye"})
