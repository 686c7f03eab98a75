"""The names that PyTorch's messages give to values."""

from __future__ import annotations

from typing import Any

from ..._core.dtypes import from_numpy_dtype
from ..._core.tensor import Tensor


def typename(value: Any) -> str:
    """PyTorch's name for a value: ``torch.FloatTensor`` for a tensor, module and name for a class or function, else its class's."""
    if isinstance(value, Tensor):
        scalar = from_numpy_dtype(value._aval.dtype).scalar_name
        return f"torch.{'cuda.' if value.is_cuda else ''}{scalar}Tensor"
    owner = value if hasattr(value, "__qualname__") or hasattr(value, "__name__") else type(value)
    name = getattr(owner, "__qualname__", None) or owner.__name__
    module = getattr(owner, "__module__", None)
    return name if module in (None, "", "builtins") else f"{module}.{name}"
