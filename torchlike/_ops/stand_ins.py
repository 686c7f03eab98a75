"""Tensors without elements in place of others: for what a call's shapes, dtypes and history are, or whether it is an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.fields import requires_grad_flag, set_requires_grad
from .._core.modes import undispatched
from .._core.signatures import Args, Kwargs
from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import no_grad
from ..engine.aval import META, Aval
from ..engine.value import Value

__all__ = ["check_without_elements", "stand_in", "with_stand_ins"]


def stand_in(tensor: Tensor) -> Tensor:
    """A tensor on the meta device of the same shape and dtype, which requires a gradient if the other does."""
    stand = from_value(Value.without_data(Aval(tensor._aval.shape, tensor._aval.dtype, META)))
    set_requires_grad(stand, requires_grad_flag(tensor))
    return stand


def with_stand_ins(values: Any, replace: Callable[[Tensor], Tensor] = stand_in) -> Any:
    """The same with a stand-in for each tensor."""
    if isinstance(values, Tensor):
        return replace(values)
    if isinstance(values, dict):
        return {name: with_stand_ins(value, replace) for name, value in values.items()}
    if type(values) in (list, tuple):
        return type(values)(with_stand_ins(value, replace) for value in values)
    return values


def _stand_in_unless_a_number(tensor: Tensor) -> Tensor:
    """The tensor itself where it is one integer, which functions take as a number: ``x[i]``, ``x.narrow(0, i, 2)``."""
    is_number = type(tensor) is Tensor and not tensor.dim() and tensor._aval.placement is not META
    return tensor if is_number and not (tensor.dtype.is_floating_point or tensor.dtype.is_complex) else stand_in(tensor)


def check_without_elements(function: Callable[..., Any], args: Args, kwargs: Kwargs) -> None:
    """Raises what a call raises for its shapes, dtypes and numbers. What depends on elements is not seen."""
    with undispatched(), no_grad():
        try:
            function(
                *with_stand_ins(args, _stand_in_unless_a_number), **with_stand_ins(kwargs, _stand_in_unless_a_number)
            )
        except NotImplementedError:
            return  # the result's shape depends on elements
