"""Which functions of other libraries a shared library calls: the table of their addresses, by the ELF format for x86-64.

The dynamic linker has filled the table in, and the library reads each address there before a call. See ``elf(5)`` and ``dlinfo(3)``.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Mapping
from ctypes import POINTER, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

import numpy as np

_GET_LINK_MAP = 2
# The kinds of entries of the dynamic section, and of the relocations that are addresses of functions.
_SIZE_OF_CALLS, _NAMES, _SYMBOLS, _DATA, _SIZE_OF_DATA, _CALLS = 2, 5, 6, 7, 8, 23
_FUNCTION_KINDS = (6, 7)
_RELOCATION_BYTES, _SYMBOL_BYTES = 24, 24
_READ_AND_WRITE = 3


class _LinkMap(ctypes.Structure):
    _fields_ = [("base", c_uint64), ("name", c_char_p), ("dynamic", c_uint64)]


def _places(library: ctypes.CDLL, names: Mapping[bytes, int]) -> list[tuple[int, bytes]]:
    """Where the addresses of these functions stand, and whose each is."""
    found = POINTER(_LinkMap)()
    ask = getattr(ctypes.CDLL(None), "dlinfo", None)
    if ask is None or ask(c_void_p(library._handle), c_int(_GET_LINK_MAP), ctypes.byref(found)):
        return []
    base, entry = found.contents.base, found.contents.dynamic
    section: dict[int, int] = {}
    while True:
        kind, value = (c_int64 * 2).from_address(entry)
        if not kind:
            break
        section[kind], entry = value, entry + 16

    def address(kind: int) -> int:
        """The linker has added the base here unless the section cannot be written to."""
        return section[kind] if section[kind] >= base else section[kind] + base

    places = []
    for table, size in ((_CALLS, _SIZE_OF_CALLS), (_DATA, _SIZE_OF_DATA)):
        if table not in section or size not in section:
            continue
        # There are 45,000 of them: each is an offset, what it is, and a number to add.
        relocations = _memory(address(table), section[size]).reshape(-1, _RELOCATION_BYTES // 8)
        wanted = relocations[np.isin(relocations[:, 1] & 0xFFFFFFFF, _FUNCTION_KINDS)]
        for offset, info in wanted[:, :2].tolist():
            name = c_uint32.from_address(address(_SYMBOLS) + (info >> 32) * _SYMBOL_BYTES).value
            places.append((base + offset, ctypes.string_at(address(_NAMES) + name)))
    return [(place, name) for place, name in places if name in names]


def _memory(address: int, nbytes: int) -> np.ndarray:
    return np.ctypeslib.as_array((c_uint64 * (nbytes // 8)).from_address(address))


def replace(library: ctypes.CDLL, functions: Mapping[bytes, int]) -> bool:
    """Has a library call other functions in the place of those of these names: all of them, or none.

    Args:
        functions: their addresses, by the name of the one that each takes the place of. They are replaced in this order, so that one
            which gives memory back comes before one that lends it: another thread may be in the library meanwhile.

    Returns:
        whether they were replaced. They are not where the library does not call each of them.
    """
    places = _places(library, functions)
    if {name for _, name in places} != {*functions}:
        return False
    protect = ctypes.CDLL(None).mprotect
    # They stay writable: what they were before is not asked for, and the linker may still write to a table that it fills at the first call.
    pages = {place // mmap.PAGESIZE * mmap.PAGESIZE for place, _ in places}
    if any(protect(c_void_p(page), c_size_t(mmap.PAGESIZE), _READ_AND_WRITE) for page in pages):
        return False
    for name, function in functions.items():
        for place, other in places:
            if other == name:
                c_uint64.from_address(place).value = function
    return True
