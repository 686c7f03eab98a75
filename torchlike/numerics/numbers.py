"""Python numbers as elements of a dtype: which fit, which wrap around, and PyTorch's errors for the others."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from .._core import dtypes


def check_width(number: object) -> None:
    """Raises PyTorch's error for an int that no 64 bits hold, neither with a sign nor without.

    Raises:
        OverflowError: such an int, in the words of Python's own conversion, which PyTorch calls.
    """
    if isinstance(number, int) and not -(2**63) <= number < 2**64:
        raise OverflowError("int too big to convert" if number > 0 else "can't convert negative int to unsigned")


def number_for(number: object, dtype: dtypes.dtype, alone: bool = False) -> Any:
    """A Python number as an element of ``dtype``: unsigned ones wrap; RuntimeError in PyTorch's words where it does not fit.

    Args:
        alone: whether it fills a tensor of one element or is assigned by index. Half types then take too large a number as infinity.

    Raises:
        OverflowError: no 64 bits hold it.
    """
    value = number.item() if isinstance(number, np.generic) else number
    check_width(value)
    if dtype.category == dtypes.BOOL:
        return bool(value)
    saturates = alone and dtype in dtypes.HALVES
    result = _integer_for(value, dtype) if dtype.category == dtypes.INTEGER else _float_for(value, dtype, saturates)
    if result is None:
        name = "double" if saturates else dtypes.NUMBER_NAMES[dtype.name]
        raise RuntimeError(f"value cannot be converted to type {name} without overflow")
    return result


def _integer_for(value: Any, dtype: dtypes.dtype) -> int | None:
    limits = dtypes.limits(dtype.numpy)
    if isinstance(value, int):
        low = -limits.max if limits.min == 0 and dtype.itemsize < 8 else limits.min
        if not low <= value <= limits.max and not (dtype is dtypes.uint64 and -(2**63) <= value < 0):
            return None
        return int(value) % (limits.max + 1) if limits.min == 0 else int(value)
    if value.imag or not float(limits.min) <= value.real <= float(limits.max):  # before it is cut; no float wraps
        return None
    integer = int(value.real)
    return integer if integer <= limits.max else None  # as floats 2 ** 63 and the number below it are equal


def _float_for(value: Any, dtype: dtypes.dtype, saturates: bool) -> Any:
    if dtype.category == dtypes.FLOAT:
        if value.imag:
            return None
        value = value.real
    largest = math.inf if saturates else _largest(dtype)
    return None if largest < abs(value.real) < math.inf or largest < abs(value.imag) < math.inf else value


@functools.cache
def _largest(dtype: dtypes.dtype) -> float:
    return dtypes.finfo(dtype).max
