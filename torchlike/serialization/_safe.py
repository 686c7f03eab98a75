"""The classes and functions that a file may use with ``weights_only=True``."""

from __future__ import annotations

import codecs
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from typing import Any

from ._bounds import described
from ._names import as_storage_class, full_name
from ._rebuild import KNOWN

__all__ = ["add_safe_globals", "clear_safe_globals", "get_safe_globals", "safe_globals"]

Allowed = Callable[..., object] | tuple[Callable[..., object], str]

_BLOCKED = ("sys", "os", "posix", "nt")  # modules that nobody may allow
_CODECS = ("latin1", "latin-1", "ascii", "utf-8", "utf8")

_allowed: list[Allowed] = []


def add_safe_globals(safe_globals: list[Allowed]) -> None:
    """Allows files to use these classes and functions in ``torch.load`` with ``weights_only=True``.

    Args:
        safe_globals: classes or functions, or pairs of one and its full name in files.

    >>> import collections
    >>> torch.serialization.add_safe_globals([collections.deque])
    >>> torch.serialization.get_safe_globals()
    [<class 'collections.deque'>]
    >>> torch.serialization.clear_safe_globals()

    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html#torch.serialization.add_safe_globals
    """
    _allowed.extend(allowed for allowed in safe_globals if allowed not in _allowed)


def get_safe_globals() -> list[Allowed]:
    """A new list of what ``add_safe_globals`` has allowed."""
    return list(_allowed)


def clear_safe_globals() -> None:
    """Forbids again what ``add_safe_globals`` has allowed."""
    _allowed.clear()


class safe_globals:
    """A context in which files may use these classes and functions in addition to those allowed before.

    Args:
        safe_globals: as for ``add_safe_globals``.

    >>> import collections
    >>> with torch.serialization.safe_globals([collections.deque]):
    ...     torch.serialization.get_safe_globals()
    [<class 'collections.deque'>]

    Source: https://docs.pytorch.org/docs/stable/notes/serialization.html#torch.serialization.safe_globals
    """

    def __init__(self, safe_globals: list[Allowed]) -> None:
        self.safe_globals = safe_globals

    def __enter__(self) -> None:
        self._before = get_safe_globals()
        add_safe_globals(self.safe_globals)

    def __exit__(self, *exc: object) -> None:
        _allowed[:] = self._before


def _encode(text: object, encoding: str = "utf-8", errors: str = "strict") -> bytes:
    """``codecs.encode`` as protocol 2 uses it to write bytes. Other codecs are refused, since they run other code."""
    if encoding not in _CODECS or not isinstance(text, str):
        raise ValueError(f"bytes in the file are written by the codec {described(encoding)!r}, which is not allowed")
    return codecs.encode(text, encoding, errors)


def _bytearray(*arguments: object) -> bytearray:
    """``bytearray`` of bytes or text. A number would be a size, and a file could request all of the machine's memory."""
    if arguments and not isinstance(arguments[0], (bytes, str)):
        raise ValueError("a bytearray in the file is not made of bytes")
    return bytearray(*arguments)


_DEFAULT: dict[str, object] = {
    **{".".join(key): value for key, value in KNOWN.items()},
    "collections.OrderedDict": OrderedDict,
    "collections.Counter": Counter,
    "builtins.set": set,
    "builtins.complex": complex,
    "builtins.bytearray": _bytearray,
    "_codecs.encode": _encode,
}


def users() -> dict[str, Any]:
    """The globals that callers have allowed, by their full names in files."""
    return dict((entry[1], entry[0]) if isinstance(entry, tuple) else (full_name(entry), entry) for entry in _allowed)


def lookup(module: str, name: str, by_user: Mapping[str, object]) -> Any:
    """The class or function that a file may use under this name.

    Raises:
        PermissionError: it is in a module that is blocked. KeyError: it is not allowed.
    """
    if module in _BLOCKED:
        raise PermissionError(module)
    full = f"{module}.{name}"
    storage = as_storage_class(module, name)
    if storage is not None:
        return storage
    return by_user[full] if full in by_user else _DEFAULT[full]
