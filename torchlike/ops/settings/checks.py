"""``torch._check`` and related functions: what programs assert about numbers and flags."""

from __future__ import annotations

import warnings
from collections.abc import Callable

from ..._core.tensor import Tensor

__all__ = [
    "_assert", "_assert_async",
    "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all", "_check_type", "_check_value",
    "_check_with",
]  # fmt: skip

_UNSAID = (
    "Expected cond to be True, but got False. (Could this error message be improved? If so, please report an enhancement request to "
    "PyTorch.)"
)


def _check_with(error_type: type[Exception], cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises an exception of a type unless ``cond``, a bool, is true.

    Args:
        message: called for the words.
    """
    if isinstance(cond, Tensor):
        raise TypeError(
            "cond must be a bool, but got a Tensor. For tensor conditions, use torch._check_tensor_all() to assert that all elements "
            "are true."
        )
    if not isinstance(cond, bool):
        raise TypeError(f"cond must be a bool, but got {type(cond)}")
    if cond:
        return
    if message is None:
        raise error_type(_UNSAID)
    if not callable(message):
        raise TypeError("message must be a callable")
    raise error_type(str(message()))


def _assert(condition: object, message: object) -> None:
    """Raises an AssertionError with this message unless the condition is true. A graph of ``torch.fx`` records the call."""
    assert condition, message


def _assert_async(input: Tensor, assert_msg: str | None = None) -> None:
    """Raises RuntimeError unless the only element of a tensor is not zero. It is read at once: PyTorch's CPU does so too."""
    if not bool(input):
        raise RuntimeError(assert_msg or "Expected Tensor with single nonzero value, but got zero")


def _check(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises RuntimeError unless ``cond`` is true.

    >>> torch._check(True, lambda: "said only if it is not")
    """
    _check_with(RuntimeError, cond, message)


def _check_index(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises IndexError unless ``cond`` is true."""
    _check_with(IndexError, cond, message)


def _check_value(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises ValueError unless ``cond`` is true."""
    _check_with(ValueError, cond, message)


def _check_type(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises TypeError unless ``cond`` is true."""
    _check_with(TypeError, cond, message)


def _check_not_implemented(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises NotImplementedError unless ``cond`` is true."""
    _check_with(NotImplementedError, cond, message)


def _check_is_size(i: int, message: Callable[[], object] | None = None, *, max: int | None = None) -> None:
    """Raises RuntimeError unless ``i`` is a size: not negative, and at most ``max``."""
    warnings.warn("_check_is_size is deprecated: use _check(i >= 0)", FutureWarning, stacklevel=2)
    _check(i >= 0, message)
    if max is not None:
        _check(i <= max, message)


def _check_tensor_all(cond: object, message: Callable[[], object] | None = None) -> None:
    """Raises RuntimeError unless all elements of a bool tensor are true. It reads the tensor."""
    if not isinstance(cond, Tensor):
        raise TypeError(f"cond must be a tensor, but got {type(cond)}")
    if cond.dtype.name != "bool":
        raise TypeError(f"cond tensor must have dtype torch.bool, but got {cond.dtype}")
    _check(bool(cond.all().item()), message)
