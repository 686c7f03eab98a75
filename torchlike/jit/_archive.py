"""Scripts and their files. A script is the function or module that it was made of, so its file holds the module itself."""

from __future__ import annotations

import inspect
import io
import os
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from ..nn import Module
from ..nn.modules import _scripted
from ..serialization import load as load_objects
from ..serialization._load import is_script, load_own_script
from ..serialization._save import save_script
from ._weights import load_weights

__all__ = ["ScriptFunction", "ScriptModule", "as_script", "load", "save"]

_T = TypeVar("_T")
_MARK = "torchlike.jit"
_functions: WeakSet[Any] = WeakSet()


def as_script(obj: _T) -> _T:
    """The function or module itself, which from now on has what scripts have: ``save``, ``save_to_buffer``, ``code``."""
    if isinstance(obj, Module):
        for module in obj.modules():
            _scripted.add(module)
    elif inspect.isfunction(obj):
        _functions.add(obj)
        for name, make in _ATTRIBUTES.items():
            setattr(obj, name, make(obj))
    return obj


class _OfModules(type):
    """The type of ScriptModule: modules that were scripted are instances as well."""

    def __instancecheck__(cls, instance: object) -> bool:
        return super().__instancecheck__(instance) or (
            cls is ScriptModule and isinstance(instance, Module) and _scripted.is_scripted(instance)
        )


class ScriptModule(Module, metaclass=_OfModules):
    """A module written for scripts: a module as all are. Modules that were given to ``script`` or ``trace`` are instances."""


class _OfFunctions(type):
    """The type of ScriptFunction: functions that were scripted are instances."""

    def __instancecheck__(cls, instance: object) -> bool:
        return inspect.isfunction(instance) and instance in _functions


class ScriptFunction(metaclass=_OfFunctions):
    """The type of scripted functions. ``script`` gives back the function itself; ``isinstance`` says yes to it."""


def save(m: object, f: Any, _extra_files: dict[str, str | bytes] | None = None) -> None:
    """Writes a scripted or traced module or function to a file.

    The file holds the module as ``torch.save`` writes it, and its class by name. So whoever loads it needs the class; PyTorch's archives,
    which hold a program, are others, and neither reads the other's.

    Args:
        m: what ``script`` or ``trace`` returned.
        f: a path, or a binary file.
        _extra_files: texts or bytes that are kept beside it, by name.

    Raises:
        AttributeError: ``m`` was neither scripted nor traced.

    >>> import io
    >>> file = io.BytesIO()
    >>> torch.jit.save(torch.jit.script(torch.nn.ReLU()), file)
    >>> torch.jit.load(io.BytesIO(file.getvalue()))(torch.tensor([-1.0, 1.0]))
    tensor([0., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.save.html
    """
    if not isinstance(m, (ScriptModule, ScriptFunction)):
        wanted = "save" if isinstance(f, (str, os.PathLike)) else "save_to_buffer"
        raise AttributeError(f"'{type(m).__name__}' object has no attribute '{wanted}'")
    extra = {name: text.encode() if isinstance(text, str) else text for name, text in (_extra_files or {}).items()}
    save_script({_MARK: 1, "script": m, "extra_files": extra}, f)


def load(
    f: Any, map_location: Any = None, _extra_files: dict[str, str | bytes] | None = None, _restore_shapes: bool = False
) -> Any:
    """Reads what ``torch.jit.save`` has written. As with any pickle, load only files that you trust.

    Of PyTorch's own archives it reads the modules with their weights and attributes (``torch.jit.load(f).state_dict()``), and none of
    their code. Such a module cannot be called, since it is a program in TorchScript.

    Args:
        f: a path, or a binary file.
        map_location: the device that the tensors go to.
        _extra_files: a dictionary whose values become the bytes that were kept under their names.

    Raises:
        ValueError: there is no such file.
        NotImplementedError: the file holds something else; or a module of PyTorch's archive is called.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.jit.load.html
    """
    if isinstance(f, (str, os.PathLike)):
        if not os.path.exists(f):
            raise ValueError(f"The provided filename {f} does not exist")
        if os.path.isdir(f):
            raise ValueError(f"The provided filename {f} is a directory")
    if is_script(f):
        return as_script(load_weights(f, map_location))
    content = load_own_script(f, map_location)
    if content is None:
        content = load_objects(f, map_location=map_location, weights_only=False)
    if not isinstance(content, dict) or _MARK not in content:
        raise NotImplementedError(
            "torchlike does not support torch.jit.load of a file that torch.jit.save of torchlike did not write"
        )
    for name in _extra_files or {}:
        _extra_files[name] = content["extra_files"].get(name, _extra_files[name])  # pyright: ignore[reportOptionalSubscript]
    return as_script(content["script"])


def _save_to_buffer(m: object, _extra_files: dict[str, str | bytes] | None = None) -> bytes:
    buffer = io.BytesIO()
    save(m, buffer, _extra_files)
    return buffer.getvalue()


def _code(obj: Any) -> str:
    """The Python source of a function, or of a module's ``forward``."""
    return inspect.getsource(type(obj).forward if isinstance(obj, Module) else obj)


_ATTRIBUTES = {
    "save": lambda obj: partial(save, obj),
    "save_to_buffer": lambda obj: partial(_save_to_buffer, obj),
}
_scripted.ATTRIBUTES.update(
    {
        **_ATTRIBUTES,
        "code": _code,
        "original_name": lambda module: type(module).__name__,
    }
)
