"""torch.utils._python_dispatch: modes that see PyTorch's operators, and tools for subclasses that do."""

from __future__ import annotations

import warnings
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Self

from .._core.modes import dispatch_state
from .._core.overridable import pop_dispatch_mode, push_dispatch_mode
from .._core.signatures import Function
from .._core.tensor import Tensor

__all__ = [
    "BaseTorchDispatchMode",
    "TorchDispatchMode",
    "is_in_torch_dispatch_mode",
    "is_traceable_wrapper_subclass",
    "is_traceable_wrapper_subclass_type",
    "return_and_correct_aliasing",
    "transform_subclass",
]


class TorchDispatchMode:
    """A context in which ``__torch_dispatch__`` of this object is called for every operator, forward and backward.

    It sees PyTorch's operators (``torch.ops.aten.addmm.default``), their arguments and results, and decides what they give: calling the
    function computes it. What PyTorch makes of a function before its dispatcher sees it is made here too, for the usual layers and
    functions; others are seen as one operator of the function's name. The optimizers' updates, and what ``jit`` and ``func`` transform,
    are not seen.

    >>> from torchlike.utils._python_dispatch import TorchDispatchMode
    >>> class Names(TorchDispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> x, bias = torch.ones(2, 3), torch.zeros(2)
    >>> with Names():
    ...     y = torch.nn.functional.linear(x, x, bias)
    aten.t.default
    aten.addmm.default
    """

    def __init__(self, _dispatch_key: object = None) -> None:
        self.old_dispatch_mode_flags: deque[bool] = deque()

    def __torch_dispatch__(self, func: Function, types: object, args: Any = (), kwargs: Any = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> Self:
        push_dispatch_mode(self)
        return self

    def __exit__(self, *exception: object) -> None:
        pop_dispatch_mode()

    @classmethod
    def push(cls, *args: object, **kwargs: object) -> Self:
        """A new mode, as programs written for old versions make it."""
        warnings.warn("`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`", stacklevel=2)
        return cls(*args, **kwargs)  # pyright: ignore[reportCallIssue]

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it belongs to PyTorch's own machinery."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that changes nothing."""

    def __torch_dispatch__(self, func: Function, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> Any:
    """The innermost mode of this thread; None where none is active."""
    return dispatch_state.stack[-1] if dispatch_state.stack else None


def _get_current_dispatch_mode_stack() -> list[Any]:
    return list(dispatch_state.stack)


def _len_torch_dispatch_stack() -> int:
    return len(dispatch_state.stack)


@contextmanager
def _disable_current_modes() -> Iterator[list[Any]]:
    """Within it no mode of this thread is asked."""
    before, dispatch_state.stack = dispatch_state.stack, ()
    try:
        yield list(before)
    finally:
        dispatch_state.stack = before


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """Whether a mode of this thread is active."""
    return bool(dispatch_state.stack)


def is_traceable_wrapper_subclass(t: object) -> bool:
    """Whether it is a tensor of a subclass that can be taken apart, by ``__tensor_flatten__``, and put together."""
    return isinstance(t, Tensor) and is_traceable_wrapper_subclass_type(type(t))


def is_traceable_wrapper_subclass_type(t: type) -> bool:
    """``is_traceable_wrapper_subclass`` for the class."""
    return (
        issubclass(t, Tensor)
        and t is not Tensor
        and hasattr(t, "__tensor_flatten__")
        and hasattr(t, "__tensor_unflatten__")
    )


def transform_subclass(
    t: Any, callback: Callable[..., object], outer_size: Any = None, outer_stride: Any = None
) -> Any:
    """A tensor of a subclass put together from what a function makes of its parts."""
    outer_size = t.size() if outer_size is None else outer_size
    outer_stride = t.stride() if outer_stride is None else outer_stride
    names, context = t.__tensor_flatten__()
    parts = {name: callback(name, getattr(t, name)) for name in names}
    result = type(t).__tensor_unflatten__(parts, context, outer_size, outer_stride)
    if result.shape != tuple(outer_size):
        raise AssertionError(
            f"Expected return value from {type(t)}.__tensor_unflatten__() to have shape equal to {outer_size}"
        )
    return result


def return_and_correct_aliasing(func: Any, args: Any, kwargs: Any, out: Any) -> Any:
    """The result of a subclass's ``__torch_dispatch__``: for an operator that writes to its first argument, that argument.

    Memory that a view shares with its base is the business of the tensors that both hold.
    """
    return args[0] if func._schema.is_mutable and isinstance(out, Tensor) else out
