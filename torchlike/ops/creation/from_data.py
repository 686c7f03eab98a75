"""Tensors made from what Python, NumPy and other libraries have: lists, arrays, buffers, dlpack capsules."""

from __future__ import annotations

import warnings
from itertools import chain
from typing import Any

import jax
import numpy as np

from ..._core import devices, dtypes
from ..._core.annotations import DeviceLike, Dtype, Layout
from ..._core.fields import count_write, node_of, version_of
from ..._core.storage import Storage
from ..._core.tensor import Tensor, alias, from_storage, from_value
from ...dispatch.options import dtype_of, placement_of, require_grad
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ...dispatch.warned import warn_once
from ...engine.jax_settings import with_64_bits
from ...engine.value import Value
from ..shape.storages import TypedStorage, UntypedStorage, in_elements_of
from ..shape.strided_views import as_strided

_COPY_ADVICE = (
    "To copy construct from a tensor, it is recommended to use sourceTensor.detach().clone() or "
    "sourceTensor.detach().clone().requires_grad_(True), rather than {}(sourceTensor)."
)


@composite(forms=Form.FUNCTION)
def tensor(
    data: object,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Tensor:
    """A tensor holding a copy of ``data``: a number, nested sequences of numbers, a NumPy or JAX array.

    Integers become int64, floats the default dtype, unless ``dtype`` is given; arrays keep theirs.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])

    Raises:
        ValueError: sequences of different lengths. TypeError: strings. RuntimeError: objects that are no numbers, and
            numbers that the dtype cannot hold.
    """
    if isinstance(data, Tensor):
        warnings.warn(_COPY_ADVICE.format("torch.tensor"), UserWarning, stacklevel=3)
    return _copied("tensor", data, dtype, device, requires_grad)


def _copied(name: str, data: object, dtype: Dtype | None, device: DeviceLike | None, requires_grad: bool) -> Tensor:
    kind = None if dtype is None else dtype_of(name, dtype)
    if isinstance(data, Tensor):
        copy = from_value(data._value())  # a storage of its own; the value itself never changes
        if device is not None or kind is not None:
            copy = copy.to(device=device or data.device, dtype=kind or data.dtype)
            copy = alias(copy) if node_of(copy) is not None else copy
        return require_grad(copy, requires_grad)
    if isinstance(data, jax.Array):
        return require_grad(_from_jax_array(data, kind, device), requires_grad)
    if isinstance(data, (UntypedStorage, TypedStorage)):
        return require_grad(_converted(_of_storage(data, kind), None, device), requires_grad)
    return require_grad(from_value(Value.on_host(array_of(data, kind), placement_of(device))), requires_grad)


def _from_jax_array(data: Any, dtype: dtypes.dtype | None, device: DeviceLike | None) -> Tensor:
    result = from_value(Value.of(data))
    return (
        result.to(device=device or result.device, dtype=dtype or result.dtype)
        if device is not None or dtype
        else result
    )


@composite(forms=Form.METHOD)
def new_tensor(
    self: Tensor,
    data: object,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
    layout: Layout | None = None,
) -> Tensor:
    """A copy of ``data`` in this tensor's dtype and on its device."""
    if isinstance(data, Tensor):
        warnings.warn(_COPY_ADVICE.format("tensor.new_tensor"), UserWarning, stacklevel=3)
    return _copied("new_tensor", data, dtype or self.dtype, device or self.device, requires_grad)


@composite(forms=Form.FUNCTION)
def as_tensor(data: object, dtype: Dtype | None = None, device: DeviceLike | None = None) -> Tensor:
    """``data`` as a tensor: itself if it is one, sharing memory if it is a NumPy array, else a copy.

    >>> torch.as_tensor([1, 2])
    tensor([1, 2])
    """
    kind = None if dtype is None else dtype_of("as_tensor", dtype)
    if isinstance(data, Tensor):
        return _converted(data, kind, device)
    if isinstance(data, np.ndarray):
        return _converted(from_numpy(data), kind, device)
    return _copied("as_tensor", data, kind, device, False)


def _converted(source: Tensor, dtype: dtypes.dtype | None, device: DeviceLike | None) -> Tensor:
    """The tensor itself where nothing is to change."""
    if (dtype is None or dtype is source.dtype) and (
        device is None or devices.placement(device) is source._aval.placement
    ):
        return source
    return source.to(device=source.device if device is None else device, dtype=dtype or source.dtype)


@composite(forms=Form.FUNCTION)
def asarray(
    obj: object,
    *,
    dtype: Dtype | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``obj`` as a tensor, sharing memory with tensors, NumPy arrays, buffers and dlpack objects unless told to copy.

    Args:
        copy: True: always copy. False: raise where it cannot be shared. None: share where possible.

    Raises:
        ValueError: ``copy=False`` and the memory cannot be shared.
    """
    kind = None if dtype is None else dtype_of("asarray", dtype)
    if isinstance(obj, Tensor):
        shared = obj
    elif isinstance(obj, np.ndarray):
        shared = from_numpy(obj)
    elif isinstance(obj, (jax.Array, np.generic, UntypedStorage, TypedStorage)):
        shared = None
    elif obj.__class__.__name__ == "PyCapsule" or hasattr(obj, "__dlpack__"):
        shared = from_dlpack(obj)
    elif _is_buffer(obj):
        shared = frombuffer(obj, dtype=kind or dtypes.get_default_dtype())
    else:
        shared = None
    if shared is None:
        if copy is False and isinstance(obj, np.generic):
            raise RuntimeError("can't alias NumPy scalars. Either remove copy=False or transform it in a ndarray. ")
        if copy is False:
            raise ValueError("can't alias arbitrary sequence into a tensor.")
        return _copied("asarray", obj, kind, device, requires_grad)
    if copy is False and kind is not None and kind is not shared.dtype:
        raise ValueError(f"can't alias tensor with dtype '{shared.dtype.scalar_name}' into dtype '{kind.scalar_name}'.")
    result = _converted(shared, kind, device)
    if copy and result is shared:
        result = result.clone()
    if requires_grad and not result.requires_grad:
        result = require_grad(alias(result), True)
    elif not requires_grad and result.requires_grad and result is not obj:
        result = alias(result)
    return result


def _is_buffer(obj: Any) -> bool:
    """Whether an object shows its memory to others, as bytearray, memoryview and array do."""
    try:
        memoryview(obj)
    except TypeError:
        return False
    except (ValueError, BufferError):  # elements that do not follow one another
        pass
    return True


def _of_storage(storage: UntypedStorage | TypedStorage, dtype: dtypes.dtype | None) -> Tensor:
    """A flat tensor over a storage's memory. Bytes without a dtype are as many bytes of int64, as integers without one are."""
    if isinstance(storage, TypedStorage):
        expected = dtype or dtypes.get_default_dtype()
        if storage.dtype is not expected:
            raise RuntimeError(
                f"Expected a Storage of type {expected.scalar_name} or an UntypedStorage, but got {storage.dtype.scalar_name}"
            )
        return in_elements_of(storage.untyped(), storage.dtype)
    return in_elements_of(storage, dtype or (dtypes.int64 if storage.nbytes() else dtypes.get_default_dtype()))


# ---- NumPy


@composite(forms=Form.FUNCTION)
def from_numpy(ndarray: np.ndarray) -> Tensor:
    """A tensor that shares the array's memory: writing to either is seen in both.

    >>> import numpy
    >>> a = numpy.array([1.0, 2.0])
    >>> t = torch.from_numpy(a)
    >>> t[0] = 5
    >>> a
    array([5., 2.])

    Raises:
        TypeError: it is no array, or its dtype has no counterpart. ValueError: negative strides.
    """
    if not isinstance(ndarray, np.ndarray):
        kind = type(ndarray)
        name = f"numpy.{kind.__name__}" if isinstance(ndarray, np.generic) else kind.__name__
        raise TypeError(f"expected np.ndarray (got {name})")
    # The plain array behind a subclass: copies of a memmap would be memmaps, and a matrix cannot be flattened.
    ndarray = np.asarray(ndarray)
    _check_array(ndarray)
    if not ndarray.flags.writeable:
        warn_once(
            "The given NumPy array is not writable, and PyTorch does not support non-writable tensors. This means writing to this "
            "tensor will result in undefined behavior. You may want to copy the array to protect its data or make it writable "
            "before converting it to a tensor. This type of warning will be suppressed for the rest of this program.",
        )
        # Nobody can write through the array, so users cannot tell a copy from shared memory.
        return _strided_copy(ndarray)
    if ndarray.flags.c_contiguous:
        return _sharing(ndarray)
    return _over_strides(ndarray)


def _sharing(ndarray: np.ndarray) -> Tensor:
    storage = Storage(Value.on_host(ndarray.copy()))
    storage.share_with(ndarray)
    return from_storage(storage)


def _over_strides(ndarray: np.ndarray) -> Tensor:
    """A view with the array's strides, over the stretch of memory that it touches."""
    steps = tuple(s // ndarray.itemsize for s in ndarray.strides)
    reach = 1 + sum((n - 1) * s for n, s in zip(ndarray.shape, steps, strict=True)) if ndarray.size else 0
    memory = np.lib.stride_tricks.as_strided(ndarray, (reach,), (ndarray.itemsize,))
    return alias(as_strided(_sharing(memory), tuple(ndarray.shape), steps))


def _strided_copy(ndarray: np.ndarray) -> Tensor:
    return from_value(Value.on_host(np.array(ndarray, order="C", copy=True)))


def _check_array(array: np.ndarray) -> None:
    """Raises PyTorch's errors for arrays it does not take."""
    if any(s < 0 for s in array.strides):
        raise ValueError(
            "At least one stride in the given numpy array is negative, and tensors with negative strides are not currently "
            "supported. (You can probably work around this by making a copy of your array  with array.copy().) "
        )
    if any(s % array.itemsize for s in array.strides):
        raise ValueError(
            "given numpy array strides not a multiple of the element byte size. Copy the numpy array to reallocate the memory."
        )
    if not array.dtype.isnative:
        raise ValueError(
            "given numpy array has byte order different from the native byte order. Conversion between byte orders is currently "
            "not supported."
        )
    dtypes.from_numpy_dtype(array.dtype)


# ---- buffers and dlpack


@composite(forms=Form.FUNCTION)
def frombuffer(
    buffer: Any, *, dtype: Dtype | None, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Tensor:
    """A 1-dimensional tensor over the bytes of a buffer, sharing its memory.

    Args:
        count: how many elements; -1: all that there are.
        offset: bytes to skip.

    >>> torch.frombuffer(bytearray(b"abcd"), dtype=torch.uint8)
    tensor([ 97,  98,  99, 100], dtype=torch.uint8)

    Raises:
        ValueError: no buffer, an empty one, or one that is too short.
    """
    try:
        bytes_ = np.frombuffer(buffer, np.uint8) if memoryview(buffer).nbytes else np.empty(0, np.uint8)
    except TypeError:
        raise ValueError("object does not implement Python buffer protocol.") from None
    except (ValueError, BufferError):  # an array whose elements do not follow one another
        raise RuntimeError("could not retrieve buffer from object") from None
    kind = dtype_of("frombuffer", dtype)
    length, size = bytes_.size, kind.itemsize
    if length == 0 or count == 0:
        raise ValueError(f"both buffer length ({length}) and count ({count}) must not be 0")
    if not 0 <= offset < length:
        raise ValueError(
            f"offset ({offset} bytes) must be non-negative and no greater than buffer length ({length} bytes) minus 1"
        )
    if count < 0 and (length - offset) % size:
        raise ValueError(
            f"buffer length ({length - offset} bytes) after offset ({offset} bytes) must be a multiple of element size ({size})"
        )
    if count > 0 and offset + count * size > length:
        raise ValueError(
            f"requested buffer length ({count} * {size} bytes) after offset ({offset} bytes) must not be greater than actual "
            f"buffer length ({length} bytes)"
        )
    if not bytes_.flags.writeable:
        warn_once(
            "The given buffer is not writable, and PyTorch does not support non-writable tensors. This means you can write to the "
            "underlying (supposedly non-writable) buffer using the tensor. You may want to copy the buffer to protect its data or "
            "make it writable before converting it to a tensor. This type of warning will be suppressed for the rest of this "
            "program.",
        )
    stop = length if count < 0 else offset + count * size
    array = bytes_[offset:stop]
    if offset % size or not bytes_.flags.writeable:
        result = from_value(Value.on_host(np.frombuffer(array.tobytes(), kind.numpy)))
    else:
        result = _sharing(array.view(kind.numpy))
    return require_grad(result, requires_grad)


@composite(forms=Form.FUNCTION)
def from_dlpack(ext_tensor: Any, *, device: DeviceLike | None = None, copy: bool | None = None) -> Tensor:
    """A tensor from an object of another library that speaks dlpack (``__dlpack__``), or from one of JAX.

    Memory on the CPU is shared; JAX arrays never change, so theirs is used as it is.
    """
    if isinstance(ext_tensor, Tensor):
        ext_tensor._check_export()
        result = alias(ext_tensor)
    elif isinstance(ext_tensor, jax.Array):
        result = from_value(Value.of(ext_tensor))
    elif ext_tensor.__class__.__name__ == "PyCapsule":
        array = np.from_dlpack(_OfCapsule(ext_tensor))  # pyright: ignore[reportArgumentType]
        # Old capsules do not say whether the memory may be written to, and NumPy then takes it for read-only.
        result = from_numpy(array if array.flags.writeable else array.copy())
    elif not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"from_dlpack(): expected an object with __dlpack__, not {type_name(ext_tensor)}")
    elif ext_tensor.__dlpack_device__()[0] == 1:
        result = from_numpy(np.from_dlpack(ext_tensor))
    else:
        result = from_value(Value.of(with_64_bits(jax.dlpack.from_dlpack)(ext_tensor)))
    result = _converted(result, None, device)
    return result.clone() if copy else result


class _OfCapsule:
    """An object whose memory, on the CPU, a dlpack capsule is over."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __dlpack__(self, **options: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


# ---- nested sequences


_MOST_DIMS = 128
_PLAIN = frozenset({bool, int, float, complex})


def array_of(data: object, dtype: dtypes.dtype | None) -> np.ndarray:
    """A fresh NumPy array of what ``torch.tensor`` takes, with PyTorch's choice of dtype and its errors."""
    if isinstance(data, (np.ndarray, np.generic)):
        array = np.asarray(data)
        _check_array(array)
        return _cast(array, dtype.numpy) if dtype is not None else np.array(array, order="C", copy=True)
    shape, leaves = _flattened(data)
    kinds = set(map(type, leaves))
    if kinds <= _PLAIN:
        return _from_numbers(leaves, kinds, dtype).reshape(shape)
    common = None
    for kind in kinds:
        if issubclass(kind, (str, bytes)):
            if type(leaves[0]) is kind and shape:
                raise ValueError(f"too many dimensions '{kind.__name__}'")
            raise TypeError(f"new(): invalid data type '{kind.__name__}'")
    plain = []
    for leaf in leaves:
        if isinstance(leaf, Tensor):
            if leaf.numel() != 1:
                raise ValueError("only one element tensors can be converted to Python scalars")
            leaf_dtype, leaf = leaf.dtype, leaf.item()
        elif isinstance(leaf, np.generic) or (isinstance(leaf, np.ndarray) and not leaf.ndim):
            leaf_dtype, leaf = dtypes.from_numpy_dtype(leaf.dtype), leaf.item()
        elif isinstance(leaf, (bool, int, float, complex)):
            leaf_dtype = dtypes.of_number(leaf)
        elif hasattr(leaf, "__index__"):
            leaf_dtype, leaf = dtypes.int64, leaf.__index__()
        elif hasattr(leaf, "__float__"):
            leaf_dtype, leaf = dtypes.get_default_dtype(), float(leaf)
        elif _is_sequence(leaf):
            raise TypeError(f"'{type(leaf).__name__}' object cannot be interpreted as an integer")
        else:
            raise RuntimeError(f"Could not infer dtype of {type(leaf).__name__}")
        common = leaf_dtype if common is None else dtypes.promote_types(common, leaf_dtype)
        plain.append(leaf)
    return _from_numbers(plain, set(map(type, plain)), dtype or common).reshape(shape)


def _flattened(data: Any) -> tuple[tuple[int, ...], list[Any]]:
    """The shape that the first elements show, and the leaves; ValueError where a sequence has another length."""
    shape: list[int] = []
    first = data
    while _is_sequence(first):
        shape.append(len(first))
        if not shape[-1]:
            break
        if len(shape) > _MOST_DIMS:  # as of a matrix, whose rows are matrices
            raise ValueError(f"too many dimensions '{type(first).__name__}'")
        first = first[0]
    level = [data]
    if shape and isinstance(data, (list, tuple)) and len(data) and isinstance(data[0], np.ndarray):
        warn_once(
            "Creating a tensor from a list of numpy.ndarrays is extremely slow. Please consider converting the list to a single "
            "numpy.ndarray with numpy.array() before converting to a tensor.",
        )
    for dim, n in enumerate(shape):
        if not n:
            return tuple(shape), []
        for sequence in level:
            if not _is_sequence(sequence):
                raise TypeError("not a sequence")
            if len(sequence) != n:
                raise ValueError(f"expected sequence of length {n} at dim {dim} (got {len(sequence)})")
        level = list(chain.from_iterable(level))
    return tuple(shape), level


def _is_sequence(value: object) -> bool:
    if isinstance(value, (list, tuple, range, np.ndarray)):
        return True
    if isinstance(value, (str, bytes, dict, Tensor, np.generic)):
        return False
    return hasattr(value, "__getitem__") and hasattr(value, "__len__")


def _from_numbers(numbers: list[object], kinds: set[type], dtype: dtypes.dtype | None) -> np.ndarray:
    if dtype is None:
        if not numbers:
            dtype = dtypes.get_default_dtype()
        elif complex in kinds:
            dtype = dtypes.get_default_dtype().to_complex()
        elif float in kinds:
            dtype = dtypes.get_default_dtype()
        else:
            dtype = dtypes.int64 if int in kinds else dtypes.bool_
    if complex in kinds and dtype.category != dtypes.COMPLEX:
        if dtype.category == dtypes.FLOAT:
            raise TypeError("must be real number, not complex")
        if dtype.category == dtypes.INTEGER:
            raise TypeError("'complex' object cannot be interpreted as an integer")
    if dtype.category == dtypes.INTEGER:
        return _integers(numbers, kinds, dtype)
    if dtype.category == dtypes.BOOL:
        return np.array(numbers, np.bool_)
    wide = np.array(numbers, np.complex128 if dtype.category == dtypes.COMPLEX else np.float64)
    return _cast(wide, dtype.numpy)


def _integers(numbers: list[Any], kinds: set[type], dtype: dtypes.dtype) -> np.ndarray:
    limits = np.iinfo(dtype.numpy)
    if float in kinds:  # no float wraps, and the fraction counts
        if not all(float(limits.min) <= n <= float(limits.max) for n in numbers if isinstance(n, float)):
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
        numbers = [int(n) for n in numbers]
    try:
        wide = np.array(numbers, np.uint64 if dtype is dtypes.uint64 and min(numbers, default=0) >= 0 else np.int64)
    except (OverflowError, ValueError):
        if dtype is not dtypes.int64 or float in kinds:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow") from None
        raise ValueError("Overflow when unpacking long long") from None
    if dtype.itemsize < 8 and wide.size:
        low = -int(limits.max) if limits.min == 0 else int(limits.min)  # unsigned numbers wrap around
        if wide.min() < low or wide.max() > limits.max:
            raise RuntimeError(f"value cannot be converted to type {dtype.name} without overflow")
    return wide.astype(dtype.numpy)


def _cast(array: np.ndarray, to: np.dtype[np.generic]) -> np.ndarray:
    """A fresh array in another dtype, as C casts."""
    with np.errstate(over="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        if to.itemsize <= 2 and array.dtype == np.float64 and to.kind in "fV":
            array = array.astype(np.float32)  # half types are made from floats
        return np.array(array, order="C", copy=True) if array.dtype == to else array.astype(to, order="C")


@composite(forms=Form.METHOD)
def apply_(self: Tensor, callable: Any) -> Tensor:
    """Puts what a Python function gives for each element in its place; slow, and for the CPU alone.

    >>> torch.tensor([1.0, 2.0]).apply_(lambda x: x + 1)
    tensor([2., 3.])
    """
    if not self.is_cpu:
        raise TypeError("apply_ is only implemented on CPU tensors")
    if self.requires_grad:
        raise RuntimeError("Can't call apply_() on Variable that requires grad. Use var.detach().apply_() instead.")
    results = [callable(element.item()) for element in self._array().reshape(-1)]
    for result in results:
        if result is None or isinstance(result, (str, list, tuple, dict)):
            raise TypeError(f"must be real number, not {type_name(result)}")
    return _replaced(self, results)


@composite(forms=Form.METHOD)
def map_(self: Tensor, other: Tensor, callable: object) -> Tensor:
    """Puts ``callable(element, other)`` in each element's place, with the elements of another tensor; slow, and for the CPU alone.

    >>> torch.tensor([1.0, 2.0]).map_(torch.tensor([3.0, 4.0]), lambda x, y: x * y)
    tensor([3., 8.])
    """
    return _mapped("map_", self, (("'other'", other),), callable)


@composite(forms=Form.METHOD)
def map2_(self: Tensor, x: Tensor, y: Tensor, callable: object) -> Tensor:
    """``map_`` with the elements of two other tensors."""
    return _mapped("map2_", self, (("argument 'x'", x), ("argument 'y'", y)), callable)


def _mapped(name: str, self: Tensor, others: tuple[tuple[str, Tensor], ...], function: Any) -> Tensor:
    if self.requires_grad or (name == "map2_" and any(tensor.requires_grad for _, tensor in others)):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")
    for parameter, tensor in others:
        if tensor.dtype is not self.dtype or not tensor.is_cpu:
            raise TypeError(f"{name}: expected {self.type()} for {parameter} (got {tensor.type()})")
    if not self.is_cpu:
        raise TypeError(f"{name} is only implemented on CPU tensors")
    columns = [self._array(), *(tensor.detach().expand(self.shape)._array() for _, tensor in others)]  # pyright: ignore[reportAttributeAccessIssue]
    results = [
        function(*(element.item() for element in row)) for row in zip(*(c.reshape(-1) for c in columns), strict=True)
    ]
    return _replaced(self, results)


def _replaced(self: Tensor, results: list[object]) -> Tensor:
    """A tensor with other elements. PyTorch does not count this as a change, so that what is saved of it for ``backward`` stays good."""
    before = version_of(self)
    self.copy_(tensor(results, dtype=self.dtype).reshape(self.shape))
    count_write(self, before - version_of(self))
    return self
