"""Names in files: ``torch.nn.modules.linear.Linear`` in a checkpoint means torchlike's class of that name here."""

from __future__ import annotations

import importlib
from functools import lru_cache
from typing import Any

from .._core import dtypes
from ._bounds import described

# (ours, PyTorch's), the longer names first: torchvision's models have the same names as ours.
_PACKAGES = (("torchlike.vision", "torchvision"), ("torchlike", "torch"))
# Packages of PyTorch that also export what their inner files define.
_PUBLIC_MODULES = ("torch.nn.modules", "torch.nn.utils", "torch.optim", "torch.utils.data")
# Classes that are in another file than PyTorch's, with PyTorch's file.
_ELSEWHERE = {
    "torchlike.nn.modules.": {
        "InstanceNorm1d": "torch.nn.modules.instancenorm",
        "InstanceNorm2d": "torch.nn.modules.instancenorm",
        "InstanceNorm3d": "torch.nn.modules.instancenorm",
        "MultiheadAttention": "torch.nn.modules.activation",
        "_WrappedHook": "torch.nn.modules.module",
    },
    "torchlike.linalg": {"_LinAlgError": "torch._C"},
    "torchlike.serialization._rebuild": {
        "_rebuild_from_type_v2": "torch._tensor",
        **dict.fromkeys(
            (
                "_rebuild_tensor_v2",
                "_rebuild_tensor_v3",
                "_rebuild_meta_tensor_no_storage",
                "_rebuild_sparse_tensor",
                "_rebuild_qtensor",
                "_rebuild_nested_tensor",
                "_rebuild_parameter",
                "_rebuild_parameter_with_state",
            ),
            "torch._utils",
        ),
    },
    "torchlike.optim.": {"Adafactor": "torch.optim", "AdamW": "torch.optim.adamw", "Muon": "torch.optim"},
}


class Global:
    """A name of PyTorch's that is written into a file. There is no object for it here."""

    __slots__ = ("module", "name")

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name

    def __call__(self) -> None:
        """pickle requires that the function of a reduction is callable. It is never called."""
        raise TypeError(f"{self.module}.{self.name} is a name in a file")


@lru_cache(None)
def pytorchs(module: str, name: str) -> Global:
    """The name as an object, the same one each time, so that a pickle mentions it once."""
    return Global(module, name)


def outward(module: str, name: str) -> tuple[str, str] | None:
    """PyTorch's module and name for a module and name of torchlike's; None for others.

    >>> from torchlike.serialization._names import outward
    >>> outward("torchlike.nn.modules.linear", "Linear")
    ('torch.nn.modules.linear', 'Linear')
    """
    for space, moved in _ELSEWHERE.items():
        if module.startswith(space) and name in moved:
            return moved[name], name
    for ours, theirs in _PACKAGES:
        if module == ours or module.startswith(f"{ours}."):
            public = [part for part in module[len(ours) :].split(".") if not part.startswith("_")]
            return theirs + ".".join(public), name
    return None


def full_name(value: Any) -> str:
    """Module and name of a class or function, as a file written by PyTorch has them."""
    return ".".join(outward(value.__module__, value.__qualname__) or (value.__module__, value.__qualname__))


def inward(module: str, name: str) -> Any:
    """The object of torchlike that PyTorch's name means.

    Raises:
        LookupError: it is not PyTorch's. AttributeError: it is, and torchlike has nothing of that name.
    """
    package = next(((o, t) for o, t in _PACKAGES if module == t or module.startswith(f"{t}.")), None)
    if package is None:
        raise LookupError(f"{module}.{name}")
    ours, theirs = package
    places = [
        module,
        *(public.removesuffix(".modules") for public in _PUBLIC_MODULES if module.startswith(f"{public}.")),
    ]
    for place in places:
        try:
            result = importlib.import_module(ours + place[len(theirs) :])
            for part in name.split("."):
                result = getattr(result, part)
            return result
        except (ImportError, AttributeError):
            continue
    raise AttributeError(f"the file speaks of {module}.{name}, which torchlike does not have")


# ---- storages: PyTorch names the class for a dtype

# Unsigned integers of several bytes and floats of 8 bits have no class: their storage is untyped, and the file has their dtype.
STORAGES = {f"{d.scalar_name}Storage": d for d in dtypes.ALL if not d.scalar_name.startswith(("UInt", "Float8"))}
# Memory of quantized tensors: the integers in it.
QUANTIZED = {f"{d.scalar_name}Storage": d.stored for d in (dtypes.qint8, dtypes.quint8, dtypes.qint32)}
_BY_DTYPE = {d: name for name, d in STORAGES.items()}
UNTYPED = pytorchs("torch.storage", "UntypedStorage")


def storage_class(dtype: dtypes.dtype) -> Global:
    """PyTorch's class for memory of a dtype."""
    return pytorchs("torch", _BY_DTYPE[dtype]) if dtype in _BY_DTYPE else UNTYPED


def storage_dtype(kind: object) -> dtypes.dtype | None:
    """The dtype of the memory that a storage class stands for; None for untyped memory.

    Raises:
        TypeError: it is not a storage class.
    """
    if isinstance(kind, Global):
        if kind is UNTYPED:
            return None
        if kind.module in ("torch", "torch.cuda") and kind.name in STORAGES:
            return STORAGES[kind.name]
        if kind.module == "torch" and kind.name in QUANTIZED:
            return QUANTIZED[kind.name]
    raise TypeError(f"{described(getattr(kind, 'name', kind))} is not the class of a storage that torchlike knows")


def as_storage_class(module: str, name: str) -> Global | None:
    """The storage class of that name, if it is one."""
    if name.endswith("Storage") and module in ("torch", "torch.cuda", "torch.storage"):
        return pytorchs(module, name)
    return None
