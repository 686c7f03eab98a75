"""The former constructors: ``torch.Tensor(2, 3)``, ``torch.LongTensor([1, 2])``, and the classes behind those names."""

from __future__ import annotations

from typing import Any

from ..._core import devices, dtypes
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor, from_value
from ...dispatch.options import is_integer, size_of
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ...engine.value import Value
from ..shape.sharing import viewed_as
from ..shape.storages import TypedStorage, UntypedStorage, in_elements_of
from .filled import filled
from .from_data import array_of

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip


def legacy_constructor(cls: type[Tensor], *args: object, **kwargs: Any) -> Tensor:
    """``Tensor(*sizes)`` (elements mean nothing), ``Tensor(data)``, ``Tensor(tensor)``; for ``cls`` and with the default dtype."""
    if kwargs.get("device") is not None and len(args) == 1 and isinstance(args[0], Tensor):
        raise RuntimeError(
            "Legacy tensor constructor of the form torch.Tensor(tensor, device=device) is not supported.  Use torch.tensor(...) or "
            "torch.as_tensor(...) instead."
        )
    result = _construct(dtypes.get_default_dtype(), True, args, **kwargs)
    return result if cls is Tensor else as_class(cls, result)


def _construct(
    dtype: dtypes.dtype,
    any_dtype: bool,
    args: tuple[object, ...],
    *,
    device: Any = None,
    size: Any = None,
    where: str = "cpu",
) -> Tensor:
    if size is not None and not args:
        args = (size_of("new", (size,), is_variadic=False),)
        return filled(args[0], 0, dtype, devices.placement(where))
    if device is not None and devices.as_device(device).type != where:
        raise RuntimeError(
            f"legacy constructor expects device type: {where} but device type: {devices.as_device(device).type} was passed"
        )
    placement = devices.placement(where)
    if not args:
        return filled((0,), 0, dtype, placement)
    first = args[0]
    if len(args) == 1 and isinstance(first, Tensor) and not (first.dim() == 0 and is_integer(first)):
        if not any_dtype and first.dtype is not dtype:
            raise TypeError(f"expected a tensor of dtype {dtype} (got {first.dtype}): use Tensor.to(dtype) to convert")
        return viewed_as(Tensor, first)
    if (len(args) == 1 and (type(first).__name__ == "Size" or is_integer(first))) or len(args) > 1:
        if not is_integer(first) and len(args) > 1:
            types = ", ".join(type_name(a) for a in args)
            raise TypeError(
                f"new() received an invalid combination of arguments - got ({types}), but expected sizes or a sequence"
            )
        return filled(size_of("new", args), 0, dtype, placement)
    if isinstance(first, TypedStorage):
        if first.dtype is not dtype:
            raise RuntimeError(
                f"Expected a Storage of type {dtype.scalar_name} or an UntypedStorage, but got type {first.dtype.scalar_name} "
                "for argument 1 'storage'"
            )
        first = first.untyped()
    if isinstance(first, UntypedStorage):
        return in_elements_of(first, dtype)
    if first is None or isinstance(first, (bool, float, complex)):
        raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
    return from_value(Value.on_host(array_of(first, dtype), placement))


@composite(forms=Form.METHOD)
def new(self: Tensor, *args: object, **kwargs: Any) -> Tensor:
    """As ``torch.Tensor(*args)``, in this tensor's dtype. Deprecated: ``new_empty`` and ``new_tensor`` say what is meant."""
    return _construct(self.dtype, True, args, **kwargs)


class Typed(type):
    """The class of ``FloatTensor`` and of related types: a tensor is an instance if it has the dtype and lies on the device."""

    dtype: dtypes.dtype
    place: str

    def __new__(mcls, name: str, dtype: dtypes.dtype, place: str = "cpu") -> type:
        module = "torch" if place == "cpu" else f"torch.{place}"
        result = super().__new__(
            mcls, name, (), {"__module__": module, "__doc__": f"Makes {place.upper()} tensors of {dtype}."}
        )
        result.dtype, result.place = dtype, place
        return result

    def __init__(cls, name: str, dtype: dtypes.dtype, place: str = "cpu") -> None:
        pass

    def __call__(cls, *args: object, **kwargs: object) -> Tensor:
        if not devices.devices_of(cls.place):
            raise TypeError(
                f"type {cls.__module__}.{cls.__name__} not available. Torch not compiled with {cls.place.upper()} enabled."
            )
        return _construct(cls.dtype, False, args, where=cls.place, **kwargs)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.device.type == cls.place and instance.dtype is cls.dtype


FloatTensor = Typed("FloatTensor", dtypes.float32)
DoubleTensor = Typed("DoubleTensor", dtypes.float64)
HalfTensor = Typed("HalfTensor", dtypes.float16)
BFloat16Tensor = Typed("BFloat16Tensor", dtypes.bfloat16)
LongTensor = Typed("LongTensor", dtypes.int64)
IntTensor = Typed("IntTensor", dtypes.int32)
ShortTensor = Typed("ShortTensor", dtypes.int16)
CharTensor = Typed("CharTensor", dtypes.int8)
ByteTensor = Typed("ByteTensor", dtypes.uint8)
BoolTensor = Typed("BoolTensor", dtypes.bool_)
