"""The names that PyTorch's messages give to values."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import from_numpy_dtype
from ..._core.tensor import Tensor


def typename(value: Any) -> str:
    """``torch.FloatTensor`` for tensors, the plain name for builtin types, module and name for others."""
    if isinstance(value, Tensor):
        scalar = from_numpy_dtype(value._aval.dtype).scalar_name
        return f"torch.{'cuda.' if value.is_cuda else ''}{scalar}Tensor"
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
