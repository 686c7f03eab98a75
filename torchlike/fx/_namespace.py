"""Names for the nodes of a graph, as they are variables in the generated code: distinct, and none that means something else there."""

from __future__ import annotations

import builtins
import keyword
import math
import re
from collections import defaultdict

from .._core.devices import device

__all__ = ["CUSTOM_BUILTINS", "Namespace", "snake_case"]

# Names that generated code may use without importing anything, how they would be imported, and what they are.
CUSTOM_BUILTINS: dict[str, tuple[str, object]] = {
    "inf": ("from math import inf", math.inf),
    "nan": ("from math import nan", math.nan),
    "NoneType": ("NoneType = type(None)", type(None)),
    "torch": ("import torch", None),
    "device": ("from torch import device", device),
    "fx_pytree": ("import torch.fx._pytree as fx_pytree", None),
    "pytree": ("import torch.utils._pytree as pytree", None),
}

_WRONG = re.compile("[^0-9a-zA-Z_]+")
_NUMBERED = re.compile(r"(.*)_(\d+)$")
_HUMP = re.compile(r"(?<=[a-z])([A-Z])")


def snake_case(name: str) -> str:
    """``BatchNorm2d`` becomes ``batch_norm2d``."""
    return _HUMP.sub(r"_\1", name).lower()


class Namespace:
    """The names in use, and the objects that have them."""

    def __init__(self) -> None:
        self._obj_to_name: dict[object, str] = {}
        self._used_names: set[str] = set()
        self._base_count: dict[str, int] = defaultdict(int)

    def create_name(self, candidate: str, obj: object) -> str:
        """A free name like ``candidate``. An object always gets the same one."""
        if obj is not None and obj in self._obj_to_name:
            return self._obj_to_name[obj]
        candidate = _WRONG.sub("_", candidate) or "_unnamed"
        if candidate[0].isdigit():
            candidate = f"_{candidate}"
        numbered = _NUMBERED.match(candidate)
        base, number = (candidate, 0) if numbered is None else (numbered[1], int(numbered[2]))
        if numbered is not None and numbered[2].startswith("0") and number == 0:
            candidate = f"{base}_{number}"
        number = number or self._base_count[base]
        while candidate in self._used_names or self._is_illegal_name(candidate, obj):
            number += 1
            candidate = f"{base}_{number}"
        self._used_names.add(candidate)
        self._base_count[base] = number
        if obj is not None:
            self._obj_to_name[obj] = candidate
        return candidate

    def associate_name_with_obj(self, name: str, obj: object) -> None:
        """Registers a name that an object has already."""
        if self._obj_to_name.setdefault(obj, name) != name:
            raise AssertionError("obj is already associated")

    def _is_illegal_name(self, name: str, obj: object) -> bool:
        if keyword.iskeyword(name):
            return True
        if name in vars(builtins):
            return obj is not vars(builtins)[name]
        if name in CUSTOM_BUILTINS:
            value = CUSTOM_BUILTINS[name][1]
            return value is None or obj is not value
        return False
