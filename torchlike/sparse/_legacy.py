"""The former constructors: ``torch.sparse.FloatTensor(indices, values, size)``, and the classes behind those names."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.tensor import Tensor
from ..dispatch.options import is_integer
from ._construction import sparse_coo_tensor
from ._parts import is_coo

__all__ = [
    "BFloat16Tensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor", "LongTensor",
    "ShortTensor",
]  # fmt: skip


class TypedSparse(type):
    """The class of ``torch.sparse.FloatTensor`` and the like: a tensor is an instance if it is sparse and has the dtype."""

    dtype: dtypes.dtype

    def __new__(mcls, name: str, dtype: dtypes.dtype) -> Any:
        text = f"Makes sparse tensors of {dtype}: use ``torch.sparse_coo_tensor`` instead."
        result = super().__new__(mcls, name, (), {"__module__": "torch.sparse", "__doc__": text})
        result.dtype = dtype
        return result

    def __init__(cls, name: str, dtype: dtypes.dtype) -> None:
        pass

    def __call__(cls, *args: Any) -> Tensor:
        """Sizes, or indices and values, with a size or without."""
        if not args:
            args = (0,)
        if isinstance(args[0], Tensor):
            return sparse_coo_tensor(*args)  # the values decide about the dtype, as in PyTorch
        sizes = args if is_integer(args[0]) else args[0]
        return sparse_coo_tensor(size=sizes, dtype=cls.dtype)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and is_coo(instance) and instance.dtype is cls.dtype


FloatTensor = TypedSparse("FloatTensor", dtypes.float32)
DoubleTensor = TypedSparse("DoubleTensor", dtypes.float64)
HalfTensor = TypedSparse("HalfTensor", dtypes.float16)
BFloat16Tensor = TypedSparse("BFloat16Tensor", dtypes.bfloat16)
LongTensor = TypedSparse("LongTensor", dtypes.int64)
IntTensor = TypedSparse("IntTensor", dtypes.int32)
ShortTensor = TypedSparse("ShortTensor", dtypes.int16)
CharTensor = TypedSparse("CharTensor", dtypes.int8)
ByteTensor = TypedSparse("ByteTensor", dtypes.uint8)
