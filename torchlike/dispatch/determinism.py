"""What ``torch.use_deterministic_algorithms`` asks for: errors from what PyTorch calls nondeterministic, and memory that is filled."""

from __future__ import annotations

from typing import Any

from .._core import dtypes
from .._core.fields import count_write
from .._core.tensor import alias
from .warned import warn

__all__ = ["Determinism", "alert", "with_unset_filled"]


class Determinism:
    """The settings of ``use_deterministic_algorithms`` and of ``torch.utils.deterministic``."""

    on = warn_only = False
    fill_uninitialized_memory = True


def alert(operator: str) -> None:
    """Raises, or warns, as PyTorch does for an operator that it has no deterministic implementation of on the CPU.

    Here they are deterministic too. But a program that asks for the error is to learn what it will meet in PyTorch.
    """
    if not Determinism.on:
        return
    if Determinism.warn_only:
        warn(
            f"{operator} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True, "
            "warn_only=True)'. You can file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding "
            "deterministic support for this operation."
        )
        return
    raise RuntimeError(
        f"{operator} does not have a deterministic implementation, but you set 'torch.use_deterministic_algorithms(True)'. You can turn "
        "off determinism just for this operation, or you can use the 'warn_only=True' option, if that's acceptable for your application. "
        "You can also file an issue at https://github.com/pytorch/pytorch/issues to help us prioritize adding deterministic support for "
        "this operation."
    )


def with_unset_filled(result: Any, beginning: int = 0) -> Any:
    """The tensor, whose elements mean nothing yet: in deterministic mode they are NaN, or the largest integer, as PyTorch's.

    Args:
        beginning: the number of the first element that means nothing, where the elements lie in order.
    """
    if Determinism.on and Determinism.fill_uninitialized_memory and result.numel() > beginning:
        unset: Any = alias(result)
        unset = unset.view(-1)[beginning:] if beginning else unset
        unset.fill_(_unset_element(result.dtype))
        count_write(result, -1)
    return result


def _unset_element(dtype: dtypes.dtype) -> Any:
    if dtype.is_complex:
        return complex("nan+nanj")
    if dtype.is_floating_point:
        return float("nan")
    return True if dtype is dtypes.bool_ else dtypes.iinfo(dtype).max
