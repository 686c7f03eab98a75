"""Rules of the primitives that compute element by element."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from operator import methodcaller
from typing import Any

import numpy as np

from .rules import (
    BFLOAT16,
    NATIVE,
    Compute,
    Parameters,
    Rule,
    ShapedDtype,
    Unsupported,
    itself,
    require_native,
    rule,
    taped,
)


def in_float32(avals: Sequence[ShapedDtype], function: Compute) -> Compute:
    """Wraps the function so that bfloat16 is computed in float32, since NumPy's functions do not support bfloat16."""
    kinds = {aval.dtype for aval in avals}
    if kinds <= NATIVE:
        return function
    if not kinds - NATIVE <= {BFLOAT16}:
        raise Unsupported(f"dtypes {kinds}")

    def widened(*arrays: np.ndarray) -> np.ndarray:
        result: Any = function(*[a.astype(np.float32) if a.dtype == BFLOAT16 else a for a in arrays])
        # The results of comparisons are bool, and stay so.
        return result.astype(BFLOAT16) if result.dtype == np.float32 else result

    return widened


def _in_steps(*steps: tuple[Compute, *tuple[int, ...]]) -> Compute:
    """Functions one after the other, each with the numbers of what it is applied to: inputs, then results of earlier ones."""

    def compute(*arrays: np.ndarray) -> object:
        values: list[object] = [*arrays]
        for function, *operands in steps:
            values.append(function(*[values[n] for n in operands]))
        return values[-1]

    return taped(compute, "steps", *steps)


def _register(names: Mapping[str, Compute]) -> None:
    for name, function in names.items():

        def build(
            params: Parameters,
            ins: Sequence[ShapedDtype],
            outs: Sequence[ShapedDtype],
            function: Compute = function,
        ) -> Compute:
            return in_float32(ins, function)

        rule(name)(build)


def _sign(x: np.ndarray) -> np.ndarray:
    return np.where(x == 0, x, np.sign(x)) if x.dtype.kind == "f" else np.sign(x)  # the sign of -0.0 is -0.0


def _logistic(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    if x.dtype.kind != "c":
        return np.reciprocal(np.exp(-x) + one)
    result = one / (np.exp(-x) + one)
    # Where exp(-x) overflows, one is lost beside it, and infinities divide to NaN: exp(x) is the quotient.
    low = np.isfinite(x) & (np.real(x) < -0.9 * np.log(np.finfo(x.dtype).max))
    return np.where(low, np.exp(np.where(low, x, 0)), result) if low.any() else result


taped(_logistic, "steps", (np.negative, 0), (np.exp, 1), (np.add, 2, 1.0), (np.reciprocal, 3))  # of real numbers


def _log1p(x: np.ndarray) -> np.ndarray:
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = np.real(x), np.imag(x)
    near = (abs(a) < 0.5) & (abs(b) < 0.5)  # where x + 1 has lost digits of x, and no square overflows
    result = x.copy()  # so that the sign of a zero in the imaginary part stays
    np.copyto(np.real(result), a + 1)
    result = np.asarray(np.log(result))
    np.copyto(np.real(result), np.log1p(np.where(near, a * (a + 2) + b * b, 0)) / 2, where=near)
    return np.where(np.isnan(x), x.dtype.type(complex(np.nan, np.nan)), result)


def _one_minus_square(x: np.ndarray) -> np.ndarray:
    one = x.dtype.type(1)
    return (one + x) * (one - x)  # as XLA computes it: 1 - x * x would lose digits near 1


taped(_one_minus_square, "steps", (np.add, 0, 1.0), (np.subtract, 1.0, 0), (np.multiply, 1, 2))


def _polynomial(x: np.ndarray, *coefficients: np.ndarray) -> np.ndarray:
    """Horner's scheme. ``coefficients``: that of the lowest power first."""
    result = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        result = result * x + coefficient
    return result


def _in_total_order(x: np.ndarray) -> np.ndarray:
    """Integers in the order of IEEE 754 for all floating-point numbers: -NaN, -inf, ..., -0, 0, ..., inf, NaN."""
    if x.dtype.kind != "f":
        return x
    bits = x.view(f"i{x.dtype.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


def _total_order(function: Compute) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        require_native(*ins)
        if ins[0].dtype.kind == "c":
            raise Unsupported("an order of complex numbers")
        if ins[0].dtype.kind != "f":
            return function
        return lambda a, b: function(_in_total_order(a), _in_total_order(b))

    return build


for _name, _function in {"lt_to": np.less, "le_to": np.less_equal, "eq_to": np.equal}.items():
    rule(_name)(_total_order(_function))


_register({
    "add": np.add, "add_any": np.add, "sub": np.subtract, "mul": np.multiply, "max": np.maximum, "min": np.minimum,
    "neg": np.negative, "exp": np.exp, "exp2": np.exp2, "log": np.log, "log1p": _log1p, "log2": np.log2, "expm1": np.expm1, "tanh": np.tanh,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "atan2": np.arctan2,
    "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "sqrt": np.sqrt, "cbrt": np.cbrt, "rsqrt": _in_steps((np.sqrt, 0), (np.reciprocal, 1)),
    "abs": np.abs, "sign": _sign, "square": np.square,
    "logistic": _logistic, "one_minus_square": _one_minus_square, "polynomial": _polynomial,
    "floor": np.floor, "ceil": np.ceil, "is_finite": _in_steps((np.isfinite, 0)), "nextafter": np.nextafter,
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal,
    "torchlike_floor_divide": np.floor_divide, "torchlike_remainder": np.remainder, "real": np.real, "imag": np.imag, "conj": np.conj,
})  # fmt: skip


def _bitwise(function: Compute) -> Rule:
    return lambda params, ins, outs: function  # NumPy's bitwise functions are the logical ones for bool


for _name, _function in {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}.items():
    rule(_name)(_bitwise(_function))


def _shift(function: Compute, logical: bool) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        dtype = ins[0].dtype
        bits = 8 * dtype.itemsize
        unsigned = np.dtype(f"u{dtype.itemsize}")

        def shift(x: np.ndarray, count: np.ndarray) -> np.ndarray:
            """Shifts as XLA does: a negative count, or one of at least the width, shifts out every bit."""
            count = count.astype(unsigned)
            beyond = count >= bits
            inside = np.where(beyond, unsigned.type(0), count)
            if logical:
                shifted: Any = function(x.astype(unsigned), inside)
                return np.where(beyond, unsigned.type(0), shifted).astype(dtype)
            moved: Any = function(x, np.where(beyond, unsigned.type(bits - 1), count).astype(dtype))
            return moved

        return shift

    return build


rule("shift_left")(_shift(np.left_shift, True))
rule("shift_right_logical")(_shift(np.right_shift, True))
rule("shift_right_arithmetic")(_shift(np.right_shift, False))


@rule("div")
def _div(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    if ins[0].dtype.kind not in "iu":
        return in_float32(ins, np.divide)

    def divide(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Divides integers. The quotient is rounded toward zero, and division by zero gives -1, both as in XLA."""
        quotient = np.floor_divide(a, b)
        below = (a < 0) != (b < 0)
        if below.any():
            quotient = quotient + ((quotient * b != a) & below).astype(quotient.dtype)
        return quotient if b.all() else np.where(b == 0, np.asarray(-1).astype(quotient.dtype), quotient)

    return divide


@rule("rem")
def _rem(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    if ins[0].dtype.kind not in "iu":
        return in_float32(ins, np.fmod)
    # In XLA the remainder of a division by zero is the dividend. NumPy would return 0, with a warning.
    return lambda a, b: (
        np.fmod(a, b) if b.all() else np.where(b == 0, a, np.fmod(a, np.where(b == 0, b.dtype.type(1), b)))
    )


@rule("pow")
def _pow(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    dtype = outs[0].dtype
    if dtype.kind in "iu":
        raise Unsupported("pow of integers")
    if ins[1].dtype == dtype:
        return in_float32(ins, np.power)
    if dtype not in NATIVE:
        raise Unsupported(f"pow of {dtype}")
    return lambda x, y: np.power(x, y.astype(dtype))


@rule("integer_pow")
def _integer_pow(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    exponent = params["y"]
    if exponent < 0 and ins[0].dtype.kind in "iu":
        raise Unsupported("negative powers of integers")
    if exponent == 0:
        return in_float32(ins, np.ones_like)
    # JAX lowers the primitive to the same products in the same order, so the last bits agree. ``np.power`` rounds differently.
    steps: list[tuple[Compute, *tuple[int, ...]]] = []
    result, factor, remaining = -1, 0, abs(exponent)
    while remaining:
        if remaining & 1:
            if result >= 0:
                steps.append((np.multiply, result, factor))
            result = factor if result < 0 else len(steps)
        remaining >>= 1
        if remaining:
            steps.append((np.multiply, factor, factor))
            factor = len(steps)
    if exponent < 0:
        steps.append((np.reciprocal, result))
    return in_float32(ins, np.square if exponent == 2 else _in_steps(*steps))


@rule("round")
def _round(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    if int(params["rounding_method"]) == 1:
        return in_float32(ins, np.rint)
    # Not 0.5: the sum of the largest number below 0.5 and 0.5 would be rounded to 1.
    below_half = np.nextafter(ins[0].dtype.type(0.5), ins[0].dtype.type(0))
    if ins[0].dtype not in NATIVE:
        raise Unsupported("rounding away from zero of bfloat16")
    return lambda x: np.trunc(x + np.copysign(below_half, x))


@rule("clamp")
def _clamp(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return in_float32(ins, _in_steps((np.maximum, 1, 0), (np.minimum, 3, 2)))


# Arrays with at least this many elements are blended by operations on their bits. ``np.where`` branches for each element, and takes up to
# five nanoseconds where the processor cannot predict the branch; operations on the bits of both cases take a tenth of that.
MIN_BLENDED = 16384
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def _blend(which: np.ndarray, no: np.ndarray, yes: np.ndarray) -> np.ndarray:
    """The same as ``np.where(which, yes, no)``, bit by bit."""
    if which.all():  # as of numbers that all fit an integer; otherwise this ends at the first that is not
        return yes
    kind = _BITS[no.dtype.itemsize]
    no_bits = no.view(kind)
    bits = np.bitwise_xor(yes.view(kind), no_bits)
    np.multiply(bits, which, out=bits)
    np.bitwise_xor(bits, no_bits, out=bits)
    return bits.view(no.dtype)


def _where(which: np.ndarray, no: np.ndarray, yes: np.ndarray) -> np.ndarray:
    return np.where(which, yes, no)


taped(_where, "where")


@rule("select_n")
def _select(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    if len(ins) == 2:
        return lambda which, only: only
    if len(ins) == 3 and ins[0].dtype == bool:
        if ins[0].shape and prod(ins[0].shape) >= MIN_BLENDED and outs[0].dtype.itemsize in _BITS:
            return _blend
        return _where
    return lambda which, *cases: np.choose(np.broadcast_to(which, cases[0].shape), cases)


@rule("convert_element_type")
def _convert(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    source, target = ins[0].dtype, outs[0].dtype
    if not isinstance(source, np.dtype) or not isinstance(target, np.dtype):
        raise Unsupported("conversions of keys")
    if source == target:
        return itself
    if source.kind == "c" and target.kind != "c":
        if target.kind != "f":
            raise Unsupported("complex numbers to integers")
        return lambda x: x.real.astype(target)
    if target.kind in "iu" and source.kind not in "biu":
        if source not in NATIVE:
            raise Unsupported(f"{source} to {target}")
        # XLA saturates at the limits of the integer, and turns NaN into 0.
        limits = np.iinfo(target)
        low, high = float(limits.min), float(limits.max) + 1.0  # powers of two, so the comparison is exact

        def to_integer(x: np.ndarray) -> np.ndarray:
            inside = (x > low - 1.0) & (x < high)
            if inside.all():
                return x.astype(target)
            clipped = np.where(inside, x, x.dtype.type(0)).astype(target)
            clipped = np.where(x >= high, target.type(limits.max), clipped)
            return np.where(x <= low, target.type(limits.min), clipped)

        return to_integer
    return methodcaller("astype", target)


@rule("bitcast_convert_type")
def _bitcast(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    dtype, shape = outs[0].dtype, outs[0].shape
    if ins[0].dtype.itemsize == dtype.itemsize:
        return lambda x: np.asarray(x).view(dtype)
    # The last dimension holds the parts of an element: it is new, or vanishes.
    # Flattening every second element makes no copy, and NumPy reads only neighbours as another dtype.
    return lambda x: np.ascontiguousarray(x.reshape(-1)).view(dtype).reshape(shape)


@rule("reduce_precision")
def _reduce_precision(params: Parameters, ins: Sequence[ShapedDtype], outs: object) -> Compute:
    bits = params["exponent_bits"], params["mantissa_bits"]
    dtype = ins[0].dtype
    narrow = {(5, 10): np.dtype(np.float16), (8, 7): BFLOAT16, (8, 23): np.dtype(np.float32)}.get(bits)
    if bits == (11, 52) or narrow is None or narrow.itemsize > dtype.itemsize:
        raise Unsupported(f"precision {bits}")
    return taped(lambda x: x, "view") if narrow == dtype else (lambda x: x.astype(narrow).astype(dtype))


@rule("complex")
def _complex(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    dtype = outs[0].dtype

    def compute(real: np.ndarray, imaginary: np.ndarray) -> np.ndarray:
        result = np.empty(np.broadcast_shapes(real.shape, imaginary.shape), dtype)
        result.real, result.imag = real, imaginary
        return result

    return compute


@rule("population_count")
def _population_count(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    dtype = outs[0].dtype
    return lambda x: np.bitwise_count(x).astype(dtype)


@rule("copy", "copy_p", "stop_gradient", "name", "pvary", "reshard")
def _identity(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return itself


@rule("optimization_barrier")
def _barrier(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return lambda *arrays: arrays


@rule("device_put")
def _device_put(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
    return lambda *arrays: arrays
