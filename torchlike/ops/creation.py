"""Tensors made from data or from a shape."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import devices, dtypes
from .._core.storage import Storage
from .._core.tensor import Tensor, from_value
from ..engine.value import Value

__all__ = ["tensor"]


_new = object.__new__


def tensor(
    data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False, pin_memory: bool = False
) -> Tensor:
    array = np.array(data)
    if dtype is None and array.dtype == np.float64 and not isinstance(data, np.ndarray):
        array = array.astype(dtypes.get_default_dtype().numpy)
    if dtype is not None:
        array = array.astype(dtype.numpy)
    t = from_value(Value.on_host(array, devices.placement(device)))
    return t.requires_grad_() if requires_grad else t


def legacy_constructor(cls: type[Tensor], *args: Any, **kwargs: Any) -> Tensor:
    raise NotImplementedError
