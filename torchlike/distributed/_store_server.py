"""The server of a TCPStore: keys and values for all processes, in the messages that PyTorch's store sends and expects.

Each message begins with a byte that names the request. Numbers have 8 bytes in the machine's byte order; texts and values follow their
length. Because the protocol is PyTorch's, a program of torchlike can meet at the store of PyTorch's ``torchrun``.
"""

from __future__ import annotations

import selectors
import socket
import struct
import threading
from collections.abc import Iterator
from enum import IntEnum


class Ask(IntEnum):
    """The first byte of a message."""

    VALIDATE = 0
    SET = 1
    COMPARE_SET = 2
    GET = 3
    ADD = 4
    CHECK = 5
    WAIT = 6
    NUM_KEYS = 7
    DELETE_KEY = 8
    APPEND = 9
    MULTI_GET = 10
    MULTI_SET = 11
    CANCEL_WAIT = 12
    PING = 13


MAGIC = struct.pack("=I", 0x3C85F7CE)
READY, NOT_READY = b"\x00", b"\x01"  # the answers to CHECK
STOP_WAITING, WAIT_CANCELED = b"\x00", b"\x01"  # the answers to WAIT
_NUMBER = struct.Struct("=q")
number_to_bytes = _NUMBER.pack


def text_to_bytes(value: bytes) -> bytes:
    """Returns the bytes that are sent for a text or value."""
    return _NUMBER.pack(len(value)) + value


class _Incomplete(Exception):
    """The rest of a message has not arrived yet."""


class _Reader:
    """Reads the parts of one message from what has arrived."""

    def __init__(self, data: bytearray) -> None:
        self.data, self.at = data, 0

    def take(self, count: int) -> bytes:
        end = self.at + count
        if end > len(self.data):
            raise _Incomplete
        chunk = bytes(self.data[self.at : end])
        self.at = end
        return chunk

    def number(self) -> int:
        return _NUMBER.unpack(self.take(8))[0]

    def text(self) -> bytes:
        return self.take(self.number())

    def texts(self) -> list[bytes]:
        return [self.text() for _ in range(self.number())]


class _Client:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.arrived = bytearray()
        self.waits_for: list[bytes] = []


class Server:
    """Serves on a thread of its own, as long as the process lives or until ``close``."""

    def __init__(self, listener: socket.socket) -> None:
        self.values: dict[bytes, bytes] = {}
        self._listener = listener
        self._clients: dict[socket.socket, _Client] = {}
        self._selector = selectors.DefaultSelector()
        listener.setblocking(False)
        self._selector.register(listener, selectors.EVENT_READ)
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._thread = threading.Thread(target=self._serve, name="torchlike-store", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the thread and all connections."""
        self._wake.close()
        self._thread.join(1.0)

    def _serve(self) -> None:
        while True:
            for key, _ in self._selector.select():
                source = key.fileobj
                if source is self._listener:
                    connection, _ = self._listener.accept()
                    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    self._clients[connection] = _Client(connection)
                    self._selector.register(connection, selectors.EVENT_READ)
                elif source is self._woken:
                    for open_socket in (self._listener, self._woken, *self._clients):
                        open_socket.close()
                    return
                else:
                    self._receive(self._clients[source])  # type: ignore[index]

    def _receive(self, client: _Client) -> None:
        try:
            data = client.connection.recv(1 << 16)
            client.arrived += data
            if data:
                self._answer_all(client)
                return
        except (OSError, ValueError):  # the client has disconnected, or has sent bytes that are no message of a store
            pass
        self._selector.unregister(client.connection)
        del self._clients[client.connection]
        client.connection.close()

    def _answer_all(self, client: _Client) -> None:
        while client.arrived:
            reader = _Reader(client.arrived)
            try:
                for answer in self._answer(Ask(reader.take(1)[0]), reader, client):
                    client.connection.sendall(answer)
            except _Incomplete:
                return
            del client.arrived[: reader.at]

    def _answer(self, ask: Ask, reader: _Reader, client: _Client) -> Iterator[bytes]:
        values = self.values
        if ask is Ask.VALIDATE:
            if reader.take(4) != MAGIC:
                raise ValueError("not a store's client")
        elif ask is Ask.PING:
            yield reader.take(4)
        elif ask is Ask.SET:
            self._set(reader.text(), reader.text())
        elif ask is Ask.APPEND:
            key, value = reader.text(), reader.text()
            self._set(key, values.get(key, b"") + value)
        elif ask is Ask.MULTI_SET:
            for key, value in [(reader.text(), reader.text()) for _ in range(reader.number())]:
                self._set(key, value)
        elif ask is Ask.COMPARE_SET:
            yield text_to_bytes(self._compare_set(reader.text(), reader.text(), reader.text()))
        elif ask is Ask.GET:
            yield text_to_bytes(values.get(reader.text(), b""))
        elif ask is Ask.MULTI_GET:
            for key in reader.texts():
                yield text_to_bytes(values.get(key, b""))
        elif ask is Ask.ADD:
            key, amount = reader.text(), reader.number()
            total = int(values.get(key, b"0")) + amount
            self._set(key, str(total).encode())
            yield number_to_bytes(total)
        elif ask is Ask.CHECK:
            yield READY if all(key in values for key in reader.texts()) else NOT_READY
        elif ask is Ask.WAIT:
            missing = [key for key in reader.texts() if key not in values]
            if missing:
                client.waits_for = missing
            else:
                yield STOP_WAITING
        elif ask is Ask.CANCEL_WAIT:
            if client.waits_for:  # otherwise its answer has been sent
                client.waits_for = []
                yield WAIT_CANCELED
        elif ask is Ask.NUM_KEYS:
            yield number_to_bytes(len(values))
        else:
            yield number_to_bytes(int(values.pop(reader.text(), None) is not None))

    def _compare_set(self, key: bytes, expected: bytes, desired: bytes) -> bytes:
        present = self.values.get(key)
        if present == expected or (present is None and not expected):
            self._set(key, desired)
            return desired
        return expected if present is None else present

    def _set(self, key: bytes, value: bytes) -> None:
        self.values[key] = value
        for client in list(self._clients.values()):
            if key in client.waits_for:
                client.waits_for = [missing_key for missing_key in client.waits_for if missing_key not in self.values]
                if not client.waits_for:
                    client.connection.sendall(STOP_WAITING)
