"""Gives Tensor its methods and operators: the one place that writes names onto the class."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from .. import ops, sparse as sparse
from .._core import overridable, subclasses
from .._core.dtypes import from_numpy_dtype
from .._core.modes import hooks
from .._core.tensor import Tensor, from_host
from .._core.torch_function import DisableTorchFunctionSubclass, overrides
from ..autograd.engine import tensor_backward
from ..dispatch.bindings import FUNCTIONS, composite_form, function_form, inplace_form
from ..dispatch.inplace import refresh_history
from ..dispatch.opdef import Form, Op, declarations
from ..ops.creation.legacy import legacy_constructor


def attach(name: str, method: object) -> None:
    """Puts a method onto Tensor; refuses a name that has an owner."""
    if name in vars(Tensor):
        raise ValueError(f"Tensor.{name} exists already")
    setattr(Tensor, name, _method_as_function(method))


_public = set(map(id, FUNCTIONS.values()))


def _method_as_function(method: Any) -> Any:
    """``Tensor.chunk`` as a function of its own: ``__torch_function__`` receives another object for it than for ``torch.chunk``."""
    if isinstance(method, property):
        return property(_method_as_function(method.fget), method.fset)
    return overridable.own_copy(method) if id(method) in _public else method


def _setter(name: str) -> Callable[[Tensor, Any], None]:
    """``tensor.real = value``, through the view that the property gives."""

    def call(self: Tensor, value: object) -> None:
        with DisableTorchFunctionSubclass():
            FUNCTIONS[name](self)[...] = value

    return call


SETTERS = {name: _setter(name) for name in ("real", "imag")}

for name, record, forms in declarations():
    if Form.METHOD in forms:
        if isinstance(record, Op):
            method = function_form(record, name, method=True)
        else:
            method = record.method or composite_form(record, name, method=True)
        attach(name, method)
    if Form.INPLACE in forms:
        attach(name + "_", inplace_form(name))
    if Form.PROPERTY in forms:
        attach(name, property(FUNCTIONS[name], SETTERS.get(name)))

# Which function an operator calls, and whether it has the in-place and the reflected form as well.
BINARY = {
    "add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "div": "div", "floordiv": "floor_divide", "mod": "remainder", "pow": "pow",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift",
}  # fmt: skip
COMPARISONS = {"eq": "eq", "ne": "ne", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}
UNARY = {"neg": "neg", "pos": "positive", "abs": "abs", "invert": "bitwise_not"}

_NUMBERS = (float, int, complex, np.generic)
_PLAIN = frozenset((float, int))  # most numbers that stand beside a tensor


def _operand(other: object) -> Any:
    """What stands on the other side as an op takes it; NotImplemented for what tensors know nothing of."""
    if isinstance(other, (Tensor, *_NUMBERS)):
        return other
    return from_host(other.copy()) if isinstance(other, np.ndarray) else NotImplemented


def _as_numpy_promotes(self: Tensor, other: Any) -> Tensor:
    """The tensor in the dtype in which NumPy computes with this array: PyTorch leaves such arithmetic to NumPy.

    Where both have dimensions PyTorch's rules give the same. An array without any is a full operand to NumPy.
    """
    if other.ndim or self.dtype.numpy.kind == "V":
        return self
    return self.to(from_numpy_dtype(np.result_type(self.dtype.numpy, other.dtype)))  # pyright: ignore[reportAttributeAccessIssue]


def _operator(function: Callable[..., object], promotes: bool = True) -> Callable[[Tensor, Any], Any]:
    """``tensor . other``; Python then says itself which operand types do not go together."""

    def call(self: Tensor, other: object) -> Any:
        if not isinstance(other, Tensor) and other.__class__ not in _PLAIN:
            if isinstance(other, np.ndarray) and promotes:
                self = _as_numpy_promotes(self, other)
            operand = _operand(other)
            if operand is NotImplemented:
                return call(self, other) if _first_to_override(other) else NotImplemented
            other = operand
        return function(self, other)

    return call


def _first_to_override(other: object) -> bool:
    """As ``dispatch/bindings.py::first_to_override``, for the other side of an operator."""
    if overridable.is_active() or not overrides(type(other)):
        return False
    overridable.activate()
    return True


def _reflected(name: str, function: Callable[..., object]) -> Callable[[Tensor, object], object]:
    """``other . tensor``, where the other side is no tensor."""
    commutes = name in COMMUTING

    def call(self: Tensor, other: object) -> Any:
        if not isinstance(self, Tensor):
            raise TypeError(
                f"descriptor '{name}' for 'Tensor' objects doesn't apply to a '{type(self).__name__}' object"
            )
        if isinstance(other, np.ndarray):
            self = _as_numpy_promotes(self, other)
        other = _operand(other)
        if other is NotImplemented:
            return NotImplemented
        return function(self, other) if commutes else function(other, self)

    return call


# PyTorch puts these together in its own way, and the graph shows it.
COMMUTING = {"__radd__", "__rmul__"}  # ``2 * a`` is ``a * 2``
REFLECTED: dict[str, Callable[..., object]] = {
    "sub": lambda other, self: ops.rsub(self, other),
    "truediv": lambda other, self: ops.mul(ops.reciprocal(self), other),
    "div": lambda other, self: ops.mul(ops.reciprocal(self), other),  # Python 2's name, which PyTorch keeps
    "matmul": lambda other, self: FUNCTIONS["matmul"](other, self) if isinstance(other, Tensor) else NotImplemented,
}


def _invert(self: Tensor) -> Tensor:
    if self.dtype.category > 1:
        raise TypeError("~ (operator.invert) is only implemented on integer and Boolean-type tensors")
    return ops.bitwise_not(self)


def _named(name: str, function: Callable[..., object]) -> Callable[..., object]:
    function.__name__ = name  # what ``__torch_function__`` sees
    return function


for word, name in BINARY.items():
    attach(f"__{word}__", _named(f"__{word}__", _operator(FUNCTIONS[name])))
    attach(f"__r{word}__", _named(f"__r{word}__", _reflected(f"__r{word}__", REFLECTED.get(word, FUNCTIONS[name]))))
    attach(f"__i{word}__", _named(f"__i{word}__", _operator(inplace_form(name), promotes=False)))
for word, name in COMPARISONS.items():
    # Every class has these from ``object``.
    setattr(Tensor, f"__{word}__", _named(f"__{word}__", _operator(FUNCTIONS[name], promotes=False)))
for word, name in UNARY.items():
    attach(f"__{word}__", _invert if word == "invert" else FUNCTIONS[name])


def _matmul(self: Tensor, other: object) -> Any:
    if isinstance(other, Tensor):
        return FUNCTIONS["matmul"](self, other)
    return _matmul(self, other) if _first_to_override(other) else NotImplemented


attach("__matmul__", _matmul)
attach("__rmatmul__", _reflected("__rmatmul__", REFLECTED["matmul"]))


def _reversed(self: Any) -> Tensor:
    return self.flip(0) if self.dim() else self


attach("__reversed__", _reversed)
attach("backward", tensor_backward)
attach("_refresh_history", refresh_history)
attach("__new__", staticmethod(legacy_constructor))

attach("__torch_function__", classmethod(subclasses.default_torch_function))
attach("__torch_dispatch__", overridable.disabled_torch_dispatch_impl)
attach("_make_subclass", staticmethod(subclasses.make_subclass))
attach("_make_wrapper_subclass", staticmethod(subclasses.make_wrapper_subclass))

# Two names of one method are two methods to who overrides them.
_seen: set[object] = set()
for name, method in list(vars(Tensor).items()):
    if isinstance(method, FunctionType):
        if method in _seen:
            setattr(Tensor, name, overridable.own_copy(method))
        _seen.add(method)

overridable.offer("torch.Tensor", Tensor)
hooks.load = partial(import_module, "torchlike._ops.dispatching")
