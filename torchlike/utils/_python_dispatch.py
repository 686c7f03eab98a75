"""torch.utils._python_dispatch: modes over ATen operators, which torchlike does not have. Queries work, and entering a mode raises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

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
    """A context that would see every ATen operator. Entering it raises: ``torch.overrides.TorchFunctionMode`` sees every function."""

    def __init__(self, _dispatch_key: object = None) -> None:
        pass

    def __torch_dispatch__(self, func: Function, types: object, args: object = (), kwargs: object = None) -> Any:
        raise NotImplementedError

    def __enter__(self) -> NoReturn:
        raise NotImplementedError(
            f"torchlike does not support TorchDispatchMode (here {type(self).__name__}): it has no ATen operators beneath its functions. "
            "torch.overrides.TorchFunctionMode sees the functions"
        )

    def __exit__(self, *exception: object) -> None:
        pass

    @classmethod
    def is_infra_mode(cls) -> bool:
        """Whether it belongs to PyTorch's own machinery."""
        return False


class BaseTorchDispatchMode(TorchDispatchMode):
    """A mode that would change nothing. Entering it raises, as for any."""

    def __torch_dispatch__(self, func: Function, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


def _get_current_dispatch_mode() -> None:
    """None: no mode is ever active."""


def _get_current_dispatch_mode_stack() -> list[object]:
    return []


def _len_torch_dispatch_stack() -> int:
    return 0


def is_in_torch_dispatch_mode(include_infra_modes: bool = True) -> bool:
    """False: no mode is ever active."""
    return False


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


def return_and_correct_aliasing(func: object, args: object, kwargs: object, out: object) -> NoReturn:
    """Raises: it is for ``__torch_dispatch__``, which nothing calls."""
    raise NotImplementedError(
        "torchlike does not support return_and_correct_aliasing: nothing calls __torch_dispatch__"
    )
