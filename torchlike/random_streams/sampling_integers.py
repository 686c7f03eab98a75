"""Random integers and permutations as NumPy arrays, bit for bit PyTorch's on the CPU.

>>> import numpy as np
>>> from torchlike.random_streams.rng import Generator
>>> from torchlike.random_streams.sampling_integers import randint, randperm
>>> generator = Generator().manual_seed(0)
>>> randint(generator, 4, np.int64, 0, 10).tolist(), randperm(generator, 5).tolist()
([4, 9, 3, 0], [3, 4, 0, 1, 2])

Sources: as of ``sampling``.
"""

import functools
import math
import warnings

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from .._core.dtypes import C_NAMES, from_numpy_dtype
from . import mt19937
from .rng import Generator
from .sampling import FLOATS, Shape, as_dtype, drawing, require_kernel, size_of

LEAST = -(2**63)
_WIDE = 2**28  # from this range on PyTorch takes 64-bit words, so that the remainder stays nearly even
_DIGITS = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}


@drawing
def random(generator: Generator, shape: Shape, dtype: DTypeLike) -> np.ndarray:
    """``Tensor.random_()``: 0 to the dtype's largest number; for floating-point dtypes 0 to 2^digits.

    Raises:
        NotImplementedError: the dtype is uint16, uint32, uint64 or complex.
    """
    dtype = np.dtype(dtype)
    count = size_of(shape)
    if dtype not in FLOATS and (dtype.kind not in "iub" or dtype.name in ("uint16", "uint32", "uint64")):
        require_kernel(not count, "random_kernel_cpu", dtype)
        return np.empty(shape, dtype)
    is_64_bit = dtype.itemsize == 8
    words = generator.stream.words64(count) if is_64_bit else generator.stream.words32(count)
    return as_dtype((words % words.dtype.type(largest(dtype) + 1)).astype(np.int64), dtype).reshape(shape)


@drawing
def randint(generator: Generator, shape: Shape, dtype: DTypeLike, low: int, high: int | None) -> np.ndarray:
    """``Tensor.random_(low, high)`` and ``torch.randint``: integers from low to high − 1, by the remainder of a word.

    Args:
        high: None means up to the dtype's largest number, or to 2^digits for a floating-point dtype.

    Raises:
        RuntimeError: the range is empty, a bound is beyond the dtype's, or the dtype is complex.

    Warns:
        UserWarning: a bound is beyond the integers that a floating-point dtype holds exactly.
    """
    dtype = np.dtype(dtype)
    count = size_of(shape)
    if high is None and low == LEAST:
        kernel = "random_full_64_bits_range_kernel_cpu"
        if count and dtype.name not in ("int64", "float64", "float32", "bfloat16"):
            require_kernel(dtype.name in ("uint8", "int8", "int16", "int32"), kernel, dtype)
            raise RuntimeError(f"{kernel} handles only int64, double, float and bfloat16")
        return as_dtype(generator.stream.words64(count).view(np.int64), dtype).reshape(shape)
    low, high = bounds(dtype, low, high)
    span = high - low
    if span >= _WIDE:
        remainders = generator.stream.words64(count) % np.uint64(span)
    else:
        remainders = (generator.stream.words32(count) % np.uint32(span)).astype(np.uint64)
    integers = (remainders + np.uint64(low % 2**64)).view(np.int64)  # modulo 2**64, as in C++
    return as_dtype(integers, dtype).reshape(shape)


@drawing
def randperm(generator: Generator, n: int, dtype: DTypeLike = np.int64) -> np.ndarray:
    """``torch.randperm``: 0 to n − 1 in random order: for each place i, an exchange with place i + word mod (n − i).

    Raises:
        RuntimeError: n is negative, or there are more numbers than the dtype holds. NotImplementedError: the dtype has no kernel, or there
        are 214 million numbers or more.

    Source: Durstenfeld, "Algorithm 235: Random permutation" (1964).
    """
    dtype = np.dtype(dtype)
    check_permutation(dtype, n)
    if n >= _LONG:
        raise NotImplementedError(f"randperm({n}): PyTorch orders {_LONG} and more in another way, not there yet")
    places = np.arange(max(n - 1, 0), dtype=np.uint32)
    steps = generator.stream.words32(len(places)) % (np.uint32(n) - places)
    return as_dtype(_exchanged(n, (places + steps).view(np.int32), places.view(np.int32)), dtype)


def _exchanged(n: int, others: np.ndarray, places: np.ndarray) -> np.ndarray:
    """0 to n − 1 after an exchange of each place with another one behind it, or with itself.

    Exchanges that meet no place twice are done at once: of m places left, about √m. The last ones are done one by one, in a list, which is
    quicker there than an array.
    """
    order, first, start = np.arange(n), np.empty(n, np.int32), 0
    if mt19937.twister is not None:
        mt19937.twister.exchange(others, order)
        return order
    while n - start > 2000:
        block = slice(start, start + 2 * math.isqrt(n - start))
        own, other = places[block], others[block]
        # For each place the first exchange that meets it, since of equal indices NumPy takes the last.
        first[own], first[other[::-1]] = own, own[::-1]
        count = int(np.argmax((first[other] < own) | (first[own] < own))) or len(own)
        own, other = own[:count], other[:count]
        order[own], order[other] = order[other], order[own]
        start += count
    last = order[start:].tolist()
    for place, other in enumerate((others[start:] - start).tolist()):
        last[place], last[other] = last[other], last[place]
    order[start:] = last
    return order


# The longest permutation that a dtype holds exactly, and how PyTorch writes it; bfloat16 it does not check.
_LONGEST = {"float16": (2**11 + 1, "2049"), "float32": (2**24 + 1, "2^24+1"), "float64": (2**53 + 1, "2^53+1")}
_LONG = (2**32 - 1) // 20


def bounds(dtype: np.dtype, low: int, high: int | None) -> tuple[int, int]:
    """The lower bound and the upper one, which is not drawn, as ``randint`` means them. Raises what it raises."""
    low, high = _up_to_largest(dtype, low) if high is None else _representable_bounds(dtype, low, high)
    _check_bounds(dtype, low, high - 1)
    return low, high


def largest(dtype: np.dtype) -> int:
    """The largest number that ``random`` draws."""
    if dtype in FLOATS:
        return 2 ** _DIGITS[dtype.name]
    return int(np.iinfo(dtype).max) if dtype.kind in "iu" else 1


def _representable_bounds(dtype: np.dtype, low: int, high: int) -> tuple[int, int]:
    """The bounds, moved to numbers that a floating-point dtype holds."""
    if low >= high:
        raise RuntimeError(f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}")
    if dtype in FLOATS:
        low, high = _held_from(dtype, low), _held_to(dtype, high)
        if low >= high:
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than 'to' casted to dtype, but got"
                f" from={low} >= to={high}"
            )
    return low, high


def _up_to_largest(dtype: np.dtype, low: int) -> tuple[int, int]:
    """The lower bound, and one more than the largest integer."""
    if dtype in FLOATS:
        low = _held_from(dtype, low)
        if low >= largest(dtype):
            raise RuntimeError(
                "random_ expects 'from' casted to dtype to be less than or equal to 'to_inc' casted to dtype, but got"
                f" from={low} > to_inc={largest(dtype)}"
            )
    return low, largest(dtype) + 1


def _nearest_representable(dtype: np.dtype, number: int) -> int:
    value = float(as_dtype(np.array(number, np.int64), dtype))
    return int(value) if math.isfinite(value) else LEAST  # a C++ cast turns infinity into this


def _held_from(dtype: np.dtype, low: int) -> int:
    """The lower bound, raised to the next number of the dtype where rounding would fall below it."""
    above = _nearest_representable(dtype, low + 1)
    return above + 2 ** (abs(low + 1).bit_length() - _DIGITS[dtype.name]) if above < low else low


def _held_to(dtype: np.dtype, high: int) -> int:
    """The upper bound, lowered to the number of the dtype before it where rounding would reach it."""
    below = _nearest_representable(dtype, high - 1)
    return below - 2 ** (abs(high - 1).bit_length() - _DIGITS[dtype.name]) if below >= high else high


@functools.cache
def _name_and_range(dtype: np.dtype) -> tuple[str, float, float]:
    """How C++ calls a dtype, and its least and largest number."""
    name = C_NAMES[dtype.name]
    if dtype in FLOATS:
        most = float(ml_dtypes.finfo(dtype).max)
        return name, -most, most
    if dtype == np.bool_:
        return name, 0, 1
    return name, int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)


def _check_bounds(dtype: np.dtype, low: int, last: int) -> None:
    if dtype.kind == "c":
        raise RuntimeError("check_random_bounds handles only integral, floating-point and boolean types")
    name, least, most = _name_and_range(dtype)
    bounds = {"from": low, "to - 1": last}
    for side, bound in bounds.items():
        if not least <= bound <= most:
            raise RuntimeError(f"{side} is out of bounds for {name}")
    if dtype in FLOATS:
        digits = _DIGITS[dtype.name]
        for side, bound in bounds.items():
            if abs(bound) > 2**digits:
                warnings.warn(
                    f"{side} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations {name} can"
                    " support discrete uniform distribution only within this range. This warning will become an error"
                    " in version 1.7 release, please fix the code in advance",
                    stacklevel=2,
                )


def check_permutation(dtype: np.dtype, n: int) -> None:
    """Raises what ``randperm`` raises, on any device."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype.name in ("uint8", "int8", "int16", "int32"):
        if n - 1 > np.iinfo(dtype).max:
            raise RuntimeError(f"value cannot be converted to type {dtype.name}_t without overflow")
    elif dtype.name in _LONGEST:
        most, text = _LONGEST[dtype.name]
        if n > most:
            raise RuntimeError(f"n cannot be greater than {text} for {from_numpy_dtype(dtype).scalar_name} type.")
    else:
        require_kernel(dtype.name in ("int64", "bfloat16"), "randperm", dtype)
