"""torch.storage: the classes of storages, and PyTorch's old one for each dtype: ``torch.FloatStorage``, ``torch.ByteStorage``."""

from __future__ import annotations

from ._core import dtypes
from .ops.shape.legacy_storages import (
    LEGACY,
    BFloat16Storage as BFloat16Storage,
    BoolStorage as BoolStorage,
    ByteStorage as ByteStorage,
    CharStorage as CharStorage,
    ComplexDoubleStorage as ComplexDoubleStorage,
    ComplexFloatStorage as ComplexFloatStorage,
    DoubleStorage as DoubleStorage,
    FloatStorage as FloatStorage,
    HalfStorage as HalfStorage,
    IntStorage as IntStorage,
    LegacyStorage as LegacyStorage,
    LongStorage as LongStorage,
    ShortStorage as ShortStorage,
)
from .ops.shape.storages import TypedStorage as TypedStorage, UntypedStorage as UntypedStorage
from .serialization._plain_pickles import _load_from_bytes as _load_from_bytes

__all__ = [
    "BFloat16Storage", "BoolStorage", "ByteStorage", "CharStorage", "ComplexDoubleStorage", "ComplexFloatStorage", "DoubleStorage",
    "FloatStorage", "HalfStorage", "IntStorage", "LongStorage", "ShortStorage", "TypedStorage", "UntypedStorage",
]  # fmt: skip


def _dtype_to_storage_type_map() -> dict[dtypes.dtype, str]:
    """The names of the classes of typed storages, by dtype."""
    return {dtype: kind.__name__ for dtype, kind in LEGACY.items()}


def _storage_type_to_dtype_map() -> dict[str, dtypes.dtype]:
    """The dtypes of typed storages, by the name of the class."""
    return {name: dtype for dtype, name in _dtype_to_storage_type_map().items()}


def __getattr__(name: str) -> LegacyStorage:
    if name == "Storage":  # of the default dtype
        return globals()[f"{dtypes.get_default_dtype().scalar_name}Storage"]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
