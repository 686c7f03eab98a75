"""torch.distributed.rendezvous: finds the store at which processes meet, by an address, a file or the environment."""

from __future__ import annotations

import os
from collections.abc import Iterator
from datetime import timedelta
from urllib.parse import parse_qs, urlparse

from ._stores import FileStore, PrefixStore, Store, TCPStore
from .constants import default_pg_timeout

__all__ = ["rendezvous"]


def rendezvous(
    url: str,
    rank: int = -1,
    world_size: int = -1,
    timeout: timedelta = default_pg_timeout,
    use_libuv: bool | None = None,
) -> Iterator[tuple[Store, int, int]]:
    """Yields the store of an address, the number of this process, and the number of processes.

    Args:
        url: ``env://``, ``tcp://host:port`` or ``file:///path``; rank and world_size may follow after a question mark.
        rank, world_size: needed if neither the address nor the environment has them.

    Raises:
        RuntimeError: the address has another scheme. ValueError: the rank, the number of processes or the port is missing.
    """
    parts = urlparse(url)
    query = {key: int(values[0]) for key, values in parse_qs(parts.query).items() if key in ("rank", "world_size")}
    rank, world_size = query.get("rank", rank), query.get("world_size", world_size)
    if parts.scheme == "env":
        rank = _number("RANK") if rank == -1 else rank
        world_size = _number("WORLD_SIZE") if world_size == -1 else world_size
        yield _from_environment(rank, world_size, timeout), rank, world_size
    elif parts.scheme == "tcp":
        _require("tcp", rank=rank, world_size=world_size, port=-1 if parts.port is None else parts.port)
        yield _tcp_store(parts.hostname or "127.0.0.1", parts.port or 0, rank, world_size, timeout), rank, world_size
    elif parts.scheme == "file":
        _require("file", path=parts.path or -1, rank=rank, world_size=world_size)
        store = FileStore(parts.path, world_size)
        store.set_timeout(timeout)
        yield store, rank, world_size
    else:
        raise RuntimeError(f"No rendezvous handler for {parts.scheme}://")


def _require(scheme: str, **values: int | str) -> None:
    for name, value in values.items():
        if value == -1:
            problem = {"port": "port number missing", "path": "path missing"}.get(name, f"{name} parameter missing")
            if name == "world_size":
                problem = "world size parameter missing"
            raise ValueError(f"Error initializing torch.distributed using {scheme}:// rendezvous: {problem}")


def _text(name: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise ValueError(
            f"Error initializing torch.distributed using env:// rendezvous: environment variable {name} expected, but not set"
        )
    return value


def _number(name: str) -> int:
    return int(_text(name))


def _from_environment(rank: int, world_size: int, timeout: timedelta) -> Store:
    host, port = _text("MASTER_ADDR"), _number("MASTER_PORT")
    if os.environ.get("TORCHELASTIC_USE_AGENT_STORE") == "True":  # the launcher is the server
        attempt = os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")
        store = TCPStore(host, port, world_size, False, timeout, wait_for_workers=False)
        return PrefixStore(f"/worker/attempt_{attempt}", store)
    return _tcp_store(host, port, rank, world_size, timeout)


def _tcp_store(host: str, port: int, rank: int, world_size: int, timeout: timedelta) -> Store:
    return TCPStore(host, port, world_size, rank == 0, timeout, wait_for_workers=False, multi_tenant=True)
