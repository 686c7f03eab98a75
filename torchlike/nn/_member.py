"""class Member: parameters, buffers and submodules that a class of modules declares are found without ``__getattr__``."""

from __future__ import annotations

from typing import Any

__all__ = ["Member"]


class Member:
    """An attribute in the body of a class of modules, for a member that its forward reads: it finds what ``Module.__getattr__`` finds.

    Python calls ``__getattr__`` only after it has looked everywhere else and made an exception, which takes longer than the rest of a small
    layer. This has no ``__set__``, so what a program has put into the object's own dict comes first, as without it. Whatever it does not
    find, and everything of a class that defines another ``__getattr__``, is left to ``__getattr__``.

    Args:
        getattr: the ``__getattr__`` of modules.
    """

    __slots__ = ("getattr", "name")

    def __init__(self, getattr: object) -> None:
        self.getattr = getattr
        self.name = ""

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, module: Any, owner: Any) -> Any:
        if module is not None and owner.__getattr__ is self.getattr:
            attributes = module.__dict__
            # In the order of ``Module.__getattr__``
            for kind in ("_parameters", "_modules", "_buffers"):
                members = attributes.get(kind)
                if members is not None and self.name in members:
                    return members[self.name]
        raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self.name}'")
