"""Discrete Fourier transforms, in one, two and more dimensions."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype, IntOrInts, Layout
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch.options import is_integer
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from ..creation import filled as creation
from ..indexing.arranging import roll
from ..shape.joining import cat

NORMS = (None, "backward", "ortho", "forward")
ROW = Sample(shapes=((3, 4),))
LONGER = Sample(shapes=((3, 4),), args=(6, 0, "ortho"))
SHORTER = Sample(shapes=((3, 4),), args=(3, -1, "forward"))
GRID = [Sample(shapes=((3, 4),)), Sample(shapes=((2, 3, 4),), args=((4, 2), (0, -1), "ortho"))]


def _floating(x: Array) -> Array:
    """Integers as the default float; PyTorch refuses half types on the CPU, where its library has no transform for them."""
    if x.dtype.kind in "iub":
        return x.astype(dtypes.get_default_dtype().numpy)
    if x.dtype.itemsize < 4:
        raise RuntimeError(f"Unsupported dtype {dtypes.from_numpy_dtype(np.dtype(x.dtype)).scalar_name}")
    return x


def _scale(norm: str | None, count: int, inverse: bool) -> float:
    if norm not in NORMS:
        raise RuntimeError(f'Invalid normalization mode: "{norm}"')
    if norm == "ortho":
        return 1 / math.sqrt(count)
    return 1 / count if (norm == "forward") is not inverse else 1.0


def _resized(x: Array, n: int, dim: int) -> Array:
    """The dimension cut, or filled up with zeros, to ``n`` elements."""
    size = x.shape[dim]
    if n < size:
        return x[(slice(None),) * dim + (slice(n),)]
    return jnp.pad(x, [(0, n - size if d == dim else 0) for d in range(x.ndim)]) if n > size else x


def _check_points(n: int) -> None:
    if n < 1:
        raise RuntimeError(f"Invalid number of data points ({n}) specified")


def _along(x: Array, n: int | None, dim: int) -> tuple[Array, int, int]:
    """The array, floating-point and of the right length along the dimension; the dimension, and the length."""
    x = _floating(x)
    dim = wrap_dim(dim, x.ndim)
    if x.ndim == 0:
        raise IndexError("Dimension specified as -1 but tensor has no dimensions")
    n = x.shape[dim] if n is None else int(n)
    _check_points(n)
    return x, dim, n


def _complex(x: Array) -> Array:
    return x if x.dtype.kind == "c" else x.astype(np.result_type(x.dtype, np.complex64))


def _half(x: Array) -> Array:
    """The transform of a real tensor's last part: what stays, since the rest is its mirror image."""
    if x.dtype.kind == "c":
        raise RuntimeError(
            "rfft expects a real input tensor, but got " + dtypes.from_numpy_dtype(np.dtype(x.dtype)).scalar_name
        )
    return x


def _transform(x: Array, dims: list[int], inverse: bool) -> Array:
    """The complex transform without a scale along some dimensions."""
    x = _complex(x)
    for d in dims:
        x = jnp.fft.ifft(x, axis=d, norm="forward") if inverse else jnp.fft.fft(x, axis=d)
    return x


def _to_real(x: Array, n: int, dim: int) -> Array:
    """The real tensor of ``n`` elements whose half transform this is, without a scale."""
    return jnp.fft.irfft(_resized(_complex(x), n // 2 + 1, dim), n, axis=dim, norm="forward")


def _by_input(real: str) -> Any:
    """The node's name: PyTorch goes another way for real signals."""
    return lambda input, *others: "FftC2CBackward0" if input.dtype.kind == "c" else real


FIELDS: dict[str, Any] = {
    "promote": Promote.NONE,
    "accepts": Category.ALL,
    "forms": Form.OUT,
    "saves": Saves.NOTHING,
}


@op(**FIELDS, backward=_by_input("FftR2CBackward0"), samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_fft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The Fourier transform along a dimension: ``sum over j of input[j] exp(-2 pi i j k / n)``.

    Args:
        n: the length of the signal, which is cut or filled up with zeros.
        norm: "backward": no scale; "ortho": ``1 / sqrt(n)``; "forward": ``1 / n``.

    >>> torch.fft.fft(torch.tensor([1.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    x, dim, n = _along(input, n, dim)
    return _transform(_resized(x, n, dim), [dim], False) * _scale(norm, n, False)


@op(**FIELDS, backward=_by_input("ConjBackward0"), samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_ifft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``fft``."""
    x, dim, n = _along(input, n, dim)
    return _transform(_resized(x, n, dim), [dim], True) * _scale(norm, n, True)


@op(**FIELDS, backward="FftR2CBackward0", samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_rfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The transform of a real signal, of which the first ``n // 2 + 1`` elements say all.

    >>> torch.fft.rfft(torch.tensor([1.0, 0.0, 0.0]))
    tensor([1.+0.j, 1.+0.j])
    """
    x, dim, n = _along(_half(input), n, dim)
    return jnp.fft.rfft(_resized(x, n, dim), axis=dim) * _scale(norm, n, False)


@op(**FIELDS, backward="FftC2RBackward0", samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_irfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``rfft``: a real signal, by default of even length."""
    x, dim, own = _along(input, None, dim)
    n = 2 * (own - 1) if n is None else int(n)
    _check_points(n)
    return _to_real(x, n, dim) * _scale(norm, n, True)


@op(**FIELDS, backward="FftC2RBackward0", samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_hfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The transform of a signal that is symmetric up to conjugation, given by its first half: real."""
    x, dim, own = _along(input, None, dim)
    n = 2 * (own - 1) if n is None else int(n)
    _check_points(n)
    return _to_real(jnp.conj(_complex(x)), n, dim) * _scale(norm, n, False)


@op(**FIELDS, backward="ConjBackward0", samples=[ROW, LONGER, SHORTER], autocast={"cpu": Autocast.FLOAT32})
def fft_ihfft(input: Array, n: int | None = None, dim: int = -1, norm: str | None = None) -> Array:
    """The inverse of ``hfft``: the first half of a symmetric signal."""
    if input.dtype.kind == "c":
        dtype_name = dtypes.from_numpy_dtype(np.dtype(input.dtype)).scalar_name
        raise RuntimeError(f"ihfft expects a real input tensor, but got {dtype_name}")
    x, dim, n = _along(input, n, dim)
    return jnp.conj(jnp.fft.rfft(_resized(x, n, dim), axis=dim)) * _scale(norm, n, True)


# ---- several dimensions


def _grid(x: Array, s: Any, dim: Any, last_doubled: bool = False) -> tuple[Array, list[int], list[int]]:
    """The array, the dimensions to transform, and their lengths. ``last_doubled``: by default for ``irfft``."""
    x = _floating(x)
    s = None if s is None else [int(n) for n in ((s,) if is_integer(s) else s)]
    if dim is not None:
        dims = [wrap_dim(int(d), x.ndim) for d in ((dim,) if is_integer(dim) else dim)]
        if len(set(dims)) < len(dims):
            raise RuntimeError("FFT dims must be unique")
        if s is not None and len(s) != len(dims):
            raise RuntimeError("When given, dim and shape arguments must have the same length")
    elif s is not None:
        if len(s) > x.ndim:
            raise RuntimeError(f"Got shape with {len(s)} values but input tensor only has {x.ndim} dimensions.")
        dims = list(range(x.ndim - len(s), x.ndim))
    else:
        dims = list(range(x.ndim))
    sizes = [x.shape[d] for d in dims]
    if last_doubled and sizes:
        sizes[-1] = 2 * (sizes[-1] - 1)
    if s is not None:
        sizes = [own if n == -1 else n for n, own in zip(s, sizes, strict=True)]
    for n in sizes:
        _check_points(n)
    return x, dims, sizes


def _fit(x: Array, dims: list[int], sizes: list[int]) -> Array:
    for d, n in zip(dims, sizes, strict=True):
        x = _resized(x, n, d)
    return x


def _needs_dims(name: str, dims: list[int]) -> None:
    if not dims:
        raise RuntimeError(f"{name} must transform at least one axis")


def _fftn(x: Array, s: object, dim: IntOrInts | None, norm: str | None, inverse: bool) -> Array:
    x, dims, sizes = _grid(x, s, dim)
    return _transform(_fit(x, dims, sizes), dims, inverse) * _scale(norm, math.prod(sizes), inverse)


def _rfftn(name: str, x: Array, s: object, dim: IntOrInts | None, norm: str | None) -> Array:
    if x.dtype.kind == "c":
        dtype_name = dtypes.from_numpy_dtype(np.dtype(x.dtype)).scalar_name
        raise RuntimeError(f"{name} expects a real-valued input tensor, but got {dtype_name}")
    x, dims, sizes = _grid(x, s, dim)
    _needs_dims(name, dims)
    spectrum = jnp.fft.rfft(_fit(x, dims, sizes), axis=dims[-1])
    return _transform(spectrum, dims[:-1], False) * _scale(norm, math.prod(sizes), False)


def _irfftn(name: str, x: Array, s: object, dim: IntOrInts | None, norm: str | None) -> Array:
    x, dims, sizes = _grid(x, s, dim, last_doubled=True)
    _needs_dims(name, dims)
    x = _transform(_fit(_complex(x), dims[:-1], sizes[:-1]), dims[:-1], True)
    return _to_real(x, sizes[-1], dims[-1]) * _scale(norm, math.prod(sizes), True)


def _hfftn(name: str, x: Array, s: object, dim: IntOrInts, norm: str | None) -> Array:
    x, dims, sizes = _grid(x, s, dim, last_doubled=True)
    _needs_dims(name, dims)
    x = _transform(_fit(_complex(x), dims[:-1], sizes[:-1]), dims[:-1], False)
    return _to_real(jnp.conj(x), sizes[-1], dims[-1]) * _scale(norm, math.prod(sizes), False)


def _ihfftn(name: str, x: Array, s: object, dim: IntOrInts, norm: str | None) -> Array:
    if x.dtype.kind == "c":
        dtype_name = dtypes.from_numpy_dtype(np.dtype(x.dtype)).scalar_name
        raise RuntimeError(f"Only supports floating-point dtypes, but found: {dtype_name}")
    x, dims, sizes = _grid(x, s, dim)
    _needs_dims(name, dims)
    spectrum = jnp.conj(jnp.fft.rfft(_fit(x, dims, sizes), axis=dims[-1]))
    return _transform(spectrum, dims[:-1], True) * _scale(norm, math.prod(sizes), True)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_fftn(input: Array, s: IntOrInts | None = None, dim: IntOrInts | None = None, norm: str | None = None) -> Array:
    """``fft`` along several dimensions, all by default.

    Args:
        s: the lengths of the signal along them.
    """
    return _fftn(input, s, dim, norm, inverse=False)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_ifftn(input: Array, s: IntOrInts | None = None, dim: IntOrInts | None = None, norm: str | None = None) -> Array:
    """The inverse of ``fftn``."""
    return _fftn(input, s, dim, norm, inverse=True)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_fft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """``fft`` along two dimensions, the last by default."""
    return _fftn(input, s, dim, norm, inverse=False)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_ifft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """The inverse of ``fft2``."""
    return _fftn(input, s, dim, norm, inverse=True)


@op(**FIELDS, backward="FftR2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_rfftn(input: Array, s: IntOrInts | None = None, dim: IntOrInts | None = None, norm: str | None = None) -> Array:
    """``rfft`` along the last of several dimensions, ``fft`` along the others."""
    return _rfftn("rfftn", input, s, dim, norm)


@op(**FIELDS, backward="FftR2CBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_rfft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """``rfftn`` along two dimensions, the last by default."""
    return _rfftn("rfftn", input, s, dim, norm)


@op(**FIELDS, backward="FftC2RBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_irfftn(
    input: Array, s: IntOrInts | None = None, dim: IntOrInts | None = None, norm: str | None = None
) -> Array:
    """The inverse of ``rfftn``."""
    return _irfftn("irfftn", input, s, dim, norm)


@op(**FIELDS, backward="FftC2RBackward0", samples=GRID, autocast={"cpu": Autocast.FLOAT32})
def fft_irfft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """The inverse of ``rfft2``."""
    return _irfftn("irfft2", input, s, dim, norm)


@op(**FIELDS, backward="FftC2RBackward0", samples=GRID)
def fft_hfftn(input: Array, s: IntOrInts | None = None, dim: Any = None, norm: str | None = None) -> Array:
    """``hfft`` along the last of several dimensions, ``fft`` along the others."""
    return _hfftn("hfftn", input, s, dim, norm)


@op(**FIELDS, backward="FftC2RBackward0", samples=GRID)
def fft_hfft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """``hfftn`` along two dimensions, the last by default."""
    return _hfftn("hfft2", input, s, dim, norm)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID)
def fft_ihfftn(input: Array, s: IntOrInts | None = None, dim: Any = None, norm: str | None = None) -> Array:
    """The inverse of ``hfftn``."""
    return _ihfftn("ihfftn", input, s, dim, norm)


@op(**FIELDS, backward="FftC2CBackward0", samples=GRID)
def fft_ihfft2(input: Array, s: IntOrInts | None = None, dim: IntOrInts = (-2, -1), norm: str | None = None) -> Array:
    """The inverse of ``hfft2``."""
    return _ihfftn("ihfft2", input, s, dim, norm)


# ---- frequencies


@composite(forms=Form.OUT)
def fft_fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of what ``fft`` of ``n`` samples ``d`` apart gives, in its order.

    >>> torch.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    low = creation.arange(0, (n + 1) // 2, dtype=kind, layout=layout, device=device)
    high = creation.arange(-(n // 2), 0, dtype=kind, layout=layout, device=device)
    frequencies = cat([low, high]) * (1.0 / (n * d))  # pyright: ignore[reportOperatorIssue]
    return frequencies._require_grad(requires_grad)


@composite(forms=Form.OUT)
def fft_rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of what ``rfft`` of ``n`` samples ``d`` apart gives.

    >>> torch.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    numbers = creation.arange(0, n // 2 + 1, dtype=kind, layout=layout, device=device)
    return (numbers * (1.0 / (n * d)))._require_grad(requires_grad)


def _roll_half(input: Tensor, dim: Any, sign: int) -> Tensor:
    dims = list(range(input.dim())) if dim is None else [dim] if is_integer(dim) else list(dim)
    if not dims:
        return input.clone()  # pyright: ignore[reportAttributeAccessIssue]
    sizes = [input.shape[wrap_dim(int(d), input.dim())] for d in dims]
    return roll(input, [n // 2 if sign > 0 else (n + 1) // 2 for n in sizes], dims)


@composite(forms=Form.NONE)
def fft_fftshift(input: Tensor, dim: IntOrInts | None = None) -> Tensor:
    """What ``fftn`` gives, put in order: the lowest frequencies first, 0 in the middle.

    >>> torch.fft.fftshift(torch.tensor([0, 1, -2, -1]))
    tensor([-2, -1,  0,  1])
    """
    return _roll_half(input, dim, 1)


@composite(forms=Form.NONE)
def fft_ifftshift(input: Tensor, dim: IntOrInts | None = None) -> Tensor:
    """The inverse of ``fftshift``."""
    return _roll_half(input, dim, -1)
