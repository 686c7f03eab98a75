"""dtype objects, their categories and promotion, and the default dtype."""

from __future__ import annotations

import functools
import math
from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["dtype", "finfo", "get_default_dtype", "iinfo", "promote_types"]

BOOL, INTEGER, FLOAT, COMPLEX = range(4)  # categories, in the order in which they promote
CATEGORY_NAMES = ("bool", "integer", "float", "complex")


class dtype:
    """The type of a tensor's elements, printed as PyTorch prints it.

    >>> torch.float32, torch.int64.itemsize, torch.bfloat16.is_floating_point
    (torch.float32, 8, True)
    """

    __slots__ = ("name", "numpy", "category", "is_signed", "scalar_name", "is_floating_point", "is_complex", "itemsize")

    def __init__(self, name: str, numpy: Any, category: int, scalar_name: str) -> None:
        self.name = name
        self.numpy = np.dtype(numpy)
        self.category = category
        self.scalar_name = scalar_name  # as in PyTorch's messages: "Long"
        self.is_floating_point = category == FLOAT
        self.is_complex = category == COMPLEX
        self.is_signed = category >= FLOAT or self.numpy.kind == "i"
        self.itemsize = self.numpy.itemsize

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str | tuple[Any, ...]:
        return _named, (self.name,)

    def to_complex(self) -> dtype:
        return {"float64": complex128, "complex128": complex128}.get(self.name, complex64)

    def to_real(self) -> dtype:
        return {"complex64": float32, "complex128": float64}.get(self.name, self)


uint8 = dtype("uint8", np.uint8, INTEGER, "Byte")
int8 = dtype("int8", np.int8, INTEGER, "Char")
int16 = short = dtype("int16", np.int16, INTEGER, "Short")
int32 = int_ = dtype("int32", np.int32, INTEGER, "Int")
int64 = long = dtype("int64", np.int64, INTEGER, "Long")
uint16 = dtype("uint16", np.uint16, INTEGER, "UInt16")
uint32 = dtype("uint32", np.uint32, INTEGER, "UInt32")
uint64 = dtype("uint64", np.uint64, INTEGER, "UInt64")
float16 = half = dtype("float16", np.float16, FLOAT, "Half")
bfloat16 = dtype("bfloat16", ml_dtypes.bfloat16, FLOAT, "BFloat16")
float32 = float_ = dtype("float32", np.float32, FLOAT, "Float")
float64 = double = dtype("float64", np.float64, FLOAT, "Double")
complex64 = cfloat = dtype("complex64", np.complex64, COMPLEX, "ComplexFloat")
complex128 = cdouble = dtype("complex128", np.complex128, COMPLEX, "ComplexDouble")
bool_ = dtype("bool", np.bool_, BOOL, "Bool")
float8_e4m3fn = dtype("float8_e4m3fn", ml_dtypes.float8_e4m3fn, FLOAT, "Float8_e4m3fn")
float8_e5m2 = dtype("float8_e5m2", ml_dtypes.float8_e5m2, FLOAT, "Float8_e5m2")


class quantized_dtype(dtype):
    """The type of a quantized tensor's elements. No other tensor has it: ``quantize_per_tensor`` and its like make those."""

    __slots__ = ("stored",)

    def __init__(self, name: str, stored: dtype, scalar_name: str) -> None:
        self.name, self.stored, self.scalar_name = name, stored, scalar_name  # ``stored``: the integers in the memory
        self.category, self.itemsize = INTEGER, stored.itemsize
        self.is_floating_point = self.is_complex = False

    @property
    def is_signed(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Raises: PyTorch does not say it of quantized types."""
        raise RuntimeError("isSignedType not supported for quantized types")

    @property
    def numpy(self) -> Any:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Raises: only quantized tensors have it."""
        raise NotImplementedError(
            f"torchlike does not support tensors of {self!r} but those that torch.quantize_per_tensor, quantize_per_channel and "
            "quantize_per_tensor_dynamic make"
        )


qint8 = quantized_dtype("qint8", int8, "QInt8")
quint8 = quantized_dtype("quint8", uint8, "QUInt8")
qint32 = quantized_dtype("qint32", int32, "QInt32")

ALL = (
    uint8, int8, int16, int32, int64, uint16, uint32, uint64, float16, bfloat16, float32, float64,
    complex64, complex128, bool_, float8_e4m3fn, float8_e5m2,
)  # fmt: skip
_BY_NAME = {d.name: d for d in (*ALL, qint8, quint8, qint32)}
_BY_NUMPY = {d.numpy: d for d in ALL}
# What the C++ compiler calls them, as some of PyTorch's messages do.
C_NAMES = {
    "bool": "bool", "uint8": "unsigned char", "int8": "signed char", "int16": "short int", "int32": "int", "int64": "long int",
    "uint16": "short unsigned int", "uint32": "unsigned int", "uint64": "long unsigned int",
    "float16": "c10::Half", "bfloat16": "c10::BFloat16", "float32": "float", "float64": "double",
    "complex64": "c10::complex<float>", "complex128": "c10::complex<double>",
    "float8_e4m3fn": "c10::Float8_e4m3fn", "float8_e5m2": "c10::Float8_e5m2",
}  # fmt: skip
# What the messages about numbers that do not fit call them.
NUMBER_NAMES = C_NAMES | {
    name: f"{name}_t" for name in ("uint8", "int8", "int16", "int64", "uint16", "uint32", "uint64")
}
_LIMITED = frozenset({uint16, uint32, uint64})  # PyTorch promotes these with nothing but floats
HALVES = (float16, bfloat16)
_INTEGERS = (uint8, int8, int16, int32, int64)
_FLOATS = (float16, bfloat16, float32, float64)


def _named(name: str) -> dtype:
    return _BY_NAME[name]


def from_numpy_dtype(numpy: np.dtype[np.generic]) -> dtype:
    """The dtype of a NumPy array; TypeError in PyTorch's words for what has no counterpart."""
    try:
        return _BY_NUMPY[numpy]
    except KeyError:
        name = "void" if numpy.names else numpy.type.__name__  # only NumPy has records
        raise TypeError(
            f"can't convert np.ndarray of type numpy.{name}. The only supported types are: float64, float32, "
            "float16, complex64, complex128, int64, int32, int16, int8, uint64, uint32, uint16, uint8, and bool."
        ) from None


def promote_types(type1: dtype, type2: dtype) -> dtype:
    """The smallest dtype to which both may be cast safely.

    >>> torch.promote_types(torch.int32, torch.float16), torch.promote_types(torch.uint8, torch.int8)
    (torch.float16, torch.int16)
    """
    for position, given in enumerate((type1, type2), 1):
        if not isinstance(given, dtype):
            raise TypeError(
                f"promote_types(): argument 'type{position}' (position {position}) must be torch.dtype, not {type(given).__name__}"
            )
    if type1 is type2:
        return type1
    if (type1.itemsize == 1 and type1.category == FLOAT) or (type2.itemsize == 1 and type2.category == FLOAT):
        raise RuntimeError(
            f"Promotion for Float8 Types is not supported, attempted to promote {type1.scalar_name} and {type2.scalar_name}"
        )
    low, high = sorted((type1, type2), key=lambda d: d.category)
    if (type1 in _LIMITED or type2 in _LIMITED) and high.category != FLOAT:
        raise RuntimeError(
            "Promotion for uint16, uint32, uint64 types is not supported, attempted to promote "
            f"{type1.scalar_name} and {type2.scalar_name}"
        )
    if high.category == COMPLEX:
        return complex128 if complex128 in (low, high) or low is float64 else complex64
    if low.category != high.category:
        return high
    if high.category == FLOAT:
        if type1.itemsize == type2.itemsize:
            return float32  # float16 and bfloat16: neither holds the other
        return max((type1, type2), key=lambda d: d.itemsize)
    small, large = sorted((type1, type2), key=lambda d: d.itemsize)
    return int16 if small.itemsize == large.itemsize else large


def can_cast(from_: dtype, to: dtype) -> bool:
    """Whether PyTorch casts a result of one dtype into an output of the other: never to a lower category."""
    for name, position, given in (("from_", 1, from_), ("to", 2, to)):
        if not isinstance(given, dtype):
            raise TypeError(
                f"can_cast(): argument '{name}' (position {position}) must be torch.dtype, not {type(given).__name__}"
            )
    if from_.category == INTEGER and to.category == BOOL:
        return False
    return from_.category <= to.category


class _Default:
    dtype = float32


def get_default_dtype() -> dtype:
    """The dtype of floating-point tensors that are made without one: ``torch.float32`` unless changed.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _Default.dtype


def of_number(number: object) -> dtype:
    """The dtype a tensor made of this Python number has."""
    if isinstance(number, bool):
        return bool_
    if isinstance(number, int):
        return int64
    if isinstance(number, float):
        return _Default.dtype
    return _Default.dtype.to_complex()


# What Python's own types mean where a dtype is asked for.
PYTHON_TYPES: dict[object, dtype] = {float: float64, int: int64, bool: bool_, complex: complex128}

_DEFAULT: Any = object()


def _a_dtype(name: str, value: object) -> dtype:
    if isinstance(value, type):
        value = PYTHON_TYPES.get(value, value)
    if not isinstance(value, dtype):
        kind = "Tensor" if hasattr(value, "_storage") else value.__class__.__name__
        if value.__class__.__module__.startswith("numpy"):
            kind = f"{value.__class__.__module__}.{kind}"
        raise TypeError(f"{name}(): argument 'type' (position 1) must be torch.dtype, not {kind}")
    return value


@functools.cache
def limits(kind: np.dtype) -> Any:
    """NumPy's limits of a dtype, for which it takes microseconds."""
    return np.iinfo(kind) if kind.kind in "iu" else ml_dtypes.finfo(kind)


class finfo:
    """Limits of a floating-point dtype: bits, eps, max, min, tiny, smallest_normal, resolution.

    >>> torch.finfo(torch.float32).eps
    1.1920928955078125e-07
    """

    __slots__ = ("bits", "dtype", "eps", "max", "min", "resolution", "smallest_normal", "tiny")

    def __init__(self, type: object = _DEFAULT) -> None:
        type = _Default.dtype if type is _DEFAULT else _a_dtype("finfo", type)
        if type.category < FLOAT:
            raise TypeError(
                "torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.finfo'"
            )
        info = limits(type.to_real().numpy)
        self.bits = int(info.bits)
        self.eps, self.max, self.min = float(info.eps), float(info.max), float(info.min)
        self.tiny = self.smallest_normal = float(info.smallest_normal)
        self.resolution = float(f"1e-{int(info.nmant * math.log10(2))}")
        self.dtype = type.to_real().name

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: bits, max, min.

    >>> torch.iinfo(torch.int8).max
    127
    """

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, type: object = _DEFAULT) -> None:
        if type is _DEFAULT:
            raise TypeError('iinfo() missing 1 required positional arguments: "type"')
        type = _a_dtype("iinfo", type)
        if type is bool_:
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if type.category != INTEGER:
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'")
        info = limits(type.numpy)
        self.bits, self.max, self.min, self.dtype = info.bits, int(info.max), int(info.min), type.name

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __repr__(self) -> str:
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"
