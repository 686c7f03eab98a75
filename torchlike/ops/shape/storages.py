"""Storages as objects: the memory that a tensor shares with its views, where it lies, and files that are used as memory."""

from __future__ import annotations

import functools
import math
import operator
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from typing import Any
from weakref import WeakKeyDictionary, ref

import numpy as np

from ..._core import devices, dtypes, file_memory
from ..._core.annotations import DeviceLike, Dtype, Layout
from ..._core.fields import storage_of
from ..._core.file_memory import MappedMemory, mapped
from ..._core.storage import Storage
from ..._core.tensor import Tensor, address_of, from_host, from_storage
from ...dispatch.options import dtype_of, placement_of, require_grad
from ...dispatch.register import Form, composite
from ...dispatch.warned import warn_once
from ...engine.aval import CPU, check_room
from ...engine.value import Value
from . import resizing

__all__ = ["TypedStorage", "UntypedStorage"]


_OBJECT = 48  # bytes that PyTorch's own object takes, which ``sys.getsizeof`` counts beside the memory


class UntypedStorage:
    """The memory of a tensor, which ``tensor.untyped_storage()`` gives: its bytes, where they lie, and whether two tensors share them.

    ``UntypedStorage(3)`` has three bytes of its own, ``UntypedStorage([1, 2])`` these two.
    """

    def __init__(self, storage: Storage | int | Sequence[int] = 0, *, device: DeviceLike | None = None) -> None:
        if not isinstance(storage, Storage):
            storage = Storage(Value.on_host(_array_of(storage, dtypes.uint8, "torch.UntypedStorage")))
            if device is not None:
                storage = storage_of(from_storage(storage).to(device))
        self._root: Storage = storage.root
        # The bytes of the root's memory. Without an end it is all of them, also after the root is resized.
        self._begin, self._end = 0, None

    @staticmethod
    def from_file(filename: str | os.PathLike[str], shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """A storage over the first bytes of a file.

        Args:
            shared: what is written goes into the file, which is made, or made longer, where that is needed; else it stays
                out of the file.

        Raises:
            RuntimeError: the file cannot be opened, or is too short.

        >>> import os, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     storage = torch.UntypedStorage.from_file(os.path.join(folder, "data"), shared=True, nbytes=8)
        >>> torch.empty(0).set_(storage)
        tensor([0., 0.])
        """
        return UntypedStorage(mapped(os.fspath(filename), bool(shared), nbytes, np.dtype(np.uint8)))

    @staticmethod
    def from_buffer(
        buffer: bytes | bytearray | memoryview,
        byte_order: str | None = None,
        count: int = -1,
        offset: int = 0,
        *,
        dtype: dtypes.dtype | None = None,
    ) -> UntypedStorage:
        """A storage with a copy of what a buffer holds.

        Args:
            byte_order: "native", "little" or "big"; only for elements of one byte it may be left out.
            count: how many elements of the dtype; -1: all that there are.
            offset: how many bytes come before them.

        Raises:
            RuntimeError: no byte order, or no dtype. ValueError: the buffer does not have so many elements, or an unknown byte order.

        >>> torch.UntypedStorage.from_buffer(b"abc", dtype=torch.uint8).tolist()
        [97, 98, 99]
        """
        if dtype is None:
            raise RuntimeError("argument 'dtype' cannot be None")
        size = dtype.itemsize
        if byte_order is None:
            if size > 1:
                raise RuntimeError("function missing required argument 'byte_order' (pos 2)")
            byte_order = "native"
        if byte_order not in ("native", "little", "big"):
            raise ValueError(f"invalid byte_order '{byte_order}' (expected 'big', 'little', or 'native')")
        length = memoryview(buffer).nbytes
        if not 0 <= offset <= length:
            raise ValueError(
                f"offset must be non-negative and no greater than buffer length ({length}) , but got {offset}"
            )
        if count < 0:
            if (length - offset) % size:
                raise ValueError(f"buffer size ({length}) must be a multiple of element size ({size})")
            count = (length - offset) // size
        if offset + count * size > length:
            raise ValueError(
                f"buffer has only {length - offset} elements after offset {offset}, but specified a size of {count}"
            )
        memory = UntypedStorage(Storage(Value.on_host(np.frombuffer(buffer, np.uint8, count * size, offset).copy())))
        if byte_order not in ("native", sys.byteorder):
            memory.byteswap(dtype)
        return memory

    def byteswap(self, dtype: dtypes.dtype) -> None:
        """Turns the bytes of each element round; those of a complex number's two parts."""
        size = dtype.itemsize // (2 if dtype.is_complex else 1)
        turned = self._bytes().reshape(-1, size)[:, ::-1].reshape(-1)
        in_elements_of(self, dtypes.uint8).copy_(from_host(np.ascontiguousarray(turned)))

    def nbytes(self) -> int:
        """Its size in bytes."""
        if self._end is not None:
            return self._end - self._begin
        shrunk = resizing.shrunk.get(self._root)
        if shrunk is not None:
            return shrunk
        aval = self._root.value.aval
        return math.prod(aval.shape) * aval.dtype.itemsize

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes an element takes: 1."""
        return 1

    def __sizeof__(self) -> int:
        return _OBJECT + self.nbytes()

    @property
    def _cdata(self) -> int:
        """A number that storages of the same memory share."""
        return id(self._root)

    def data_ptr(self) -> int:
        """The address of the memory, from then on as long as the storage lives; 0 if it is empty.

        Raises:
            NotImplementedError: it is not on the CPU.
        """
        return address_of(self._root) + self._begin if self.nbytes() else 0

    @property
    def filename(self) -> str | None:
        """The file that what is written goes into, if there is one."""
        return self._root.host.filename if isinstance(self._root.host, MappedMemory) else None

    def is_shared(self) -> bool:
        """Whether other processes can see it: after ``share_memory_``, where it is a file, and on a GPU."""
        host = self._root.host
        return self.is_cuda or file_memory.is_shared(self._root) or isinstance(host, MappedMemory)

    @property
    def device(self) -> devices.device:
        return devices.of_placement(self._root.value.aval.placement)

    @property
    def is_cuda(self) -> bool:
        return self.device.type == "cuda"

    def untyped(self) -> UntypedStorage:
        """The storage itself."""
        return self

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._bytes().tolist()

    def __getitem__(self, index: object) -> Any:
        """A byte as a number, or a storage over some of the bytes that shares their memory."""
        if isinstance(index, slice):
            begin, end, step = index.indices(self.nbytes())
            if step != 1:
                raise RuntimeError(f"Trying to slice with a step of {step}, but only a step of 1 is supported")
            part = UntypedStorage(self._root)
            part._begin, part._end = self._begin + begin, self._begin + max(begin, end)
            return part
        return self._bytes()[_wrapped(self, index)].item()

    def __setitem__(self, index: int | slice, value: int) -> None:
        in_elements_of(self, dtypes.uint8)[index if isinstance(index, slice) else _wrapped(self, index)] = value

    def fill_(self, value: int) -> UntypedStorage:
        """Writes a number into each byte."""
        in_elements_of(self, dtypes.uint8).fill_(value)
        return self

    def copy_(self, source: UntypedStorage, non_blocking: bool = False) -> UntypedStorage:
        """Writes the bytes of another storage of this size.

        Raises:
            RuntimeError: the sizes differ.
        """
        if source.nbytes() != self.nbytes():
            raise RuntimeError(
                f"size does not match, self was {self.nbytes()} bytes but src was {source.nbytes()} bytes"
            )
        in_elements_of(self, dtypes.uint8).copy_(in_elements_of(source, dtypes.uint8))
        return self

    def clone(self) -> UntypedStorage:
        """A storage of its own with the same bytes."""
        return UntypedStorage(storage_of(in_elements_of(self, dtypes.uint8).clone()))

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> UntypedStorage:
        # Under the key that tensors use: a tensor and a storage that share memory share that of their copies.
        key = id(self._root)
        storage = memo.get(key)
        if storage is None:
            storage = memo[key] = Storage(self._root.read().fresh())
        result = UntypedStorage(storage)
        result._begin, result._end = self._begin, self._end
        return result

    def __reduce__(self) -> tuple[Any, ...]:
        return operator.methodcaller("untyped_storage"), (in_elements_of(self, dtypes.uint8).clone(),)

    def cpu(self) -> UntypedStorage:
        """The bytes on the CPU: the storage itself if it lies there."""
        return self.to(device="cpu")

    def to(self, *, device: DeviceLike, non_blocking: bool = False) -> UntypedStorage:
        """The bytes on a device: the storage itself if it lies there."""
        flat = in_elements_of(self, dtypes.uint8)
        on_device = flat.to(device)
        return self if on_device.device == flat.device else UntypedStorage(storage_of(on_device))

    def get_device(self) -> int | None:
        """The number of its device, None on the CPU."""
        return self.device.index

    def resizable(self) -> bool:
        """Whether it can get another size: memory that is NumPy's too, or a file's, cannot."""
        host = self._root.host
        return self._end is None and not (host is not None and host.shared and host.kept is None)

    def resize_(self, size: int) -> UntypedStorage:
        """Gives it so many bytes. Tensors over it stay as they are; what they show of memory that is gone is undefined.

        Raises:
            RuntimeError: the memory is NumPy's too, or a file's, or only a part of a storage.
        """
        if size < 0:
            raise RuntimeError(f"Storage size must not be negative, got {size}")
        if not self.resizable():
            raise RuntimeError("Trying to resize storage that is not resizable")
        resizing.resize(self._root, size)
        return self

    def _bytes(self) -> np.ndarray:
        _refuse_meta(self)
        whole = np.ascontiguousarray(self._root.read().numpy()).reshape(-1).view(np.uint8)
        return whole[self._begin : self._end]

    def __iter__(self) -> Iterator[int]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and self._place() == other._place()

    def __hash__(self) -> int:
        return hash(self._place())

    def _place(self) -> tuple[int, int, int | None]:
        return id(self._root), self._begin, self._end

    def __repr__(self) -> str:
        rows = "...\n" if self.device.type == "meta" else "".join(f" {byte}\n" for byte in self)
        return f"{rows}[torch.storage.UntypedStorage(device={self.device}) of size {self.nbytes()}]"


def _array_of(source: object, dtype: dtypes.dtype, name: str) -> np.ndarray:
    """New memory: of so many elements, or of the elements of a sequence."""
    if hasattr(source, "__index__"):
        count = operator.index(source)  # pyright: ignore[reportArgumentType]
        check_room((max(count, 0),), dtype.numpy, CPU)
        return np.zeros(count, dtype.numpy)
    if isinstance(source, (UntypedStorage, TypedStorage, Tensor)):
        raise TypeError(f"{_combination(name)}Argument type not recognized: {type(source)}")
    if not isinstance(source, Sequence):
        raise RuntimeError(f"{name}(): Expected a sequence type, but got {type(source).__name__}")
    for item in source:
        if not isinstance(item, (bool, int, float, complex, np.generic)):
            raise RuntimeError(
                f"{name}(): tried to construct a storage from a sequence ({type(source).__name__}), but one of the items was of "
                f"type {type(item).__name__} instead of int"
            )
    return np.array(source, dtype.numpy)


def _combination(name: str) -> str:
    return (
        f"<class '{name}'>.__new__ received an invalid combination of arguments. Expected one of:\n * no arguments\n"
        " * (int size)\n * (Sequence data)\n * (*, UntypedStorage wrap_storage)\n"
    )


class TypedStorage:
    """The memory of a tensor as elements of its dtype, which ``tensor.storage()`` gives. PyTorch has it for old programs.

    ``TypedStorage(3, dtype=torch.int32)`` has three elements of its own, ``TypedStorage([1, 2], dtype=torch.int32)`` these two.
    """

    def __init__(
        self,
        *args: int | Sequence[complex],
        wrap_storage: UntypedStorage | None = None,
        dtype: dtypes.dtype | None = None,
        device: DeviceLike | None = None,
        _name: str = "torch.storage.TypedStorage",
    ) -> None:
        self.dtype = dtypes.get_default_dtype() if dtype is None else dtype
        if wrap_storage is None:
            if len(args) > 1:
                raise RuntimeError(f"{_combination(_name)}Too many positional arguments")
            array = _array_of(args[0] if args else 0, self.dtype, _name)
            wrap_storage = UntypedStorage(Storage(Value.on_host(array)))
            if device is not None:
                wrap_storage = wrap_storage.to(device=device)
        self._untyped_storage = wrap_storage

    def untyped(self) -> UntypedStorage:
        """The same memory as bytes."""
        return self._untyped_storage

    def nbytes(self) -> int:
        """Its size in bytes."""
        return self._untyped_storage.nbytes()

    def size(self) -> int:
        """Its size in elements."""
        return self.nbytes() // self.dtype.itemsize

    __len__ = size

    def element_size(self) -> int:
        """Bytes an element takes."""
        return self.dtype.itemsize

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes()

    @property
    def _cdata(self) -> int:
        return self._untyped_storage._cdata

    def data_ptr(self) -> int:
        """The address of the memory, as ``UntypedStorage.data_ptr``."""
        return self._untyped_storage.data_ptr()

    def is_shared(self) -> bool:
        """Whether other processes can see it."""
        return self._untyped_storage.is_shared()

    def resizable(self) -> bool:
        """Whether it can get another size, see ``UntypedStorage.resizable``."""
        return self._untyped_storage.resizable()

    def resize_(self, size: int) -> None:
        """Gives it so many elements, see ``UntypedStorage.resize_``."""
        self._untyped_storage.resize_(size * self.dtype.itemsize)

    @property
    def device(self) -> devices.device:
        return self._untyped_storage.device

    @property
    def is_cuda(self) -> bool:
        return self._untyped_storage.is_cuda

    def tolist(self) -> list[Any]:
        """The elements as Python numbers."""
        _refuse_meta(self)
        return in_elements_of(self._untyped_storage, self.dtype).tolist()

    def __getitem__(self, index: int) -> Any:
        _refuse_meta(self)
        return in_elements_of(self._untyped_storage, self.dtype)[_wrapped(self, index)].item()

    def __setitem__(self, index: int | slice, value: object) -> None:
        elements = in_elements_of(self._untyped_storage, self.dtype)
        if not isinstance(index, slice):
            elements[_wrapped(self, index)] = value
        else:
            elements[index] = value

    def fill_(self, value: complex) -> TypedStorage:
        """Writes a number into each element."""
        in_elements_of(self._untyped_storage, self.dtype).fill_(value)
        return self

    def copy_(self, source: TypedStorage, non_blocking: bool = False) -> TypedStorage:
        """Writes the bytes of another storage; they are not converted."""
        self._untyped_storage.copy_(source._untyped_storage)
        return self

    def clone(self) -> TypedStorage:
        """A storage of its own with the same elements."""
        return TypedStorage(wrap_storage=self._untyped_storage.clone(), dtype=self.dtype)

    __copy__ = clone

    def __deepcopy__(self, memo: dict[int, Any]) -> TypedStorage:
        return TypedStorage(wrap_storage=deepcopy(self._untyped_storage, memo), dtype=self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(TypedStorage, wrap_storage=self._untyped_storage, dtype=self.dtype), ()

    def cpu(self) -> TypedStorage:
        """The elements on the CPU, in the same memory if it lies there."""
        return TypedStorage(wrap_storage=self._untyped_storage.cpu(), dtype=self.dtype)

    def get_device(self) -> int | None:
        """The number of its device, None on the CPU."""
        return self._untyped_storage.get_device()

    def type(self, dtype: dtypes.dtype | None = None) -> str | TypedStorage:
        """The name of PyTorch's class for this dtype; or the elements in another dtype."""
        if dtype is not None:
            return self._in(dtype)
        place = "torch.cuda" if self.is_cuda else "torch"
        return f"{place}.{self.dtype.scalar_name}Storage"

    def pickle_storage_type(self) -> str:
        """The name of PyTorch's class for this dtype, as files have it."""
        return f"{self.dtype.scalar_name}Storage"

    def _in(self, dtype: dtypes.dtype) -> TypedStorage:
        if dtype is self.dtype:
            return self
        converted = in_elements_of(self._untyped_storage, self.dtype).to(dtype)
        return TypedStorage(wrap_storage=UntypedStorage(storage_of(converted)), dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tolist())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TypedStorage) and self._untyped_storage == other._untyped_storage

    def __hash__(self) -> int:
        return hash(self._untyped_storage)

    def __repr__(self) -> str:
        rows = "...\n" if self.device.type == "meta" else "".join(f" {element}\n" for element in self)
        return f"{rows}[torch.storage.TypedStorage(dtype={self.dtype}, device={self.device}) of size {len(self)}]"


def _conversion(dtype: dtypes.dtype) -> Callable[[TypedStorage], TypedStorage]:
    def convert(self: TypedStorage) -> TypedStorage:
        """The elements in this dtype: the storage itself if it has it."""
        return self._in(dtype)

    return convert


for _name, _dtype in {
    "double": dtypes.float64, "float": dtypes.float32, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "long": dtypes.int64,
    "int": dtypes.int32, "short": dtypes.int16, "char": dtypes.int8, "byte": dtypes.uint8, "bool": dtypes.bool_,
    "complex_double": dtypes.complex128, "complex_float": dtypes.complex64,
}.items():  # fmt: skip
    setattr(TypedStorage, _name, _conversion(_dtype))


def _refuse_meta(storage: UntypedStorage | TypedStorage) -> None:
    """Raises PyTorch's error for what reads or writes elements, if the storage has none."""
    if storage.device.type == "meta":
        raise NotImplementedError("Not available for 'meta' device type")


def _wrapped(storage: UntypedStorage | TypedStorage, index: Any) -> int:
    if isinstance(index, slice):
        raise RuntimeError("slices are only supported in UntypedStorage.__getitem__")
    if not hasattr(index, "__index__"):
        raise TypeError(f"can't index a torch.{type(storage).__name__} with {type(index).__name__}")
    index, size = operator.index(index), len(storage)
    if not -size <= index < size:
        raise IndexError(f"index {index} out of range for storage of size {size}")
    return index % size


def in_elements_of(storage: UntypedStorage, dtype: dtypes.dtype) -> Tensor:
    """A flat tensor over a storage's memory, of a dtype that may be another than that of the tensor it belongs to."""
    whole = from_storage(storage._root)
    flat = whole.reshape(-1).detach()
    begin, count = storage._begin, storage.nbytes() // dtype.itemsize * dtype.itemsize
    if (begin, count) != (
        0,
        flat.numel() * flat.dtype.itemsize,
    ):  # a slice, or the last bytes are not enough for an element
        flat = flat.view(dtypes.uint8)[begin : begin + count]
    return flat if flat.dtype is dtype else flat.view(dtype)


@composite(forms=Form.METHOD)
def untyped_storage(input: Tensor) -> UntypedStorage:
    """The memory that this tensor shares with its views.

    >>> x = torch.ones(2, 3)
    >>> x.untyped_storage().nbytes(), x[0].untyped_storage() == x.untyped_storage()
    (24, True)
    """
    return object_of(storage_of(input))


# The object of a memory while there is one: it is the same each time that it is asked for.
_OBJECTS: WeakKeyDictionary[Storage, ref[UntypedStorage]] = WeakKeyDictionary()


def object_of(storage: Storage) -> UntypedStorage:
    """The object that stands for a memory."""
    known = _OBJECTS.get(storage.root)
    result = None if known is None else known()
    if result is None:
        result = UntypedStorage(storage)
        _OBJECTS[storage.root] = ref(result)
    return result


@composite(forms=Form.METHOD)
def storage(input: Tensor) -> TypedStorage:
    """The memory that this tensor shares with its views, as elements of its dtype; ``untyped_storage`` is what new programs use.

    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     torch.ones(2, 3)[0].storage().size()
    6
    """
    warn_once(
        "TypedStorage is deprecated. It will be removed in the future and UntypedStorage will be the only storage class. This "
        "should only matter to you if you are using storages directly.  To access UntypedStorage directly, use "
        "tensor.untyped_storage() instead of tensor.storage()"
    )
    return TypedStorage(wrap_storage=object_of(storage_of(input)), dtype=input.dtype)


@composite(forms=Form.FUNCTION)
def from_file(
    filename: str | os.PathLike[str],
    shared: bool | None = None,
    size: int | None = 0,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A flat tensor over the first ``size`` elements of a file.

    Args:
        shared: what is written goes into the file, which is made, or made longer, where that is needed.
        device: the CPU.

    Raises:
        RuntimeError: the file cannot be opened, or is too short, or ``pin_memory`` is set.
        NotImplementedError: another layout or device.

    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     torch.from_file(os.path.join(folder, "data"), shared=True, size=3)
    tensor([0., 0., 0.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.from_file.html
    """
    if placement_of(device, layout).platform != "cpu":
        raise NotImplementedError(f"Could not run 'aten::from_file' with device={device}: files are mapped on the CPU")
    if pin_memory:
        raise RuntimeError("tensors constructed from a file cannot be pinned")
    kind = dtypes.get_default_dtype() if dtype is None else dtype_of("from_file", dtype)
    count = (size or 0) * kind.itemsize
    return require_grad(from_storage(mapped(os.fspath(filename), bool(shared), count, kind.numpy)), requires_grad)


@composite(forms=Form.METHOD)
def record_stream(input: Tensor, stream: object) -> None:
    """Does nothing: JAX keeps memory for as long as anything that was handed to the device reads it."""
