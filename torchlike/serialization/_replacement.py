"""A file that takes the place of another one when all of it has been written."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from typing import Any

try:
    import fcntl
except ImportError:  # Windows, where an open file cannot be removed anyway
    fcntl = None

_OURS = re.compile(r"\.\d+\.[0-9a-f]+\.tmp")  # after the name: process, a number of its own


class Replacement:
    """A file that takes the place of another one when all of it has been written, and else is gone without a trace.

    Where the process is killed while it writes, the next one that writes a file of this name removes what is left. What is no ordinary
    file (a pipe, a device) is written to directly.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)  # a link stays a link
        parent = os.path.dirname(self.path)
        if not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
        if os.path.isdir(self.path):
            raise IsADirectoryError(21, "Is a directory", path)
        self.direct = os.path.exists(self.path) and not os.path.isfile(self.path)
        # A name is never used twice: whoever has found an abandoned file under it removes that file and no other.
        self.temporary = self.path if self.direct else f"{self.path}.{os.getpid()}.{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> Any:
        if self.direct:
            self.file = open(self.temporary, "wb")  # closed at the end of the block
            return self.file
        _remove_abandoned(self.path)
        while True:
            self.file = open(self.temporary, "xb")
            _lock(self.file)
            if os.path.exists(self.temporary):
                return self.file
            self.file.close()  # somebody came between the two lines above and took it for abandoned

    def __exit__(self, kind: type | None, error: Any, trace: Any) -> None:
        try:
            if kind is None and not self.direct:
                self.file.flush()
                os.fsync(self.file.fileno())  # the new file is on the disk before the old one goes
                if os.path.exists(self.path):
                    os.chmod(self.temporary, os.stat(self.path).st_mode & 0o7777)
                if fcntl is None:
                    self.file.close()
                os.replace(self.temporary, self.path)  # before the file is closed, which ends its lock
        finally:
            self.file.close()
            if not self.direct:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.temporary)


def _lock(file: Any) -> bool:
    """Locks an open file against other processes; whether that could be done. The lock ends with the process, however that ends."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # somebody writes it, or the file system has no locks: then nothing is ever known to be abandoned
        return False
    return True


def _remove_abandoned(path: str) -> None:
    """Removes what processes that were killed have left of files of this name."""
    folder, name = os.path.split(path)
    for each in os.listdir(folder):
        if not (each.startswith(name) and _OURS.fullmatch(each, len(name))):
            continue
        left = os.path.join(folder, each)
        with contextlib.suppress(OSError):  # it is gone already, or is not ours to open or remove
            with open(left, "rb") as file:
                abandoned = _lock(file)
                if abandoned and fcntl is not None:
                    os.remove(left)
            if abandoned and fcntl is None:
                os.remove(left)
