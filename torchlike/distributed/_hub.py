"""The hub, a process to which all ranks connect. It compares the programs that they are about to run, and reports ranks that have ended.

Rank 0 starts it as a separate program, which imports nothing of torchlike. So it outlives every rank, rank 0 included. It also runs JAX's
service, which makes the devices of all processes visible, because JAX ends each process whose service disappears.

Messages are lines of JSON. Each rank has two connections: one for its requests and their answers, one for messages from the hub.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import sys
import time
from typing import Any

# Seconds after which a rank for which others wait is told to run its recorded operations, since a collective may be among them.
NUDGE_SECONDS = 1.0
# Seconds after which a hub without connections ends.
ALONE_SECONDS = 300.0
# A connection whose other end says nothing for so long, not even that it is there, is lost: its machine or the network has failed.
QUIET_SECONDS = 30


def notice_loss(connection: socket.socket) -> None:
    """Has the system ask the other end whether it is there, and end the connection if it is not.

    A process that ends closes its connections. A machine that fails, or is cut off, closes nothing.
    """
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    # After half of the time without a word, a question each sixth of it; and what was sent must be received within it.
    for name, value in (
        ("TCP_KEEPIDLE", QUIET_SECONDS // 2), ("TCP_KEEPINTVL", QUIET_SECONDS // 6), ("TCP_KEEPCNT", 3),
        ("TCP_USER_TIMEOUT", 1000 * QUIET_SECONDS),
    ):  # fmt: skip
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("", 0))
        return probe.getsockname()[1]


class Peer:
    """One connection of a rank."""

    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.arrived = b""
        self.rank = -1
        self.tells = False  # whether this connection is for messages from the hub, and not for answers

    def send(self, message: dict[str, object]) -> None:
        with contextlib.suppress(OSError):  # if the rank has ended, the next read from its connection shows it
            self.connection.sendall(json.dumps(message).encode() + b"\n")


class Round:
    """The ranks of a group that have reached the same point and wait for the others."""

    def __init__(self, members: list[int], timeout: float) -> None:
        self.members = members
        self.asked: dict[int, tuple[Peer, dict[str, Any]]] = {}
        self.nudge_at = time.monotonic() + NUDGE_SECONDS
        self.ends_at = time.monotonic() + timeout
        self.timeout = timeout

    def missing(self) -> list[int]:
        return [rank for rank in self.members if rank not in self.asked]

    def reply(self, answer: str, text: str = "") -> None:
        for peer, message in self.asked.values():
            peer.send({"id": message["id"], "answer": answer, "text": text})


def verdict(questions: dict[int, dict[str, object]]) -> tuple[str, str]:
    """Compares the requests of all ranks: the same program, the same collective in different programs, or an error."""
    ranks = sorted(questions)
    first = questions[ranks[0]]
    if all(questions[rank]["program"] == first["program"] for rank in ranks):
        return "same", ""
    # The programs differ, because ranks have recorded other things around the collective. Then each runs the collective by itself.
    if all(questions[rank]["call"] == first["call"] for rank in ranks):
        return "split", ""
    lines = [f"  rank {rank}: {questions[rank]['call']}, called at {questions[rank]['line']}" for rank in ranks]
    return "error", (
        "Detected mismatch between collectives on ranks: at collective number "
        f"{first['number']} of the process group,\n" + "\n".join(lines)
    )


class Hub:
    def __init__(self, size: int) -> None:
        self.size = size
        self.listener = socket.create_server(("", 0), backlog=256)
        self.peers: dict[socket.socket, Peer] = {}
        self.tellers: dict[int, Peer] = {}
        self.rounds: dict[tuple[str, int], Round] = {}
        self.gone: dict[int, str] = {}  # rank: why
        self.failed: dict[int, str] = {}
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)

    def serve(self) -> None:
        alone_since = time.monotonic()
        while True:
            for key, _ in self.selector.select(self._patience()):
                if key.fileobj is self.listener:
                    connection, _ = self.listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    notice_loss(connection)
                    self.peers[connection] = Peer(connection)
                    self.selector.register(connection, selectors.EVENT_READ)
                else:
                    self._receive(self.peers[key.fileobj])  # type: ignore[index]
            self._look_at_clock()
            if self.peers:
                alone_since = time.monotonic()
            elif len(self.gone) == self.size or time.monotonic() > alone_since + ALONE_SECONDS:
                return

    def _patience(self) -> float | None:
        times = [min(round_.nudge_at, round_.ends_at) for round_ in self.rounds.values()]
        if not self.peers:
            times.append(time.monotonic() + 1.0)
        return max(0.0, min(times) - time.monotonic()) if times else None

    def _receive(self, peer: Peer) -> None:
        try:
            data = peer.connection.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        except OSError as error:
            self._lose(
                peer, f"does not answer: its machine, or the network to it, has failed ({error.strerror or error})"
            )
            return
        if not data:
            self._lose(peer, "has ended without a word: its process was killed")
            return
        *lines, peer.arrived = (peer.arrived + data).split(b"\n")
        for line in lines:
            message = json.loads(line)
            getattr(self, "_" + message["kind"])(peer, message)

    def _lose(self, peer: Peer, how: str) -> None:
        self.selector.unregister(peer.connection)
        self.peers.pop(peer.connection).connection.close()
        # Only one of the two connections counts, so that the end of a rank is reported once.
        if peer.tells and peer.rank not in self.gone:
            self._fail(peer.rank, f"rank {peer.rank} {how}")

    def _hello(self, peer: Peer, message: dict[str, Any]) -> None:
        peer.rank, peer.tells = message["rank"], message["tells"]
        if peer.tells:
            self.tellers[peer.rank] = peer
            peer.send({"kind": "welcome"})
            # A rank that connects late would otherwise wait for one that has failed already.
            for rank, text in self.failed.items():
                peer.send({"kind": "failed", "rank": rank, "text": text})

    def _bye(self, peer: Peer, message: dict[str, object]) -> None:
        self.gone[peer.rank] = f"rank {peer.rank} has ended"
        for key, round_ in list(self.rounds.items()):
            self._give_up(key, round_)

    def _raised(self, peer: Peer, message: dict[str, object]) -> None:
        self._fail(peer.rank, f"rank {peer.rank} has raised {message['text']}")

    def _fail(self, rank: int, text: str) -> None:
        self.gone[rank] = self.failed[rank] = text
        for key, round_ in list(self.rounds.items()):
            self._give_up(key, round_)
        for teller in self.tellers.values():
            if teller.rank != rank:
                teller.send({"kind": "failed", "rank": rank, "text": text})

    def _give_up(self, key: tuple[str, int], round_: Round) -> None:
        """Answers the ranks that wait for a rank that has ended."""
        missing_ranks = [rank for rank in round_.missing() if rank in self.gone]
        if missing_ranks:
            round_.reply("error", "; ".join(self.gone[rank] for rank in missing_ranks))
            del self.rounds[key]

    def _ask(self, peer: Peer, message: dict[str, Any]) -> None:
        key = message["group"], message["number"]
        round_ = self.rounds.get(key)
        if round_ is None:
            round_ = self.rounds[key] = Round(message["members"], message["timeout"])
        round_.asked[peer.rank] = peer, message
        if round_.missing():
            self._give_up(key, round_)
            return
        del self.rounds[key]
        round_.reply(*verdict({rank: question for rank, (_, question) in round_.asked.items()}))

    def _look_at_clock(self) -> None:
        now = time.monotonic()
        for key, round_ in list(self.rounds.items()):
            if now >= round_.ends_at:
                here = next(iter(round_.asked.values()))[1]
                late = ", ".join(map(str, round_.missing()))
                round_.reply(
                    "error",
                    f"timed out after {round_.timeout:g} s: rank {late} did not come to {here['call']}, which "
                    f"rank {', '.join(map(str, sorted(round_.asked)))} called at {here['line']}",
                )
                del self.rounds[key]
            elif now >= round_.nudge_at:
                # A rank is told once for each round: it then runs all that it has recorded.
                round_.nudge_at = float("inf")
                for rank in round_.missing():
                    if rank in self.tellers:
                        self.tellers[rank].send({"kind": "nudge"})


def main() -> None:
    size = int(sys.argv[1])
    # jaxlib alone has the service; importing JAX would take much longer.
    from jaxlib import _jax  # pyright: ignore[reportAttributeAccessIssue]

    service_port = free_port()
    service = _jax.get_distributed_runtime_service(
        f"[::]:{service_port}" if socket.has_dualstack_ipv6() else f"0.0.0.0:{service_port}",
        size,
        heartbeat_timeout=10_000_000,  # seconds. Failures are noticed by the connections of the ranks, not by this timeout
        shutdown_timeout=1,
    )
    hub = Hub(size)
    sys.stdout.write(f"{hub.listener.getsockname()[1]} {service_port}\n")
    sys.stdout.flush()
    hub.serve()
    del service
    os._exit(0)


if __name__ == "__main__":
    main()
