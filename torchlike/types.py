"""torch.types: names for the types of arguments, for annotations and ``isinstance``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import IO, TypeAlias, Union

from ._core.devices import device as _device
from ._core.size import Size as Size
from ._core.tensor import Tensor as Tensor
from .ops.shape.storages import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]

_int, _float, _bool, _complex, _str, _bytes = int, float, bool, complex, str, bytes
_size: TypeAlias = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007  as an object, not as text
_symsize: TypeAlias = Union[Size, Sequence[int]]  # noqa: UP007
_Number = (int, float, bool)
_TensorOrTensors: TypeAlias = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_TensorOrOptionalTensors: TypeAlias = Union[Tensor, Sequence[Union[Tensor, None]]]  # noqa: UP007

Device: TypeAlias = Union[_device, str, int, None]  # noqa: UP007
FileLike: TypeAlias = Union[str, os.PathLike[str], IO[bytes]]  # noqa: UP007
Number: TypeAlias = Union[int, float, bool]  # noqa: UP007
# Sizes are known when a program is recorded, so what PyTorch calls symbolic are plain numbers.
IntLikeType, FloatLikeType, BoolLikeType = int, float, bool
