"""What ``torch.compile`` makes of a module: a module around it, under which PyTorch's programs find it as ``_orig_mod``."""

from __future__ import annotations

from collections.abc import Sized
from typing import Any

from ...compiler import _compile
from .module import Module

__all__ = ["OptimizedModule"]


class OptimizedModule(Module):
    """A module around the one that ``torch.compile`` was given.

    It calls that module, and gets and sets its attributes. Hooks and buffers that are registered with it are its own, and the names of
    parameters begin with ``_orig_mod.``, in its ``state_dict`` as well.

    >>> compiled = torch.compile(torch.nn.Linear(2, 1))
    >>> list(compiled.state_dict()), compiled.in_features
    (['_orig_mod.weight', '_orig_mod.bias'], 2)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.compile.html
    """

    def __init__(self, mod: object) -> None:
        super().__init__()
        self.__dict__.pop("training")  # it is the inner module's
        super().__setattr__("_orig_mod", mod)

    def forward(self, *args: object, **kwargs: object) -> object:
        return self._modules["_orig_mod"](*args, **kwargs)  # pyright: ignore[reportOptionalCall]

    @property
    def training(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Whether the inner module is in training mode."""
        return self._modules["_orig_mod"].training  # pyright: ignore[reportOptionalMemberAccess]

    @training.setter
    def training(self, value: bool) -> None:
        self._modules["_orig_mod"].training = value  # pyright: ignore[reportOptionalMemberAccess]

    def __len__(self) -> int:
        inner = self._modules["_orig_mod"]
        if isinstance(inner, Sized):
            return len(inner)
        raise TypeError(f"{type(inner).__name__} does not support len()")

    def __getattr__(self, name: str) -> Any:
        modules = self.__dict__.get("_modules", {})
        if "_orig_mod" not in modules:  # while it is being made or unpickled
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")
        return modules[name] if name == "_orig_mod" else getattr(modules["_orig_mod"], name)

    def __setattr__(self, name: str, value: object) -> None:
        if name == "_orig_mod" or hasattr(type(self), name) or "_orig_mod" not in self.__dict__.get("_modules", {}):
            super().__setattr__(name, value)
        else:
            setattr(self._modules["_orig_mod"], name, value)

    def __delattr__(self, name: str) -> None:
        if name == "_orig_mod" or hasattr(type(self), name):
            super().__delattr__(name)
        else:
            delattr(self._modules["_orig_mod"], name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *dir(self._modules["_orig_mod"])})


_compile.MODULES[Module] = OptimizedModule
