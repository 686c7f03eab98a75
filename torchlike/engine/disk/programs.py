"""Compiled programs kept on disk, so that the next process reads them instead of compiling them again.

An entry is found by everything that its machine code depends on: the text of the program as it is handed to XLA, options and
environment of the compiler, versions, the device, and the features of the processor. So an entry never goes out of date.

An entry holds machine code, so only its user may have written it. The folder is opened, and what was opened is checked: it, its entries
and the folders above it. Everything is then done by the descriptor of the folder, whatever its path leads to by then.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import platform
import re
import secrets
import stat
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import jax
import jaxlib.version
from jaxlib import xla_client


class Recorded(Protocol):
    """What this file needs to know of a recorded path (`trace.Path`, which lies above this file)."""

    @property
    def steps(self) -> Sequence[Any]: ...
    @property
    def leaves(self) -> Sequence[Any]: ...


# The folder; by default ``torchlike`` in the user's cache folder. The empty string: nothing is kept.
VARIABLE = "TORCHLIKE_CACHE_DIR"
# The entries that were used longest ago go when all together are larger than this, down to nine tenths of it.
MAX_BYTES = 2**30
# A temporary file of this age was left by a process that has ended.
MAX_SECONDS_OF_WRITING = 3600
_ANY_MAGIC = b"torchlike program "  # so begins what any version of torchlike has written
MAGIC = _ANY_MAGIC + b"2\n"
_ENTRY, _TEMPORARY = re.compile(r"[0-9a-f]{64}\.program"), re.compile(r"[0-9a-f]{64}\.[0-9a-f]{16}\.temporary")
_NOTE = re.compile(r"[0-9a-f]{64}\.note")  # it holds the name of an entry
_TRACES = re.compile(r"[0-9a-f]{64}\.traces")  # see ``traces.py``
_BY_DESCRIPTOR = os.open in os.supports_dir_fd  # not on Windows, where the rights of files are others as well
_OPENED = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def kept_by_jax() -> bool:
    """Whether JAX's own cache is in use."""
    config: Any = jax.config
    return bool(config.jax_enable_compilation_cache and config.jax_compilation_cache_dir)


def folder() -> Path | None:
    """The folder of compiled programs. None if it is switched off, or if others may write there: its files are executed.

    Nothing is kept here where JAX's own cache is in use. A program that came from there loses functions when it is serialised again.
    """
    folder_named = os.environ.get(VARIABLE)
    if folder_named == "" or kept_by_jax():
        return None
    try:
        path = Path(folder_named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchlike")
        path = path / "programs"
        for missing in reversed([p for p in (path, *path.parents) if not p.exists()]):
            missing.mkdir(mode=0o700, exist_ok=True)
        with Folder(path):
            return path
    except (OSError, RuntimeError):  # there is no home, or it cannot be written to
        return None


class Folder:
    """The folder of programs while it is in use.

    Raises:
        PermissionError: somebody else could put files there.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.descriptor: int | None = None

    def __enter__(self) -> Folder:
        if _BY_DESCRIPTOR:
            self.descriptor = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                self._check()
            except BaseException:
                self.__exit__()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.descriptor is not None:
            os.close(self.descriptor)
            self.descriptor = None

    def _check(self) -> None:
        """Checks the folder, and that nobody else can put another one in its place, or in that of a folder above it."""
        assert self.descriptor is not None
        status = os.fstat(self.descriptor)
        if not _private(status):
            raise PermissionError(f"others may write to {self.path}")
        above = "."
        while True:
            below, above = status, f"{above}/.."
            status = os.stat(above, dir_fd=self.descriptor)
            if (status.st_dev, status.st_ino) == (below.st_dev, below.st_ino):
                return
            # In a folder such as /tmp others may write, but only the owner of a file may remove it.
            kept = status.st_mode & stat.S_ISVTX
            if status.st_uid not in (0, os.getuid()) or not (kept or _closed(status)):
                raise PermissionError(f"others may write above {self.path}")

    def name(self, name: str) -> str:
        """A file's name as functions of ``os`` take it together with ``descriptor``."""
        return name if self.descriptor is not None else str(self.path / name)

    def open(self, name: str, flags: int) -> int:
        return os.open(self.name(name), flags | _OPENED, 0o600, dir_fd=self.descriptor)

    def remove(self, name: str) -> None:
        with contextlib.suppress(OSError):  # another process has just done so
            os.unlink(self.name(name), dir_fd=self.descriptor)

    def put(self, name: str, content: bytes) -> None:
        """Writes a file, which others see whole or not at all."""
        temporary = f"{name.partition('.')[0]}.{secrets.token_hex(8)}.temporary"
        try:
            with os.fdopen(self.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL), "wb") as file:
                file.write(content)
            os.replace(self.name(temporary), self.name(name), src_dir_fd=self.descriptor, dst_dir_fd=self.descriptor)
        except BaseException:
            self.remove(temporary)
            raise

    @contextlib.contextmanager
    def entry(self, name: str) -> Iterator[Any]:
        """An entry as an open file.

        Raises:
            OSError: there is none, or it is no file that only this user may write.
        """
        with os.fdopen(self.open(name, os.O_RDONLY), "rb") as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode) or not _private(status):
                raise PermissionError(f"others may write to {self.path / name}")
            yield file

    def own(self) -> Iterator[tuple[float, int, str]]:
        """Date, size and name of what torchlike has written here: a folder that the user names may hold other files."""
        with os.scandir(self.path if self.descriptor is None else self.descriptor) as found:
            for file in found:
                if any(pattern.fullmatch(file.name) for pattern in (_ENTRY, _NOTE, _TEMPORARY, _TRACES)):
                    with contextlib.suppress(OSError):  # another process has just removed it
                        status = file.stat(follow_symlinks=False)
                        if stat.S_ISREG(status.st_mode):
                            yield status.st_mtime, status.st_size, file.name

    def is_own(self, name: str) -> bool:
        """Whether a file begins as those that torchlike writes."""
        try:
            with self.entry(name) as file:
                head = file.read(len(_ANY_MAGIC))
        except OSError:
            return False
        return head == _ANY_MAGIC or (head == b"" and bool(_TEMPORARY.fullmatch(name)))


def _private(status: os.stat_result) -> bool:
    """Whether a file or folder is this user's, and nobody else may write to it."""
    return not hasattr(os, "getuid") or (status.st_uid == os.getuid() and _closed(status))


def _closed(status: os.stat_result) -> bool:
    """Whether nobody but the owner may write. The group may where it is the owner's own, as on systems with a group for each user."""
    if status.st_mode & stat.S_IWOTH:
        return False
    return not status.st_mode & stat.S_IWGRP or _group_of_one(status.st_uid, status.st_gid)


@functools.cache
def _group_of_one(user: int, group: int) -> bool:
    import grp
    import pwd

    try:
        name, entry = pwd.getpwuid(user).pw_name, grp.getgrgid(group)
    except KeyError:
        return False
    return entry.gr_name == name and set(entry.gr_mem) <= {name}


@functools.cache
def surroundings() -> str:
    """The part of the cache key that machine code depends on besides the program, its options and its device."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        processor = {line for line in lines if line.startswith(("flags", "Features", "model name"))}
    except OSError:
        processor = {platform.processor()}
    flags = [os.environ.get(name) for name in ("XLA_FLAGS", "LIBTPU_INIT_ARGS")]
    return repr((jax.__version__, jaxlib.version.__version__, platform.machine(), sorted(processor), flags))


def entry_of(lowered: Any, options: Mapping[str, object], device: Any) -> Path | None:
    """The file that holds a program, if it is there; None where programs are not kept."""
    path = folder()
    if path is None:
        return None
    client = device.client
    place = (device.platform, device.device_kind, device.id, client.platform_version, client.device_count())
    digest = hashlib.sha256()
    for text in (lowered.as_text(), repr(sorted(options.items())), repr(place), surroundings()):
        digest.update(text.encode())
        digest.update(b"\0")
    return path / (digest.hexdigest() + ".program")


def head_of(name: str, body: bytes) -> bytes:
    """How an entry begins: it is the body of this name and no other."""
    return MAGIC + hashlib.sha256(name.encode() + b"\0" + body).digest()


def read(entry: Path, device: Any) -> tuple[Any, int] | None:
    """A program as XLA's executable, and the bytes that it needs; None if there is none that can be used."""
    try:
        with Folder(entry.parent) as opened, opened.entry(entry.name) as file:
            content = file.read()
            head, body = content[: len(MAGIC) + 32], content[len(MAGIC) + 32 :]
            if head != head_of(entry.name, body):  # the file is truncated, or another version or entry
                return None
            devices = xla_client.DeviceList((device,))
            program = device.client.deserialize_executable(body[8:], executable_devices=devices)
            with contextlib.suppress(OSError):
                # Marks the entry as just used: the oldest entries are removed first.
                os.utime(opened.name(entry.name), dir_fd=opened.descriptor)
    except Exception:
        return None  # the program is compiled and written again
    return program, int.from_bytes(body[:8], "little")


def write(entry: Path, program: Any, bytes_needed: int) -> None:
    """Keeps a program, if that is possible. A process that reads or writes the same entry meanwhile sees it whole or not at all.

    Args:
        program: XLA's executable.
    """
    try:
        body = bytes_needed.to_bytes(8, "little") + program.client.serialize_executable(program)
    except Exception:
        return  # this program, or those of this platform, cannot be serialised
    with contextlib.suppress(OSError), Folder(entry.parent) as opened:  # for example, the disk is full
        opened.put(entry.name, head_of(entry.name, body) + body)
        _evict(opened)


def _evict(opened: Folder) -> None:
    entries, now = list[tuple[float, int, str]](), time.time()
    for date, size, name in opened.own():
        if _TEMPORARY.fullmatch(name) and now - date > MAX_SECONDS_OF_WRITING and opened.is_own(name):
            opened.remove(name)
        else:
            entries.append((date, size, name))
    total = sum(size for _, size, _ in entries)
    if total <= MAX_BYTES:
        return
    for _, size, name in sorted(entries):
        if opened.is_own(name):
            opened.remove(name)
        total -= size
        if total <= 0.9 * MAX_BYTES:
            return


# ---- notes of the paths that ran as programs, so that the next process reads those programs at first sight
#
# A note says only that it is worth looking. The program is then found by its text, as always, and never by the note, so a wrong one
# costs a moment and changes no result. A path that was compiled but never ran as a program has no note.


class _Found:
    """``names``: of the notes that lay in the folder when the process looked first; None: it has not looked.

    What this process notes is not among them, so that it decides the same way from its beginning to its end.
    """

    names: set[str] | None = None
    beginnings: frozenset[str] = frozenset()


def noted(path: Recorded, key: Hashable) -> str | None:
    """The name of the note of a path, if there is one and the program that it names lies on disk.

    Args:
        key: live outputs, donated leaves and replaced values.
    """
    if _Found.names is None:
        names = _Found.names = _notes()
        _Found.beginnings = frozenset([name[:8] for name in names])
    if _beginning(path) not in _Found.beginnings:
        return None
    name = _name(path, key)
    return name if name in _Found.names and _is_noted(name) else None


def note(path: Recorded, key: Hashable, entry: Path) -> None:
    """Notes that a path runs as the program of this entry."""
    _write_note(_name(path, key), entry)


def drop_note(name: str) -> None:
    """Drops a note that has led to no program."""
    if _Found.names is not None:
        _Found.names.discard(name)
    _drop_note(name)


def _beginning(path: Recorded) -> str:
    """How the names of notes of such paths begin. It takes no time, so paths without a note, which may be new each time, cost nothing."""
    return f"{len(path.steps) & 0xFFFF:04x}{len(path.leaves) & 0xFFFF:04x}"


def _name(path: Recorded, key: Hashable) -> str:
    digest = hashlib.sha256(repr((jax.__version__, key)).encode())
    for step in path.steps:
        kernel = step.kernel
        digest.update(repr((kernel.name, kernel.in_avals, kernel.out_avals, step.inputs)).encode())
    return _beginning(path) + digest.hexdigest()[8:]


def _notes() -> set[str]:
    """The names of all notes."""
    path = folder()
    if path is None:
        return set()
    try:
        with Folder(path) as opened:
            found = os.listdir(opened.path if opened.descriptor is None else opened.descriptor)
    except OSError:
        return set()
    return {name.removesuffix(".note") for name in found if _NOTE.fullmatch(name)}


def _is_noted(note: str) -> bool:
    """Whether there is a note of this name, and the entry that it names."""
    path = folder()
    if path is None:
        return False
    try:
        with Folder(path) as opened:
            with opened.entry(note + ".note") as file:
                content = file.read()
            name = content.removeprefix(MAGIC).decode()
            if content == name.encode() or not _ENTRY.fullmatch(name):
                return False
            with opened.entry(name):
                return True
    except (OSError, UnicodeDecodeError):
        return False


def _write_note(note: str, entry: Path) -> None:
    """Writes a note of this name, which names an entry."""
    with contextlib.suppress(OSError), Folder(entry.parent) as opened:
        opened.put(note + ".note", MAGIC + entry.name.encode())


def _drop_note(note: str) -> None:
    path = folder()
    if path is not None:
        with contextlib.suppress(OSError), Folder(path) as opened:
            opened.remove(note + ".note")
