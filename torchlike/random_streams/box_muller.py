"""Sixteen or more normal numbers at once, bit for bit as PyTorch's vectorised CPU kernel makes them."""

import numpy as np

from . import mt19937

BLOCK = 16  # eight radii, then eight angles
_ROWS = 2048  # blocks worked on at a time, so that the buffers stay in the processor's cache

# Cephes' single-precision approximations, which that kernel evaluates with fused multiply-adds.
_LOG = (
    7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1,
    -1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1,
)  # fmt: skip
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_LN2 = (np.float32(0.693359375), np.float32(-2.12194440e-4))  # high and low part
_QUARTER_PI = (np.float32(0.78515625), np.float32(2.4187564849853515625e-4), np.float32(3.77489497744594108e-8))

_F32 = np.float32
_ONE, _HALF, _MINUS_TWO = _F32(1), _F32(0.5), _F32(-2)
_ROOT_HALF = np.sqrt(_HALF).view(np.int32)


def box_muller(words: np.ndarray, mean: float, std: float) -> np.ndarray:
    """Normal numbers (float32) from as many raw 32-bit words, a multiple of 16.

    sqrt(−2 ln u₁)·cos(2π u₂) and ·sin(2π u₂), with u₁ from the first and u₂ from the last eight words of a block.

    >>> import numpy as np
    >>> from torchlike.random_streams.box_muller import box_muller
    >>> box_muller(np.zeros(16, np.uint32), 0.5, 2.0).tolist() == [0.5] * 16  # u₁ = 1: the radius is 0
    True

    Source: Box and Muller (1958); Moshier's Cephes library, ``logf`` and ``sincosf``.
    """
    if mt19937.twister is not None:
        numbers = np.empty(len(words), _F32)
        mt19937.twister.normals(words, numbers, mean, std)
        return numbers
    uniform = (words & np.uint32(0xFFFFFF)).view(np.int32).astype(_F32).reshape(-1, 2, BLOCK // 2)
    uniform *= _F32(2.0**-24)
    out = np.empty_like(uniform)
    std64, mean64 = np.float64(_F32(std)), np.float64(_F32(mean))
    for start in range(0, len(uniform), _ROWS):
        part = uniform[start : start + _ROWS]
        radius = np.sqrt(_MINUS_TWO * _log(_ONE - part[:, 0]))
        for half, turned in enumerate(_cos_sin(part[:, 1] * _F32(2 * np.pi))):
            turned *= radius
            np.copyto(out[start : start + _ROWS, half], turned * std64 + mean64, casting="same_kind")
    return out.reshape(-1)


def _polynomial(coefficients: tuple[float, ...], x: np.ndarray) -> np.ndarray:
    """Horner's rule, each step a·x + c rounded once to float32; float64 between the steps holds products exactly."""
    first, *others = (np.float64(_F32(c)) for c in coefficients)
    exact = x * first
    for c in others[:-1]:
        exact += c
        exact = exact.astype(_F32).astype(np.float64)
        exact *= x
    exact += others[-1]
    return exact.astype(_F32)


def _fused(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
    """a·b + c rounded once, of float32 arrays. b may be float64 already."""
    exact = a.astype(np.float64)
    exact *= b
    exact += c
    return exact.astype(_F32)


def _log(x: np.ndarray) -> np.ndarray:
    """ln x for x in (0, 1]: x = m·2ᵉ with m in [√½, √2)."""
    bits = x.view(np.int32)
    exponent = (bits - _ROOT_HALF) >> 23
    m = (bits - (exponent << 23)).view(_F32) - _ONE
    m64 = m.astype(np.float64)
    square = m * m
    y = _polynomial(_LOG, m64) * m
    exponent = exponent.astype(_F32)
    y = _fused(y, square, exponent * _LN2[1])
    y -= square * _HALF
    m += y
    m += exponent * _LN2[0]  # exact product: the high part is short
    return m


def _cos_sin(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """cos x and sin x for x in [0, 2π), from an octant's distance to the nearest multiple of π/2."""
    octant = (x * _F32(4 / np.pi)).astype(np.int32)
    octant += 1
    octant &= ~1
    turns = octant.astype(_F32)
    # The first two products are exact, so only the third needs care.
    x = (x - turns * _QUARTER_PI[0]) - turns * _QUARTER_PI[1]
    x = _fused(turns, -np.float64(_QUARTER_PI[2]), x)  # pyright: ignore[reportArgumentType]
    square = x * x
    square64 = square.astype(np.float64)
    cos = _fused(_polynomial(_COS, square64) * square, square64, square * -_HALF)
    cos += _ONE
    sin = _fused(_polynomial(_SIN, square64) * square, x, x)
    # On the bits: exchange the two in octants 2, 3, 6, 7; cos is negative in octants 2 to 5, sin in 4 to 7.
    cos_bits, sin_bits = cos.view(np.int32), sin.view(np.int32)
    exchange = (cos_bits ^ sin_bits) & -(octant >> 1 & 1)
    cos_bits ^= exchange
    cos_bits ^= (octant + 2 & 4) << 29
    sin_bits ^= exchange
    sin_bits ^= (octant & 4) << 29
    return cos, sin
