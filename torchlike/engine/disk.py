"""Compiled programs kept on disk, so that the next process reads them instead of compiling them again.

An entry is found by everything that its machine code depends on: the text of the program as it is handed to XLA, options and
environment of the compiler, versions, the device, and the features of the processor. So an entry never goes out of date.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jaxlib.version
from jax.experimental import serialize_executable

# The folder; by default ``torchlike`` in the user's cache folder. The empty string: nothing is kept.
VARIABLE = "TORCHLIKE_CACHE_DIR"
# The entries that were used longest ago go when all together are larger than this, down to nine tenths of it.
MAX_BYTES = 2**30
_MAGIC = b"torchlike program 1\n"
_SUFFIX = ".program"


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
    path = Path(folder_named or Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "torchlike")
    try:
        path = path / "programs"
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = path.stat()
    except (OSError, RuntimeError):  # there is no home, or it cannot be written to
        return None
    if hasattr(os, "getuid") and (status.st_uid != os.getuid() or status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)):
        return None
    return path


@functools.cache
def _surroundings() -> str:
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
    for text in (lowered.as_text(), repr(sorted(options.items())), repr(place), _surroundings()):
        digest.update(text.encode())
        digest.update(b"\0")
    return path / (digest.hexdigest() + _SUFFIX)


def read(entry: Path, device: Any) -> tuple[Any, int] | None:
    """A program (``jax.stages.Compiled``) and the bytes that it needs; None if there is none that can be used."""
    try:
        content = entry.read_bytes()
        head, body = content[: len(_MAGIC) + 32], content[len(_MAGIC) + 32 :]
        if head != _MAGIC + hashlib.sha256(body).digest():  # the file is truncated, or was written by another version
            return None
        # Unpickling runs code. ``folder`` has made sure that only this user can write to the folder.
        serialized, in_tree, out_tree, bytes_needed = pickle.loads(body)
        program = serialize_executable.deserialize_and_load(
            serialized, in_tree, out_tree, backend=device.client, execution_devices=[device]
        )
    except Exception:
        return None  # the program is compiled and written again
    with contextlib.suppress(OSError):
        os.utime(entry)  # marks the entry as just used: the oldest entries are removed first
    return program, bytes_needed


def write(entry: Path, program: Any, bytes_needed: int) -> None:
    """Keeps a program, if that is possible. A process that reads or writes the same entry meanwhile sees it whole or not at all."""
    try:
        body = pickle.dumps((*serialize_executable.serialize(program), bytes_needed))
    except Exception:
        return  # this program, or those of this platform, cannot be serialised
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(dir=entry.parent, delete=False) as file:
            temporary = file.name
            file.write(_MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(temporary, entry)
        _evict(entry.parent)
    except OSError:  # for example, the disk is full
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)


def _evict(path: Path) -> None:
    entries = []
    for entry in os.scandir(path):
        with contextlib.suppress(OSError):  # another process has just removed it
            status = entry.stat()
            entries.append((status.st_mtime, status.st_size, entry.path))
    total = sum(size for _, size, _ in entries)
    if total <= MAX_BYTES:
        return
    for _, size, name in sorted(entries):
        with contextlib.suppress(OSError):
            os.unlink(name)
        total -= size
        if total <= 0.9 * MAX_BYTES:
            return
