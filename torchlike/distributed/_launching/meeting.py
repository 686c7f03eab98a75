"""The launchers of several machines meet: they number the machines, and agree on where processes meet and when they start again."""

from __future__ import annotations

import json
import socket
import time
import uuid
from argparse import Namespace
from contextlib import suppress
from datetime import timedelta
from typing import NamedTuple

from .._stores import PrefixStore, Store, TCPStore
from ..errors import DistError, DistNetworkError, DistStoreError
from .options import DEFAULT_PORT, DEFAULT_PORT_OF_C10D, checked_nodes, config_of

__all__ = ["Attempt", "Meeting"]

# Seconds that a launcher waits for others that have yet to come, in PyTorch too.
STATIC_TIMEOUT, JOIN_TIMEOUT, LAST_CALL = 900.0, 600.0, 30.0
# Seconds that the launcher which serves the store waits for the others to have heard how it ended.
SECONDS_TO_LEAVE = 10.0
POLL_SECONDS = 0.05


class Attempt(NamedTuple):
    """One start of all processes: the number of this machine, and the processes on each machine."""

    number: int
    node: int
    sizes: list[int]
    host: str
    port: int

    @property
    def first_rank(self) -> int:
        """The rank of this machine's first process."""
        return sum(self.sizes[: self.node])


class Meeting:
    """The launchers of a run, as one of them sees them.

    Args:
        options: the launcher's.
        local: the number of processes on this machine.
    """

    def __init__(self, options: Namespace, local: int) -> None:
        self.least, self.most = checked_nodes(str(options.nnodes))
        self.local, self.options = local, options
        self.config = config_of(options.rdzv_conf)
        self.by_arrival = options.rdzv_backend == "c10d"
        default = JOIN_TIMEOUT if self.by_arrival else STATIC_TIMEOUT
        self.timeout = float(self.config.get("join_timeout", self.config.get("timeout", default)))
        self.alone = options.standalone or self.most == 1
        self._served: TCPStore | None = None  # where the processes meet, if this launcher serves it
        self._store: Store | None = None  # where the launchers meet
        if self.alone:
            named = options.rdzv_id != "none" and not options.standalone
            self.run_id = options.rdzv_id if named else str(uuid.uuid4())
            return
        if not self.by_arrival and self.least != self.most:
            raise ValueError(
                "The static rendezvous needs a fixed number of machines: --nnodes N, or --rdzv-backend c10d"
            )
        if not self.by_arrival and not 0 <= options.node_rank < self.most:
            raise ValueError(f"--node-rank must be at least 0 and less than {self.most}, got {options.node_rank}")
        if self.by_arrival and not options.rdzv_endpoint:
            raise ValueError("The rendezvous of several machines needs --rdzv-endpoint HOST:PORT")
        self.run_id = options.rdzv_id
        self._address = self._endpoint()
        self._meet()

    # ---- where launchers meet

    def _endpoint(self) -> tuple[str, int]:
        options = self.options
        default = DEFAULT_PORT_OF_C10D if self.by_arrival else DEFAULT_PORT
        if not options.rdzv_endpoint:
            return options.master_addr, options.master_port or default
        host, colon, port = options.rdzv_endpoint.rpartition(":")
        return (host.strip("[]"), int(port)) if colon and port.isdigit() else (options.rdzv_endpoint, default)

    def _meet(self) -> None:
        """Serves the store where launchers meet if that is this launcher's task, and connects to it."""
        host, port = self._address
        serves = self.options.node_rank == 0 if not self.by_arrival else self._may_serve(host)
        store = None
        if serves:
            try:
                store = TCPStore(host, port, is_master=True, wait_for_workers=False)
                self._served = store if not self.by_arrival else None
            except DistNetworkError:
                if not self.by_arrival or self.config.get("is_host") is not None:
                    raise  # for c10d another launcher on this machine may be the server
        if store is None:
            store = TCPStore(host, port, timeout=timedelta(seconds=self.timeout), wait_for_workers=False)
        self._serves = serves and store._server is not None
        self._own_host = store.own_host()
        self._store = PrefixStore(f"launchers/{self.run_id}", store)

    def _may_serve(self, host: str) -> bool:
        wish = self.config.get("is_host")
        if wish is not None:
            return wish.lower() in ("1", "true", "t", "yes", "y")
        return _is_here(host)

    # ---- attempts

    def begin(self, number: int) -> Attempt:
        """Waits until all launchers are there, and returns this machine's part of the attempt with this number.

        Raises:
            DistStoreError: others did not come in time. RuntimeError: two launchers have one number. NotImplementedError: the run has
                begun without this machine.
        """
        if self._store is None:
            return Attempt(number, 0, [self.local], *self._serve(None))
        node = self.options.node_rank if not self.by_arrival else self._add(number, "arrived") - 1
        if not self.by_arrival and self._add(number, f"taken/{node}") > 1:
            raise RuntimeError(f"two launchers have --node-rank {node}")
        self._set(number, f"node/{node}", json.dumps([self.local]))
        if node == 0:
            self._lead(number)
        count, host, port = json.loads(self._get(number, "world"))
        if node >= count:
            raise NotImplementedError("torchlike does not support machines that join a run that has begun yet")
        sizes = [json.loads(self._get(number, f"node/{each}"))[0] for each in range(count)]
        return Attempt(number, node, sizes, host, port)

    def _lead(self, number: int) -> None:
        """Waits for the other launchers, and says where the processes meet."""
        deadline = time.monotonic() + self.timeout
        last_call: float | None = None
        while True:
            count = self._present(number)
            if count >= self.most:
                break
            now = time.monotonic()
            if count >= self.least:
                last_call = last_call or now + float(self.config.get("last_call_timeout", LAST_CALL))
                if now > last_call:
                    break
            elif now > deadline:
                raise DistStoreError(
                    f"only {count} of {self.least} launchers came to the run {self.run_id!r} in {self.timeout:g} s"
                )
            time.sleep(POLL_SECONDS)
        host, port = self._serve(self._address[0])
        self._set(number, "world", json.dumps([min(count, self.most), host, port]))

    def _present(self, number: int) -> int:
        if self.by_arrival:
            return self._add(number, "arrived", 0)
        assert self._store is not None
        return sum(self._store.check([f"{number}/node/{each}"]) for each in range(self.most))

    def _serve(self, meeting_host: str | None) -> tuple[str, int]:
        """Serves the store at which the processes meet, and returns its address."""
        options = self.options
        if self._served is None:
            port = options.master_port if self.alone and not options.standalone and not self.by_arrival else None
            self._served = TCPStore("127.0.0.1", port or 0, is_master=True, wait_for_workers=False)
        if options.local_addr:
            host = options.local_addr
        elif meeting_host is None:
            host = "localhost" if options.standalone or options.master_addr == "127.0.0.1" else options.master_addr
        else:
            # Not the name of this machine, which the others may not know, or know by an address of another network.
            host = meeting_host if _is_here(meeting_host) or not self.by_arrival else self._own_host
        return host, self._served.port

    # ---- how an attempt ends

    def report(self, number: int, failure: str) -> None:
        """Tells the other launchers that a process of this machine, or its launcher, has failed."""
        if self._store is not None:
            with suppress(
                DistError
            ):  # the launcher that serves the store may have ended, which the others see by themselves
                self._set(number, "failed", failure)

    def failure(self, number: int) -> str | None:
        """What another launcher has reported; None while nothing has failed."""
        if self._store is None:
            return None
        try:
            if self._store.check([f"{number}/failed"]):
                return self._get(number, "failed")
        except DistError as error:
            host, port = self._address
            return f"the launcher at {host}:{port} has ended: {error}"
        return None

    def all_succeeded(self, attempt: Attempt, seconds: float) -> bool:
        """Waits until the processes of all machines have succeeded; False where some have failed."""
        if self._store is None:
            return True
        succeeded = self._add(attempt.number, "succeeded")
        while succeeded < len(attempt.sizes):
            if self.failure(attempt.number) is not None:
                return False
            time.sleep(seconds)
            succeeded = self._add(attempt.number, "succeeded", 0)
        return True

    def leave(self, attempt: Attempt | None) -> None:
        """Called at the end. The launcher that serves a store waits for the others, who may have to read it."""
        if self._store is None or attempt is None:
            return
        with suppress(DistError):  # the launcher that serves the store may have ended
            left = self._add(attempt.number, "left")
            deadline = time.monotonic() + SECONDS_TO_LEAVE
            while self._serves and left < len(attempt.sizes) and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
                left = self._add(attempt.number, "left", 0)

    # ---- the store, one folder for each attempt

    def _set(self, number: int, key: str, value: str) -> None:
        assert self._store is not None
        self._store.set(f"{number}/{key}", value)

    def _get(self, number: int, key: str) -> str:
        assert self._store is not None
        self._store.wait([f"{number}/{key}"], timedelta(seconds=self.timeout))
        return self._store.get(f"{number}/{key}").decode()

    def _add(self, number: int, key: str, amount: int = 1) -> int:
        assert self._store is not None
        return self._store.add(f"{number}/{key}", amount)


def _is_here(host: str) -> bool:
    """Whether this is the name or the address of this machine."""
    if host in ("localhost", socket.gethostname(), socket.getfqdn()):
        return True
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        return False
    for address in addresses:
        family = socket.AF_INET6 if ":" in str(address) else socket.AF_INET
        try:
            with socket.socket(family) as probe:
                probe.bind((address, 0))  # an address of another machine cannot be taken
                return True
        except OSError:
            continue
    return False
