"""Rules of the error function, the gamma function and related ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from math import prod

import numpy as np

from .elementwise import in_float32
from .products import with_cost
from .rules import Compute, Parameters, Rule, ShapedDtype, rule

# Arrays with fewer elements go through Python's own functions: SciPy's are faster, but take a fifth of a second to import.
SMALL = 4096
# erf(x) / x as a quotient of polynomials of x * x, lowest powers first, fitted on [-4, 4]: its relative error there is below 3e-9. Outside
# of it erf(x) is 1 in float32.
_NUMERATOR = (
    1.1283791699717554, 0.19287897858078268, 0.055749640807614444, 0.004226508281610703, 0.0004112813045485287,
    6.7914780590384e-06,
)  # fmt: skip
_DENOMINATOR = (
    1.0, 0.5042679779877721, 0.11749551028381322, 0.016295186697317266, 0.0014212153475987083, 7.256474465640942e-05,
    2.6049178605203296e-07,
)  # fmt: skip


# Elements that are computed at a time: what lies between stays in the processor's cache, which makes it twice as fast.
_ELEMENTS = 16384
# What an element takes, by our own error function, by SciPy's functions of one number and by its zeta function (measured).
SECONDS_PER_ERF, SECONDS_PER_OTHER, SECONDS_PER_ZETA = 1e-8, 2e-8, 1e-6


def _polynomial(coefficients: Sequence[float], x: np.ndarray, out: np.ndarray) -> None:
    np.multiply(x, coefficients[-1], out=out)
    for coefficient in coefficients[-2:0:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, x, out=out)
    np.add(out, coefficients[0], out=out)


def erf_float32(x: np.ndarray) -> np.ndarray:
    """The error function of float32, computed in float64 and rounded once. It is faster than SciPy's, and needs no import."""
    result = np.empty(x.shape, np.float32)
    source, target = x.reshape(-1), result.reshape(-1)
    memory = np.empty((4, min(_ELEMENTS, source.size)))
    for start in range(0, source.size, _ELEMENTS):
        part = source[start : start + _ELEMENTS]
        wide, square, above, below = memory[:, : part.size]
        np.clip(part, -4.0, 4.0, out=wide)
        np.multiply(wide, wide, out=square)
        _polynomial(_NUMERATOR, square, above)
        _polynomial(_DENOMINATOR, square, below)
        np.multiply(wide, above, out=wide)
        np.divide(wide, below, out=target[start : start + _ELEMENTS], casting="same_kind")
    return result


def _special(name: str) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        dtype, small = outs[0].dtype, getattr(math, name, None)
        count = prod(outs[0].shape)
        if name == "erf" and dtype == np.float32 and outs[0].shape:
            return with_cost(lambda x: erf_float32(x), SECONDS_PER_ERF * count, in_library=False)
        if small is not None and count < SMALL:
            return in_float32(ins, lambda x: np.array([small(e) for e in x.ravel().tolist()], dtype).reshape(x.shape))
        import scipy.special

        function = _gammaln if name == "gammaln" else getattr(scipy.special, name)
        compute = in_float32(ins, lambda x: np.asarray(function(x)).astype(dtype, copy=False))
        return with_cost(compute, SECONDS_PER_OTHER * count, in_library=False)

    return build


def _gammaln(x: np.ndarray) -> np.ndarray:
    """SciPy's function, with inf for -inf as in XLA and PyTorch, where SciPy returns -inf."""
    import scipy.special

    return np.where(np.isneginf(x), np.inf, scipy.special.gammaln(x))


for _name, _function in {
    "erf": "erf", "erfc": "erfc", "erf_inv": "erfinv", "lgamma": "gammaln", "digamma": "psi",
    "bessel_i0e": "i0e", "bessel_i1e": "i1e",
}.items():  # fmt: skip
    rule(_name)(_special(_function))


def _zeta(x: np.ndarray, q: np.ndarray) -> np.ndarray:
    import scipy.special

    return scipy.special.zeta(x, q)


def _polygamma(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The derivative of the digamma function of an order that is a whole number; NaN for other orders, as XLA has it."""
    import scipy.special

    sign = np.where(n % 2 == 0, -1, 1).astype(x.dtype)
    derivative = sign * scipy.special.gamma(n + 1) * scipy.special.zeta(n + 1, x)
    return np.where(n == 0, scipy.special.psi(x), np.where((n < 0) | (n % 1 != 0), np.nan, derivative))


def _of_two(function: Callable[[np.ndarray, np.ndarray], np.ndarray]) -> Rule:
    def build(params: Parameters, ins: Sequence[ShapedDtype], outs: Sequence[ShapedDtype]) -> Compute:
        dtype = outs[0].dtype
        compute = in_float32(ins, lambda x, y: np.asarray(function(x, y)).astype(dtype, copy=False))
        return with_cost(compute, SECONDS_PER_ZETA * prod(outs[0].shape), in_library=False)

    return build


rule("zeta")(_of_two(_zeta))
rule("polygamma")(_of_two(_polygamma))
