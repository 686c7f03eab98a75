"""Conversions of dtype and device, new tensors, and elements read as Python's numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..._core import dtypes
from ..._core.layouts import contiguous_format, preserve_format
from ..._core.modes import undispatched
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...dispatch.bindings import FUNCTIONS
from ...ops.creation.cast import parse_to
from .table import expands, op

__all__ = ["contiguous", "to", "to_dtype"]


@expands("to", unchecked=True)
def to(input: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``_to_copy`` where the dtype, the device or the order in memory change, or where a copy is asked for."""
    arguments = parse_to(args, kwargs)
    dtype, memory_format = arguments.get("dtype"), arguments.get("memory_format")
    device = input.device  # as its subclass says
    with undispatched(), no_grad():
        empty = FUNCTIONS["empty"](0, dtype=input.dtype, device=device)
        changed = FUNCTIONS["to"](empty, device=arguments.get("device"), dtype=dtype)
    options: dict[str, Any] = {}
    if changed.dtype is not input.dtype:
        options["dtype"] = changed.dtype
    if changed.device != device:
        options["device"] = changed.device
    if memory_format not in (None, preserve_format) and not input.is_contiguous(memory_format=memory_format):
        options["memory_format"] = memory_format
    return op("_to_copy")(input, **options) if options or arguments.get("copy") else input


def to_dtype(input: Tensor, dtype: dtypes.dtype | None) -> Tensor:
    """The tensor in a dtype; the tensor itself where that is None."""
    return input if dtype is None else to(input, dtype=dtype)


def _short_form(name: str, dtype: dtypes.dtype) -> None:
    @expands(name)
    def convert(self: Tensor, memory_format: object) -> Tensor:
        return to(self, dtype=dtype, memory_format=memory_format)


for name, dtype in {
    "float": dtypes.float32, "double": dtypes.float64, "half": dtypes.float16, "bfloat16": dtypes.bfloat16, "int": dtypes.int32,
    "long": dtypes.int64, "short": dtypes.int16, "bool": dtypes.bool_,
}.items():  # fmt: skip
    _short_form(name, dtype)


@expands("cpu")
def cpu(self: Tensor, memory_format: object) -> Tensor:
    """``_to_copy``, from another device."""
    return to(self, device="cpu", memory_format=memory_format)


@expands("type_as")
def type_as(self: Tensor, other: Tensor) -> Tensor:
    """``_to_copy``, from another dtype."""
    return to(self, dtype=other.dtype)


@expands("contiguous")
def contiguous(self: Tensor, memory_format: object = None) -> Tensor:
    """``clone`` where the elements do not lie in order."""
    order = contiguous_format if memory_format is None else memory_format
    if self.is_contiguous(memory_format=order):  # pyright: ignore[reportArgumentType]
        return self
    return op("clone")(self, memory_format=order)


@expands("tensor", unchecked=True)
def tensor(data: object, requires_grad: bool = False, **options: Any) -> Tensor:
    """``lift_fresh`` takes the elements."""
    with undispatched():
        plain = FUNCTIONS["tensor"](data, **options)
    lifted = op("lift_fresh")(plain)
    return lifted._require_grad() if requires_grad else lifted


@expands("item", unchecked=True)
def item(self: Tensor) -> Any:
    """``_local_scalar_dense``, of the only element."""
    return op("_local_scalar_dense")(self)


def _as_number(name: str, convert: Any) -> None:
    @expands(name, unchecked=True)
    def number(self: Tensor) -> Any:
        return convert(item(self))


for name, convert in {
    "__float__": float, "__int__": int, "__bool__": bool, "__index__": int, "__complex__": complex, "is_nonzero": bool,
}.items():  # fmt: skip
    _as_number(name, convert)


@expands("__iter__", unchecked=True)
def iterate(self: Tensor) -> Iterator[Tensor]:
    """``unbind``."""
    return iter(op("unbind", "int")(self))
