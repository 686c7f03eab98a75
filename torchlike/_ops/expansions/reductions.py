"""Reductions with several forms, and element-wise functions that PyTorch makes of others."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ...dispatch.bindings import FUNCTIONS
from ...ops.shape.inspecting import result_type
from .table import expands, op

__all__ = ["full_tensor"]


def _spread(name: str) -> None:
    """Declares a standard deviation or a variance: PyTorch has one operator with ``correction`` for all forms."""

    @expands(name)
    def spread(
        input: Tensor, dim: Any = None, unbiased: bool | None = None, keepdim: bool = False, *, correction: Any = 1
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        options: dict[str, Any] = {}
        if unbiased is False:
            correction = 0
        if dim is not None or correction != 1:
            options["correction"] = correction
        if keepdim:
            options["keepdim"] = True
        return op(name, "correction")(input, dim, **options)


for name in ("std", "var", "std_mean", "var_mean"):
    _spread(name)


@expands("norm")
def norm(input: Tensor, p: Any, dim: Any, keepdim: bool, dtype: dtypes.dtype | None) -> Tensor:
    """``linalg_vector_norm``, of all orders but the nuclear norm."""
    if p == "nuc":
        with undispatched():
            return FUNCTIONS["norm"](input, p, dim, keepdim, dtype=dtype)
    options = {} if dtype is None else {"dtype": dtype}
    return op("linalg_vector_norm")(input, 2 if p in ("fro", None) else p, dim, keepdim, **options)


def _extreme(name: str) -> None:
    """Declares ``max`` or ``min``, which are three operators."""

    @expands(name)
    def extreme(input: Tensor, dim: Any = None, keepdim: bool = False, *, other: Tensor | None = None) -> Any:
        if isinstance(dim, Tensor):
            other = dim
        if other is not None:
            return op(f"{name}imum")(input, other)
        return op(name)(input) if dim is None else op(name, "dim")(input, dim, keepdim)


for name in ("max", "min"):
    _extreme(name)


@expands("square")
def square(input: Tensor) -> Tensor:
    """``pow``."""
    return op("pow", "Tensor_Scalar")(input, 2)


@expands("bitwise_not", "__invert__")
def bitwise_not(input: Tensor) -> Tensor:
    """The operator itself: ``~x`` is another public function."""
    return op("bitwise_not")(input)


def full_tensor(value: Any, dtype: dtypes.dtype) -> Tensor:
    """A number as ``scalar_tensor``; a tensor in this dtype."""
    if not isinstance(value, Tensor):
        return op("scalar_tensor")(value, dtype=dtype)
    return value if value.dtype is dtype else op("_to_copy")(value, dtype=dtype)


def _pythons(value: Any) -> Any:
    """A number of NumPy's as Python's. As an operand NumPy's True is 1.0, and not Python's True."""
    return (float(value) if isinstance(value, np.bool_) else value.item()) if isinstance(value, np.generic) else value


@expands("torch.where")
def where(condition: Tensor, input: Any, other: Any) -> Any:
    """``where`` of two tensors, or ``nonzero`` and ``unbind`` for a condition alone."""
    if input is None and other is None:
        return op("unbind", "int")(op("nonzero")(condition), 1)
    if not (isinstance(input, Tensor) and isinstance(other, Tensor)):
        input, other = _pythons(input), _pythons(other)
        dtype = result_type(input, other)
        other, input = full_tensor(other, dtype), full_tensor(input, dtype)  # in this order, as in PyTorch
    return op("where", "self")(condition, input, other)


@expands("Tensor.where")
def where_method(self: Tensor, condition: Tensor, other: Any) -> Tensor:
    """``torch.where``."""
    return where(condition, self, other)
