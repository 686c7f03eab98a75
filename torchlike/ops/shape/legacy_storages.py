"""PyTorch's old class of storages for each dtype: ``torch.FloatStorage``, ``torch.ByteStorage``."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..._core import dtypes
from ..._core.annotations import DeviceLike
from ..._core.tensor import Tensor
from ...dispatch.register import Form, composite
from .storages import TypedStorage, UntypedStorage


class LegacyStorage(type):
    """The class of ``FloatStorage`` and of related types. They make typed storages; a typed storage of the dtype is an instance."""

    dtype: dtypes.dtype

    def __new__(mcls, dtype: dtypes.dtype) -> LegacyStorage:
        about = f"Makes typed storages of {dtype}. New programs use ``UntypedStorage``."
        result = super().__new__(mcls, f"{dtype.scalar_name}Storage", (), {"__module__": "torch", "__doc__": about})
        result.dtype = dtype
        return result

    def __init__(cls, dtype: dtypes.dtype) -> None:
        pass

    def __call__(
        cls,
        *args: int | Sequence[complex],
        wrap_storage: UntypedStorage | None = None,
        device: DeviceLike | None = None,
    ) -> TypedStorage:
        return TypedStorage(
            *args, wrap_storage=wrap_storage, dtype=cls.dtype, device=device, _name=f"torch.{cls.__name__}"
        )

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, TypedStorage) and instance.dtype is cls.dtype

    def from_buffer(
        cls, buffer: bytes | bytearray | memoryview, byte_order: str | None = None, count: int = -1, offset: int = 0
    ) -> TypedStorage:
        """A storage with a copy of what a buffer holds.

        Args:
            byte_order: "native", "little" or "big"; only for elements of one byte it may be left out.
            count: how many elements; -1: all that there are.
            offset: how many bytes come before them.

        Raises:
            RuntimeError: no byte order. ValueError: the buffer does not have so many elements, or an unknown byte order.

        >>> torch.ByteStorage.from_buffer(b"abc").tolist()
        [97, 98, 99]
        """
        memory = UntypedStorage.from_buffer(buffer, byte_order, count, offset, dtype=cls.dtype)
        return TypedStorage(wrap_storage=memory, dtype=cls.dtype)

    _from_buffer = from_buffer

    def from_file(cls, filename: str | os.PathLike[str], shared: bool = False, size: int = 0) -> TypedStorage:
        """A storage of so many elements over a file, see ``UntypedStorage.from_file``."""
        memory = UntypedStorage.from_file(filename, shared, size * cls.dtype.itemsize)
        return TypedStorage(wrap_storage=memory, dtype=cls.dtype)


BFloat16Storage = LegacyStorage(dtypes.bfloat16)
BoolStorage = LegacyStorage(dtypes.bool_)
ByteStorage = LegacyStorage(dtypes.uint8)
CharStorage = LegacyStorage(dtypes.int8)
ComplexDoubleStorage = LegacyStorage(dtypes.complex128)
ComplexFloatStorage = LegacyStorage(dtypes.complex64)
DoubleStorage = LegacyStorage(dtypes.float64)
FloatStorage = LegacyStorage(dtypes.float32)
HalfStorage = LegacyStorage(dtypes.float16)
IntStorage = LegacyStorage(dtypes.int32)
LongStorage = LegacyStorage(dtypes.int64)
ShortStorage = LegacyStorage(dtypes.int16)

LEGACY: dict[dtypes.dtype, LegacyStorage] = {
    kind.dtype: kind for kind in list(globals().values()) if isinstance(kind, LegacyStorage)
}


@composite(forms=Form.METHOD)
def storage_type(self: Tensor) -> LegacyStorage:
    """The old class of storages of the tensor's dtype.

    >>> torch.ones(2).storage_type()
    <class 'torch.FloatStorage'>
    """
    return LEGACY[self.dtype]
