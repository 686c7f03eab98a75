"""Samples from a generator as NumPy arrays, bit for bit PyTorch's on the CPU: the values, and the state left behind.

Every function takes the generator, the shape and the dtype, then the arguments of PyTorch's method of the same name
(``Tensor.uniform_`` and so on), and raises that method's errors before it draws anything.

>>> import numpy as np
>>> from torchlike.random_streams.rng import Generator
>>> from torchlike.random_streams.sampling import uniform
>>> print(uniform(Generator().manual_seed(0), 3, np.float32))
[0.4962566  0.7682218  0.08847743]

Sources: https://docs.pytorch.org/docs/stable/torch.html#random-sampling for what is drawn; the streams are observed.
"""

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, ParamSpec

import ml_dtypes
import numpy as np
from numpy.typing import DTypeLike

from .._core.dtypes import C_NAMES, from_numpy_dtype, limits
from ..engine.handlers import without_handlers
from .box_muller import BLOCK, box_muller
from .fma import fma
from .rng import Generator

Shape = int | tuple[int, ...]
P = ParamSpec("P")

HALVES = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
FLOATS = (*HALVES, np.dtype(np.float32), np.dtype(np.float64))
PARTS = {np.dtype(np.complex64): np.dtype(np.float32), np.dtype(np.complex128): np.dtype(np.float64)}


def drawing(sample: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]:
    """Holds the generator's lock during a sample: threads that share a generator get whole samples."""

    @wraps(sample)
    def locked(*args: P.args, **kwargs: P.kwargs) -> np.ndarray:
        generator: Any = args[0]
        with generator.lock:
            return sample(*args, **kwargs)

    return locked


def drawing_in_parts(sample: Callable[P, np.ndarray]) -> Callable[P, np.ndarray]:
    """``drawing`` for a sample that takes words from the stream more than once: signal handlers find a state before it or after it."""
    return drawing(wraps(sample)(partial(without_handlers, sample)))


@drawing
def uniform(generator: Generator, shape: Shape, dtype: DTypeLike, low: float = 0.0, high: float = 1.0) -> np.ndarray:
    """Numbers u·(high − low) + low, u uniform on [0, 1): 24 random bits, 53 for float64. Complex: each part so.

    Raises:
        NotImplementedError: there is no kernel for the dtype. RuntimeError: the bounds are out of order, or out of the dtype's range.
    """
    dtype = np.dtype(dtype)
    if dtype in PARTS:
        if not size_of(shape):
            return np.empty(shape, dtype)
        return uniform(generator, _with_parts(shape), PARTS[dtype], low, high).view(dtype)[..., 0]
    require_kernel(dtype in FLOATS, "check_uniform_bounds", dtype)
    _check_uniform_bounds(dtype, low, high)
    count = size_of(shape)
    u = unit64(generator, count) if dtype == np.float64 else unit32(generator, count)
    unit = (low, high) == (0, 1)
    if not unit:
        u = fma(u, float(u.dtype.type(high) - u.dtype.type(low)), low)
    out = u.astype(dtype, copy=False)
    if dtype in HALVES or not unit:
        # Rounding may reach the upper bound, which does not belong to the range.
        out[out == dtype.type(high)] = dtype.type(low)
    return out.reshape(shape)


@drawing_in_parts
def normal(generator: Generator, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0) -> np.ndarray:
    """Normal numbers of that mean and standard deviation. Complex: both parts have variance std²/2.

    Raises:
        RuntimeError: the std is negative. NotImplementedError: the dtype is not floating-point or complex.
    """
    dtype = np.dtype(dtype)
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    count = size_of(shape)
    if dtype in PARTS:
        parts = normal(generator, _with_parts(shape), PARTS[dtype], mean, std / math.sqrt(2))
        return parts.view(dtype)[..., 0]
    if count == 0:
        return np.empty(shape, dtype)
    require_kernel(dtype in FLOATS, "normal_kernel_cpu", dtype)
    # PyTorch's vectorised kernel works on blocks of 16 numbers. Fewer, and memory with gaps, are drawn in pairs by its scalar one.
    if count < BLOCK:
        out = _pairs_of_normals(generator, count, mean, std)
    elif dtype == np.float64:
        out = _in_blocks(lambda n: unit64(generator, n), _box_muller64, count, mean, std)
    else:
        out = _in_blocks(generator.stream.words32, box_muller, count, mean, std, ahead=dtype not in HALVES)
    return as_dtype(out, dtype).reshape(shape)


@drawing_in_parts
def scattered_normal(
    generator: Generator, shape: Shape, dtype: DTypeLike, mean: float = 0.0, std: float = 1.0
) -> np.ndarray:
    """``normal`` for memory with gaps or dimensions in another order: drawn two by two, however many there are."""
    dtype, count = np.dtype(dtype), size_of(shape)
    if dtype in PARTS:
        parts = scattered_normal(generator, _with_parts(shape), PARTS[dtype], mean, std / math.sqrt(2))
        return parts.view(dtype)[..., 0]
    if count < BLOCK or not std >= 0:
        return normal(generator, shape, dtype, mean, std)
    require_kernel(dtype in FLOATS, "normal_kernel_cpu", dtype)
    return as_dtype(_pairs_of_normals(generator, count, mean, std), dtype).reshape(shape)


@drawing_in_parts
def log_normal(generator: Generator, shape: Shape, dtype: DTypeLike, mean: float = 1.0, std: float = 2.0) -> np.ndarray:
    """exp of normal numbers of that mean and standard deviation.

    Raises:
        RuntimeError: std ≤ 0. NotImplementedError: the dtype is not floating-point.
    """
    dtype = np.dtype(dtype)
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    count = size_of(shape)
    require_kernel(dtype in FLOATS or not count, "log_normal_cpu", dtype)
    return as_dtype(_libm(_exp, _pairs_of_normals(generator, count, mean, std)), dtype).reshape(shape)


@drawing
def exponential(generator: Generator, shape: Shape, dtype: DTypeLike, lambd: float = 1.0) -> np.ndarray:
    """−ln(1 − u)/λ, u uniform on [0, 1) with 53 bits.

    Raises:
        RuntimeError: λ ≤ 0, or the dtype is not floating-point.
    """
    dtype = np.dtype(dtype)
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    count = size_of(shape)
    if dtype not in FLOATS and count:
        raise RuntimeError(
            "Exponential distribution is a continuous probability distribution. dtype must be a floating point but you"
            f" specified {from_numpy_dtype(dtype).scalar_name}"
        )
    logs = _exact(math.log1p, np.log1p, -unit64(generator, count), dtype)
    return as_dtype(-1 / lambd * logs, dtype).reshape(shape)


@drawing
def cauchy(generator: Generator, shape: Shape, dtype: DTypeLike, median: float = 0.0, sigma: float = 1.0) -> np.ndarray:
    """median + σ·tan(π(u − ½)), u uniform on [0, 1) with 53 bits.

    Raises:
        RuntimeError: σ ≤ 0, or the dtype is not floating-point.
    """
    dtype = np.dtype(dtype)
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    count = size_of(shape)
    if dtype not in FLOATS:
        raise RuntimeError(
            "Cauchy distribution is a continuous probability distribution. dtype must be a floating point but you"
            f" specified {C_NAMES[dtype.name]}"
        )
    tangents = _exact(math.tan, np.tan, math.pi * (unit64(generator, count) - 0.5), dtype)
    return as_dtype(fma(tangents, sigma, median), dtype).reshape(shape)


@drawing
def geometric(generator: Generator, shape: Shape, dtype: DTypeLike, p: float) -> np.ndarray:
    """⌈ln u / ln(1 − p)⌉, u uniform on [0, 1) with 53 bits: how many trials until the first success.

    Raises:
        RuntimeError: p is outside (0, 1). NotImplementedError: the dtype is bool, complex, or unsigned beyond uint8.
    """
    dtype = np.dtype(dtype)
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    count = size_of(shape)
    require_kernel(dtype in FLOATS or dtype.name in _SMALL_INTEGERS or not count, "geometric_cpu", dtype)
    with np.errstate(divide="ignore"):  # u may be 0
        trials = np.ceil(np.log(unit64(generator, count)) / math.log1p(-p))
    return as_dtype(trials, dtype).reshape(shape)


@drawing
def bernoulli(
    generator: Generator, shape: Shape, dtype: DTypeLike, p: float | np.ndarray = 0.5, one: float = 1.0
) -> np.ndarray:
    """1 with probability p, else 0: whether u < p, u uniform on [0, 1).

    PyTorch draws 53 bits an element for a number p, and for an array of probabilities 24 bits, or 53 if it is float64.

    Args:
        p: a number, or an array of floating-point probabilities that broadcasts to the shape.
        one: what stands for the 1 where p is a number; a number of the dtype.

    Raises:
        RuntimeError: p is outside [0, 1]. NotImplementedError: PyTorch has no kernel for the dtype.
    """
    dtype = np.dtype(dtype)
    count = size_of(shape)
    has_kernel = dtype in FLOATS or dtype.name in ("bool", *_SMALL_INTEGERS) or not count
    if isinstance(p, np.ndarray):
        require_kernel(has_kernel, "bernoulli_tensor_cpu_self_", dtype)
        require_kernel(p.dtype in FLOATS or not count, "bernoulli_tensor_cpu_p_", p.dtype)
        if not ((p >= 0) & (p <= 1)).all():
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?"
                "  If so, please report an enhancement request to PyTorch.)"
            )
        unit = unit64 if p.dtype == np.float64 else unit32
        return (unit(generator, count).reshape(shape) < p).astype(dtype)
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    require_kernel(has_kernel, "bernoulli_scalar_cpu_", dtype)
    # What a half type holds, float32 holds too.
    drawn = generator.stream.below(p, count, 1.0 if dtype == np.float64 else float(one))
    return (drawn * one if dtype == np.float64 else drawn).astype(dtype, copy=False).reshape(shape)


_SMALL_INTEGERS = ("uint8", "int8", "int16", "int32", "int64")  # the integers that all of PyTorch's kernels know


def size_of(shape: Shape) -> int:
    """How many elements a shape has."""
    return shape if isinstance(shape, int) else math.prod(shape)


def unit32(generator: Generator, count: int) -> np.ndarray:
    """Uniform on [0, 1), float32: the lower 24 bits of a word."""
    words = generator.stream.words32(count)
    words &= 0xFFFFFF
    out = words.view(np.int32).astype(np.float32)
    out *= 2.0**-24
    return out


def unit64(generator: Generator, count: int) -> np.ndarray:
    """Uniform on [0, 1), float64: the lower 53 bits of a 64-bit word."""
    words = generator.stream.words64(count)
    words &= 2**53 - 1
    out = words.view(np.int64).astype(np.float64)
    out *= 2.0**-53
    return out


def as_dtype(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """The array in the dtype, rounded as in C++: half types by way of float32, integers by way of int64."""
    if array.dtype is dtype:
        return array
    with np.errstate(over="ignore", invalid="ignore"):  # beyond the dtype's range: infinity, and what C++ makes of it
        if dtype in HALVES:
            array = array.astype(np.float32, copy=False)
        elif dtype.kind in "iu" and array.dtype.kind == "f":
            array = array.astype(np.int64)
        return array.astype(dtype, copy=False)


def require_kernel(holds: bool, kernel: str, dtype: np.dtype) -> None:
    """PyTorch's error for a dtype without a kernel."""
    if not holds:
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{from_numpy_dtype(dtype).scalar_name}'")


def _with_parts(shape: Shape) -> tuple[int, ...]:
    return (shape, 2) if isinstance(shape, int) else (*shape, 2)


def _check_uniform_bounds(dtype: np.dtype, low: float, high: float) -> None:
    most = float(limits(dtype).max)
    for name, bound in (("from", low), ("to", high)):
        if not -most <= bound <= most:
            raise RuntimeError(f"{name} is out of bounds for {C_NAMES[dtype.name]}")
    if low > high:
        raise RuntimeError(f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}")
    if high - low > most:
        raise RuntimeError(
            f"uniform_ expects to-from <= std::numeric_limits<{from_numpy_dtype(dtype).scalar_name}>::max(), but found"
            f" to={high:g} and from={low:g} which result in to-from to exceed the limit"
        )


def _libm(function: Callable[[float], float], array: np.ndarray) -> np.ndarray:
    """The C library's function on each element, as PyTorch calls it. NumPy's own may differ in the last bit."""
    return np.fromiter(map(function, array.ravel().tolist()), np.float64, array.size).reshape(array.shape)


def _exact(function: Callable[[float], float], vectorised: np.ufunc, array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """A function of a float64 array, to the last bit only where the result's dtype can show it."""
    return _libm(function, array) if dtype == np.float64 else vectorised(array)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _pairs_of_normals(generator: Generator, count: int, mean: float, std: float) -> np.ndarray:
    """Normal numbers (float64) two by two; the second of a pair that is left over waits in the generator."""
    first = generator.next_normal
    from_before = [] if first is None or not count else [first]
    u = unit64(generator, (count - len(from_before) + 1) // 2 * 2)
    radius = np.sqrt(-2 * _libm(math.log1p, -u[1::2]))
    angle = 2 * math.pi * u[0::2]
    pairs = np.stack([radius * _libm(math.cos, angle), radius * _libm(math.sin, angle)], 1)
    values = np.concatenate([from_before, pairs.reshape(-1)])
    if count:
        generator.next_normal = float(values[count]) if len(values) > count else None
    return fma(values[:count], std, mean)


def _box_muller64(u: np.ndarray, mean: float, std: float) -> np.ndarray:
    """What ``box_muller`` does, in float64 and from uniform numbers."""
    u = u.reshape(-1, 2, BLOCK // 2)
    radius = np.sqrt(-2 * _libm(math.log, 1 - u[:, 0]))
    angle = 2 * math.pi * u[:, 1]
    turned = np.stack([radius * _libm(math.cos, angle), radius * _libm(math.sin, angle)], 1)
    return fma(turned.reshape(-1), std, mean)


def _in_blocks(
    draw: Callable[[int], np.ndarray],
    transform: Callable[[np.ndarray, float, float], np.ndarray],
    count: int,
    mean: float,
    std: float,
    ahead: bool = True,
) -> np.ndarray:
    """Normal numbers in blocks of 16; if the last is not full, the last 16 numbers are drawn anew.

    ``ahead`` says that words are drawn for the part block too, and not used, before those of the last 16.
    """
    whole_blocks = count - count % BLOCK
    numbers = transform(draw(count if ahead else whole_blocks)[:whole_blocks], mean, std)
    if whole_blocks == count:
        return numbers
    last = transform(draw(BLOCK), mean, std)
    return np.concatenate([numbers[: count - BLOCK], last])
