"""class Replacement: a file that replaces another one once it is complete."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
from io import BufferedWriter
from typing import Any

try:
    import fcntl
except ImportError:  # on Windows, where nobody can remove an open file
    fcntl = None

_OURS = re.compile(r"\.\d+\.[0-9a-f]+\.tmp")  # the ending of the name: the process, and a number


class Replacement:
    """A file that replaces another one once it is complete. If writing fails, it is removed.

    Where the process is killed while it writes, the next one that writes a file of this name removes what is left. What is no ordinary
    file (a pipe, a device) is written to directly.
    """

    def __init__(self, path: str) -> None:
        self.path = os.path.realpath(path)  # follow a link, so that it stays a link
        parent = os.path.dirname(self.path)
        if not os.path.isdir(parent):
            raise RuntimeError(f"Parent directory {os.path.dirname(path)} does not exist.")
        if os.path.isdir(self.path):
            raise IsADirectoryError(21, "Is a directory", path)
        self.direct = os.path.exists(self.path) and not os.path.isfile(self.path)
        # A name is never used twice, so that a process that removes an abandoned file of this name removes no other.
        self.temporary = self.path if self.direct else f"{self.path}.{os.getpid()}.{secrets.token_hex(8)}.tmp"

    def __enter__(self) -> BufferedWriter:
        if self.direct:
            self.file = open(self.temporary, "wb")  # closed at the end of the block
            return self.file
        _remove_abandoned(self.path)
        while True:
            self.file = open(self.temporary, "xb")
            _lock(self.file)
            if os.path.exists(self.temporary):
                return self.file
            self.file.close()  # between the two lines above another process has removed it as abandoned

    def __exit__(self, kind: type | None, error: object, trace: object) -> None:
        try:
            if kind is None and not self.direct:
                self.file.flush()
                os.fsync(self.file.fileno())  # the new file must be on the disk before it replaces the old one
                if os.path.exists(self.path):
                    # The new file has the permissions of the old one, as if that had been written to.
                    os.chmod(self.temporary, os.stat(self.path).st_mode & 0o7777)
                if fcntl is None:
                    self.file.close()
                os.replace(self.temporary, self.path)  # before the file is closed, since that ends the lock
        finally:
            self.file.close()
            if not self.direct:
                with contextlib.suppress(FileNotFoundError):
                    os.remove(self.temporary)


def _lock(file: Any) -> bool:
    """Locks an open file, and returns whether that worked. The lock ends with the process, even if it is killed."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # another process writes it; or the file system has no locks, and then no file counts as abandoned
        return False
    return True


def _remove_abandoned(path: str) -> None:
    """Removes the temporary files of this name that killed processes have left."""
    folder, name = os.path.split(path)
    for file_name in os.listdir(folder):
        if not (file_name.startswith(name) and _OURS.fullmatch(file_name, len(name))):
            continue
        leftover = os.path.join(folder, file_name)
        with contextlib.suppress(OSError):  # it does not exist any more, or we have no permission
            with open(leftover, "rb") as file:
                is_abandoned = _lock(file)
                if is_abandoned and fcntl is not None:
                    os.remove(leftover)
            if is_abandoned and fcntl is None:
                os.remove(leftover)
