"""The former classes of tensors on a GPU: ``torch.cuda.FloatTensor(2, 3)``."""

from .._core import dtypes
from ..ops.creation.legacy import Typed

__all__ = [
    "BFloat16Tensor", "BoolTensor", "ByteTensor", "CharTensor", "DoubleTensor", "FloatTensor", "HalfTensor", "IntTensor",
    "LongTensor", "ShortTensor",
]  # fmt: skip

FloatTensor = Typed("FloatTensor", dtypes.float32, "cuda")
DoubleTensor = Typed("DoubleTensor", dtypes.float64, "cuda")
HalfTensor = Typed("HalfTensor", dtypes.float16, "cuda")
BFloat16Tensor = Typed("BFloat16Tensor", dtypes.bfloat16, "cuda")
LongTensor = Typed("LongTensor", dtypes.int64, "cuda")
IntTensor = Typed("IntTensor", dtypes.int32, "cuda")
ShortTensor = Typed("ShortTensor", dtypes.int16, "cuda")
CharTensor = Typed("CharTensor", dtypes.int8, "cuda")
ByteTensor = Typed("ByteTensor", dtypes.uint8, "cuda")
BoolTensor = Typed("BoolTensor", dtypes.bool_, "cuda")
