"""Traces kept on disk, so that the next process need not run an operation's function once more to know what it computes.

All of them lie in one file. Its name says for which code they hold: this package's files, the versions of what is below it, the
processor, and the environment variables of JAX, XLA and torchlike. So a trace never goes out of date. An entry's key is everything that
the trace depends on besides: see ``interpreter/traces/kept.py``.
"""

from __future__ import annotations

import atexit
import contextlib
import hashlib
import importlib.util
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import jax
import ml_dtypes
import numpy as np

from ..jax_settings import in_a_trace, settings_are, settings_now
from ..onednn.library import path_of_library
from ..threads import held_by_forks
from .coded import PACKAGE, NotKept, key_bytes
from .programs import MAGIC, Folder, folder, head_of, surroundings

# A file of more than this loses what was used longest ago when it is written next. An op's trace takes one to three thousand bytes.
MAX_BYTES = 8 << 20
_DIGEST = 16  # bytes of a key
# So many traces wait at most to be written down. Each holds some kilobytes.
MAX_WAITING = 300
_PREFIXES = ("JAX_", "TORCHLIKE_", "XLA_")
# The same under these: where things are kept, and when something is compiled, changes no trace.
_WITHOUT_EFFECT = frozenset(("TORCHLIKE_CACHE_DIR", "TORCHLIKE_COMPILE"))

# What ops mean in this process, where that differs from the meaning at its start: a part of each key.
settings: dict[str, str] = {}


class Place:
    """Where a trace is kept: what it depends on, and the key by which it is found, computed when it is needed."""

    __slots__ = ("_parts", "_key")

    def __init__(self, parts: tuple[object, ...]) -> None:
        self._parts: tuple[object, ...] = (parts, *sorted(settings.items())) if settings else (parts,)
        self._key = b""

    def key(self) -> bytes:
        """The key.

        Raises:
            NotKept: something in it has no form that means the same in the next process.
        """
        if not self._key:
            self._key = hashlib.blake2b(key_bytes(self._parts), digest_size=_DIGEST).digest()
        return self._key


class Store:
    """The file of traces: read at the first question, and written again at the end of a process that has found out more."""

    def __init__(self) -> None:
        self._lock = held_by_forks(threading.RLock())
        self.close()

    def close(self) -> None:
        """Forgets what was read and what is to be written: the folder is another one now, say."""
        self._process = os.getpid()
        self._path: Path | None = None
        self._options: tuple[object, ...] = ()  # JAX's when the file was read
        self._known: dict[bytes, memoryview] | None = None  # None: not read yet
        self._used: dict[bytes, None] = {}
        self._new: dict[bytes, bytes] = {}
        # What is to be kept, as it was made. It is written down later, since a program waits for its first steps.
        self._waiting: list[tuple[Place, Callable[[], bytes]]] = []

    def place(self, *parts: object) -> Place | None:
        """The place of what depends on these, and on nothing else. None where nothing is kept.

        So it is while JAX has other options than at the beginning: they are no part of a key.
        """
        if self._known is None:
            if in_a_trace():  # which has options of its own
                return None
            with self._lock:
                self._known = self._read()
        return Place(parts) if self._path is not None and settings_are(self._options) else None

    def find(self, place: Place) -> memoryview | None:
        """What lies there, as bytes; None where nothing does."""
        if not self._known:
            return None
        try:
            key = place.key()
        except NotKept:
            return None
        found = self._known.get(key)
        if found is not None:
            self._used[key] = None
        return found

    def keep(self, place: Place, content: Callable[[], bytes]) -> None:
        """Keeps there what the function returns. If it raises ``NotKept``, nothing."""
        self._waiting.append((place, content))
        if len(self._waiting) >= MAX_WAITING:
            self._write_down()

    def _write_down(self) -> None:
        waiting, self._waiting = self._waiting, []
        for place, content in waiting:
            with contextlib.suppress(NotKept):
                self._new[place.key()] = content()

    def _read(self) -> dict[bytes, memoryview]:
        path = folder()
        if path is None:
            return {}
        self._path, self._options = path / f"{_code()}.traces", settings_now()
        return _entries(self._path)

    def write(self) -> None:
        """Writes what this process has found out, beside what others have written meanwhile."""
        if self._path is None or os.getpid() != self._process:  # a child that was forked leaves it to its parent
            return
        with self._lock:
            self._write_down()
            if not self._new:
                return
            known = {**_entries(self._path), **self._new}
            # Used now, used before. Where there are too many, the last ones go.
            parts, total = [], 0
            for key in {**self._new, **self._used, **known}:
                content = known.get(key)
                if content is not None:
                    total += _DIGEST + 4 + len(content)
                    if total > MAX_BYTES:
                        break
                    parts += key, len(content).to_bytes(4, "little"), content
            body = b"".join(parts)
            with contextlib.suppress(OSError), Folder(self._path.parent) as opened:
                opened.put(self._path.name, head_of(self._path.name, body) + body)
            self._new = {}


store = Store()
atexit.register(store.write)


def _entries(path: Path) -> dict[bytes, memoryview]:
    """What lies in a file of traces, by key; nothing where the file is missing or damaged."""
    try:
        with Folder(path.parent) as opened, opened.entry(path.name) as file:
            content = file.read()
    except OSError:
        return {}
    start = len(MAGIC) + 32
    if content[:start] != head_of(path.name, content[start:]):
        return {}
    found, view = dict[bytes, memoryview](), memoryview(content)
    while start < len(content):
        begin = start + _DIGEST + 4
        end = begin + int.from_bytes(content[begin - 4 : begin], "little")
        found[content[start : begin - 4]] = view[begin:end]
        start = end
    return found


def _code() -> str:
    """A digest of the code that makes traces, and of what it may look at.

    Of this package it is every file's size and date, by which Python as well decides whether a file is still the one that it compiled. Of
    others it is the version. An operation may ask whether oneDNN is there.
    """
    files: list[str] = []
    _note_files(PACKAGE, files)
    files.sort()
    optax, onednn = importlib.util.find_spec("optax"), path_of_library()
    versions = [sys.version, np.__version__, ml_dtypes.__version__, _file(optax and optax.origin), _file(onednn)]
    environment = sorted(
        (name, value)
        for name, value in os.environ.items()
        if name.startswith(_PREFIXES) and name not in _WITHOUT_EFFECT
    )
    options = sorted((name, repr(value)) for name, value in jax.config.values.items())
    text = repr((PACKAGE, files, versions, environment, options, surroundings()))
    return hashlib.sha256(text.encode()).hexdigest()


def _file(path: str | Path | None) -> str:
    """Path, size and date of a file that changes with the version of what is installed; empty where it is not."""
    if path is None:
        return ""
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"


def _note_files(folder_path: str, files: list[str]) -> None:
    with os.scandir(folder_path) as found:
        for file in found:
            if file.name.endswith(".py"):
                status = file.stat()
                files.append(f"{file.path} {status.st_size} {status.st_mtime_ns}")
            elif "." not in file.name and file.name != "__pycache__" and file.is_dir():
                _note_files(file.path, files)
