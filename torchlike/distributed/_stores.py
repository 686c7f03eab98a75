"""Stores of keys and values that processes meet at: over TCP, in a file, in one process, or a part of another store."""

from __future__ import annotations

import contextlib
import errno
import os
import pickle
import socket
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from datetime import timedelta

from ._hub import notice_loss
from ._store_server import (
    MAGIC,
    NOT_READY,
    STOP_WAITING,
    Ask,
    Server,
    number_to_bytes,
    text_to_bytes,
)
from .errors import DistNetworkError, DistStoreError

__all__ = ["FileStore", "HashStore", "PrefixStore", "Store", "TCPStore"]

DEFAULT_TIMEOUT = timedelta(seconds=300)
# Seconds between reads of the file while a process waits for a key.
POLL_SECONDS = 0.01


def _bytes(value: str | bytes) -> bytes:
    return value.encode() if isinstance(value, str) else bytes(value)


def _milliseconds(timeout: timedelta) -> int:
    return round(timeout.total_seconds() * 1000)


class Store:
    """Keys and values that several processes see."""

    def __init__(self) -> None:
        self._timeout = DEFAULT_TIMEOUT

    @property
    def timeout(self) -> timedelta:
        """The time for which ``get`` and ``wait`` wait for a key."""
        return self._timeout

    def set_timeout(self, timeout: timedelta) -> None:
        """Sets how long ``get`` and ``wait`` wait for a key."""
        self._timeout = timeout

    def set(self, key: str, value: str | bytes) -> None:
        """Puts a value under a key."""
        raise NotImplementedError

    def get(self, key: str) -> bytes:
        """Waits for a key and returns its value. Raises ``DistStoreError`` if the key is not set in time."""
        raise NotImplementedError

    def add(self, key: str, amount: int) -> int:
        """Adds to the number under a key, which starts at 0, and returns the sum."""
        raise NotImplementedError

    def check(self, keys: Sequence[str]) -> bool:
        """Whether all of the keys are set."""
        raise NotImplementedError

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        """Waits until all of the keys are set. Raises ``DistStoreError`` if that takes too long."""
        raise NotImplementedError

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        """Sets a key if it has the expected value, or if it is not set and ``""`` is expected. Returns the value it has afterwards."""
        raise NotImplementedError

    def delete_key(self, key: str) -> bool:
        """Removes a key, and returns whether it was set."""
        raise NotImplementedError

    def num_keys(self) -> int:
        """The number of keys."""
        raise NotImplementedError

    def append(self, key: str, value: str | bytes) -> None:
        """Appends to the value of a key."""
        raise NotImplementedError

    def multi_get(self, keys: Sequence[str]) -> list[bytes]:
        """Waits for several keys and returns their values."""
        return [self.get(key) for key in keys]

    def multi_set(self, keys: Sequence[str], values: Sequence[str | bytes]) -> None:
        """Puts a value under each key."""
        for key, value in zip(keys, values, strict=True):
            self.set(key, value)

    def has_extended_api(self) -> bool:
        """Whether it has ``append``, ``multi_get`` and ``multi_set``."""
        return True


class _Local(Store):
    """A store whose contents are a dictionary, which ``_open`` provides during one operation."""

    def _open(self) -> contextlib.AbstractContextManager[dict[str, bytes]]:
        raise NotImplementedError

    def _came(self, keys: Sequence[str], timeout: timedelta) -> bool:
        raise NotImplementedError

    def set(self, key: str, value: str | bytes) -> None:
        with self._open() as values:
            values[key] = _bytes(value)

    def get(self, key: str) -> bytes:
        if not self._came([key], self._timeout):
            raise self._late(key, self._timeout)
        with self._open() as values:
            return values[key]

    def _late(self, key: str, timeout: timedelta) -> Exception:
        return DistStoreError("Wait timeout")

    def add(self, key: str, amount: int) -> int:
        with self._open() as values:
            total = int(values.get(key, b"0")) + amount
            values[key] = str(total).encode()
            return total

    def check(self, keys: Sequence[str]) -> bool:
        with self._open() as values:
            return all(key in values for key in keys)

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        if not self._came(keys, self._timeout if timeout is None else timeout):
            raise DistStoreError("Wait timeout")

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        expected, desired = _bytes(expected_value), _bytes(desired_value)
        with self._open() as values:
            present = values.get(key)
            if present == expected or (present is None and not expected):
                values[key] = desired
                return desired
            return expected if present is None else present

    def delete_key(self, key: str) -> bool:
        with self._open() as values:
            return values.pop(key, None) is not None

    def num_keys(self) -> int:
        with self._open() as values:
            return len(values)

    def append(self, key: str, value: str | bytes) -> None:
        with self._open() as values:
            values[key] = values.get(key, b"") + _bytes(value)


class HashStore(_Local):
    """A store in the memory of one process, for its threads.

    >>> store = torch.distributed.HashStore()
    >>> store.set("key", "value")
    >>> store.get("key")
    b'value'
    """

    def __init__(self) -> None:
        super().__init__()
        self._values: dict[str, bytes] = {}
        self._changed = threading.Condition()

    @contextlib.contextmanager
    def _open(self) -> Iterator[dict[str, bytes]]:
        with self._changed:
            yield self._values
            self._changed.notify_all()

    def _came(self, keys: Sequence[str], timeout: timedelta) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: all(key in self._values for key in keys), timeout.total_seconds())


class FileStore(_Local):
    """A store in a file that all processes can open.

    Args:
        file_name: its path; the file is created if it does not exist.
        world_size: the number of processes that use it; the last one removes the file.
    """

    def __init__(self, file_name: str, world_size: int = -1) -> None:
        super().__init__()
        self.path, self._size = str(file_name), world_size
        with self._open() as values:
            # Counts the processes that use the file, so that the last one can remove it.
            values["&users"] = str(int(values.get("&users", b"0")) + 1).encode()

    @contextlib.contextmanager
    def _open(self) -> Iterator[dict[str, bytes]]:
        import fcntl

        with open(self.path, "a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # the lock lasts until the file is closed
            file.seek(0)
            content = file.read()
            before: dict[str, bytes] = pickle.loads(content) if content else {}
            # Compared afterwards, so that a look at the file does not write it.
            values = dict(before)
            yield values
            if values != before:
                file.truncate(0)
                file.write(pickle.dumps(values))

    def _came(self, keys: Sequence[str], timeout: timedelta) -> bool:
        end = time.monotonic() + timeout.total_seconds()
        while not self.check(keys):
            if time.monotonic() > end:
                return False
            time.sleep(POLL_SECONDS)
        return True

    def _late(self, key: str, timeout: timedelta) -> Exception:
        return DistStoreError(f"Timeout waiting for key: {key} after {_milliseconds(timeout)} ms")

    def close(self) -> None:
        """Reports that this process has finished. The last process removes the file, if all have opened it."""
        with contextlib.suppress(OSError):
            users = self.add("&users", -1)
            if users == 0 and self._size >= 0:
                os.remove(self.path)


class PrefixStore(Store):
    """A part of another store: its keys have a prefix there."""

    def __init__(self, prefix: str, store: Store) -> None:
        self._prefix, self._store = prefix, store

    @property
    def underlying_store(self) -> Store:
        """The store that this is a part of."""
        return self._store

    @property
    def timeout(self) -> timedelta:
        return self._store.timeout

    def set_timeout(self, timeout: timedelta) -> None:
        self._store.set_timeout(timeout)

    def _key(self, key: str) -> str:
        return f"{self._prefix}/{key}"

    def set(self, key: str, value: str | bytes) -> None:
        self._store.set(self._key(key), value)

    def get(self, key: str) -> bytes:
        return self._store.get(self._key(key))

    def add(self, key: str, amount: int) -> int:
        return self._store.add(self._key(key), amount)

    def check(self, keys: Sequence[str]) -> bool:
        return self._store.check([self._key(key) for key in keys])

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        self._store.wait([self._key(key) for key in keys], timeout)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        return self._store.compare_set(self._key(key), expected_value, desired_value)

    def delete_key(self, key: str) -> bool:
        return self._store.delete_key(self._key(key))

    def num_keys(self) -> int:
        return self._store.num_keys()

    def append(self, key: str, value: str | bytes) -> None:
        self._store.append(self._key(key), value)


class TCPStore(Store):
    """A store that one process serves to all others. Its protocol is PyTorch's.

    Args:
        host_name: where the server is, or is to be.
        port: its port; 0 chooses a free one, which the attribute ``port`` then holds.
        world_size: the number of processes; if it is given, the server waits until all have connected.
        is_master: whether this process is the server.
        timeout: how long to wait, here and in ``get`` and ``wait``.
        wait_for_workers: whether to wait for all processes.
        multi_tenant: use the server that this process already has on the port, if there is one.

    Raises:
        DistNetworkError: there is no server at the address, or the port is taken. DistStoreError: not all processes have connected in time.

    >>> store = torch.distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    >>> store.add("number", 2)
    2

    Source: https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.TCPStore
    """

    def __init__(
        self,
        host_name: str,
        port: int,
        world_size: int | None = None,
        is_master: bool = False,
        timeout: timedelta = DEFAULT_TIMEOUT,
        wait_for_workers: bool = True,
        multi_tenant: bool = False,
        master_listen_fd: int | None = None,
        use_libuv: bool = True,
    ) -> None:
        super().__init__()
        self.host, self._timeout, self.libuvBackend = host_name, timeout, use_libuv
        self._lock = threading.Lock()
        self._server: Server | None = None
        if is_master:
            self._server, port = _serve(port, multi_tenant, master_listen_fd)
        self.port = port
        self._connection = self._connect("127.0.0.1" if is_master else host_name)
        self._ask(Ask.VALIDATE, MAGIC)
        self._ask(Ask.PING, MAGIC)
        if self._take(4) != MAGIC:
            raise DistNetworkError(f"{host_name}:{port} is not a store")
        if world_size is not None and world_size > 0 and wait_for_workers:
            self._wait_for_workers(world_size, is_master)

    def __repr__(self) -> str:
        return f"TCPStore(host={self.host}, port={self.port}, server={self._server is not None})"

    def clone(self) -> TCPStore:
        """Another connection to the same server."""
        return TCPStore(self.host, self.port, None, False, self._timeout, False)

    def _connect(self, host: str) -> socket.socket:
        end = time.monotonic() + self._timeout.total_seconds()
        while True:
            try:
                connection = socket.create_connection((host, self.port), max(end - time.monotonic(), 0.1))
            except OSError:
                if time.monotonic() > end - 0.05:
                    raise DistNetworkError(
                        f"The client socket has timed out after {_milliseconds(self._timeout)}ms while trying to connect to "
                        f"({host}, {self.port})."
                    ) from None
                time.sleep(0.05)
                continue
            connection.settimeout(None)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            notice_loss(connection)
            return connection

    def own_host(self) -> str:
        """The address of this machine in the network in which the server is."""
        return str(self._connection.getsockname()[0])

    def _wait_for_workers(self, count: int, is_master: bool) -> None:
        present = self.add("init/", 1)
        if not is_master:
            return
        end = time.monotonic() + self._timeout.total_seconds()
        while present < count:
            if time.monotonic() > end:
                raise DistStoreError(
                    f"Timed out after {round(self._timeout.total_seconds())} seconds waiting for clients. "
                    f"{present}/{count} clients joined."
                )
            time.sleep(POLL_SECONDS)
            present = self.add("init/", 0)

    # ---- messages

    def _ask(self, ask: Ask, *parts: bytes) -> None:
        try:
            self._connection.sendall(bytes([ask]) + b"".join(parts))
        except OSError as error:
            raise DistNetworkError(f"failed to send to the store at {self.host}:{self.port}: {error}") from None

    def _take(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                chunk = self._connection.recv(count - len(data))
            except OSError as error:
                if isinstance(error, TimeoutError) and error.errno is None:
                    raise  # the timeout of the request; the system's own, for a lost connection, has a number
                raise DistNetworkError(f"failed to recv from the store: {error}") from None
            if not chunk:
                raise DistNetworkError(
                    f"failed to recv, got 0 bytes: the server of the store at {self.host}:{self.port} has ended"
                )
            data += chunk
        return data

    def _number(self) -> int:
        return int.from_bytes(self._take(8), _ORDER, signed=True)

    def _text(self) -> bytes:
        return self._take(self._number())

    def _wait(self, keys: Sequence[str], timeout: timedelta) -> None:
        """The caller holds the lock."""
        self._ask(Ask.WAIT, number_to_bytes(len(keys)), *map(_key, keys))
        self._connection.settimeout(max(timeout.total_seconds(), 0.001))
        try:
            answer = self._take(1)
        except TimeoutError:
            self._connection.settimeout(None)
            self._ask(Ask.CANCEL_WAIT)
            answer = self._take(1)
        finally:
            self._connection.settimeout(None)
        if answer != STOP_WAITING:
            names = ", ".join(f"/{key}" for key in keys)
            raise DistStoreError(f"wait timeout after {_milliseconds(timeout)}ms, keys: {names}")

    # ---- operations

    def set(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._ask(Ask.SET, _key(key), text_to_bytes(_bytes(value)))

    def get(self, key: str) -> bytes:
        with self._lock:
            self._wait([key], self._timeout)
            self._ask(Ask.GET, _key(key))
            return self._text()

    def add(self, key: str, amount: int) -> int:
        with self._lock:
            self._ask(Ask.ADD, _key(key), number_to_bytes(amount))
            return self._number()

    def check(self, keys: Sequence[str]) -> bool:
        with self._lock:
            self._ask(Ask.CHECK, number_to_bytes(len(keys)), *map(_key, keys))
            return self._take(1) != NOT_READY

    def wait(self, keys: Sequence[str], timeout: timedelta | None = None) -> None:
        with self._lock:
            self._wait(keys, self._timeout if timeout is None else timeout)

    def compare_set(self, key: str, expected_value: str, desired_value: str) -> bytes:
        with self._lock:
            values = text_to_bytes(_bytes(expected_value)) + text_to_bytes(_bytes(desired_value))
            self._ask(Ask.COMPARE_SET, _key(key), values)
            return self._text()

    def delete_key(self, key: str) -> bool:
        with self._lock:
            self._ask(Ask.DELETE_KEY, _key(key))
            return self._number() > 0

    def num_keys(self) -> int:
        with self._lock:
            self._ask(Ask.NUM_KEYS)
            return self._number()

    def append(self, key: str, value: str | bytes) -> None:
        with self._lock:
            self._ask(Ask.APPEND, _key(key), text_to_bytes(_bytes(value)))

    def __del__(self) -> None:
        if (connection := getattr(self, "_connection", None)) is not None:
            connection.close()

    def close(self) -> None:
        """Closes the connection. A server of this process keeps running."""
        self._connection.close()


_ORDER = sys.byteorder
_servers: dict[int, Server] = {}  # the servers of this process, by port; they run until it ends


def _key(key: str) -> bytes:
    return text_to_bytes(b"/" + key.encode())


def _serve(port: int, multi_tenant: bool, descriptor: int | None) -> tuple[Server, int]:
    if multi_tenant and port in _servers:
        return _servers[port], port
    try:
        listener = socket.socket(fileno=descriptor) if descriptor is not None else _listen(port)
    except OSError as error:
        raise DistNetworkError(
            "The server socket has failed to listen on any local network address. "
            f"port: {port}, useIpv6: false, code: -{error.errno}, name: {errno.errorcode.get(error.errno or 0)}, "
            f"message: {os.strerror(error.errno or 0).lower()}"
        ) from None
    number: int = listener.getsockname()[1]
    server = _servers[number] = Server(listener)
    return server, number


def _listen(port: int) -> socket.socket:
    if socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True, backlog=512)
    return socket.create_server(("", port), backlog=512)
