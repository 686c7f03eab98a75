"""Statistics of samples: quantiles, covariances, histograms in several dimensions."""

from __future__ import annotations

import warnings
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import IntOrInts
from ..._core.meta import refuse_meta
from ..._core.tensor import Tensor, from_host, wrap_dim
from ...dispatch import return_types
from ...dispatch.arguments import check_value, misfit_error
from ...dispatch.options import is_integer
from ...dispatch.out_dtypes import words
from ...dispatch.register import Autocast, Category, Form, Promote, Validation, composite, op
from ...dispatch.type_names import type_name
from ...numerics.exact_math import exact_quotient
from ..creation.filled import scalar_tensor
from ..shape.complex_numbers import complex as complex_

INTERPOLATIONS = ("linear", "lower", "higher", "midpoint", "nearest")


def _quantile(input: Tensor, q: Any, dim: Any, keepdim: bool, interpolation: str, skip_nan: bool) -> Tensor:
    if not isinstance(q, Tensor):
        if isinstance(q, (complex, str)):
            raise misfit_error("nanquantile" if skip_nan else "quantile", "q", 2, f"must be Tensor, not {type_name(q)}")
        if not 0 <= q <= 1:
            raise RuntimeError(f"quantile() q must be in the range [0, 1] but got {q:g}")
        q = scalar_tensor(q, dtype=input.dtype)
    if input.numel() == 0:
        raise RuntimeError("quantile() input tensor must be non-empty")
    if q.dim() > 1:
        raise RuntimeError("quantile() q must be a scalar or 1D tensor")
    if input.dtype not in (dtypes.float32, dtypes.float64):
        raise RuntimeError("quantile() input tensor must be either float or double dtype")
    if q.dtype is not input.dtype:
        raise RuntimeError("quantile() q tensor must be same dtype as the input tensor")
    if interpolation not in INTERPOLATIONS:
        raise RuntimeError(
            f"quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got {interpolation}"
        )
    if q._value().array.__class__ is np.ndarray and not bool(((q >= 0) & (q <= 1)).all()):
        raise RuntimeError("quantile() q values must be in the range [0, 1]")
    shape = list(input.shape)
    if dim is None:
        flat, result_shape = input.flatten(), [1] * len(shape) * keepdim
    else:
        axis = wrap_dim(dim, len(shape))
        flat = input.movedim(axis, -1) if shape else input.unsqueeze(0)
        result_shape = [1 if d == axis else n for d, n in enumerate(shape) if keepdim or d != axis]
    ordered = flat.sort(-1).values  # (..., n)
    last = ordered.shape[-1] - 1
    places = q.reshape(-1).expand(*ordered.shape[:-1], q.numel())  # (..., q)
    if skip_nan:
        ranks = (places * (ordered.isnan().logical_not().sum(-1, keepdim=True) - 1)).clamp_min(0)
    else:
        ranks = (places * last).masked_fill(ordered.isnan().any(-1, keepdim=True), last)
    if interpolation == "lower":
        ranks = ranks.floor()
    elif interpolation == "higher":
        ranks = ranks.ceil()
    elif interpolation == "nearest":
        ranks = ranks.round()
    below = ranks.to(dtypes.int64)
    numbers = ordered.gather(-1, below)
    if interpolation in ("linear", "midpoint"):
        weights = (
            (ranks - below) if interpolation == "linear" else scalar_tensor(0.5, dtype=input.dtype).expand_as(ranks)
        )
        above = ranks.ceil().to(dtypes.int64)
        numbers = numbers.lerp(ordered.gather(-1, above), weights)
    if q.dim() == 0:
        return numbers.squeeze(-1).reshape(result_shape)
    return numbers.movedim(-1, 0).reshape(q.numel(), *result_shape)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast={"cpu": Autocast.FLOAT32},
    validation=Validation(out=words("quantile() out tensor must be same dtype as the input tensor")),
)
def quantile(
    input: Tensor,
    q: Tensor | float,
    dim: IntOrInts | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """The values below which the fractions ``q`` of all elements lie, or of those along a dimension. NaN if there is one.

    Args:
        q: a number from 0 to 1, or a vector of them, whose results stand along a new first dimension.
        interpolation: between neighbours: "linear", "lower", "higher", "midpoint" or "nearest".

    >>> torch.quantile(torch.tensor([1.0, 2.0, 3.0, 4.0]), 0.5)
    tensor(2.5000)
    """
    return _quantile(input, q, dim, keepdim, interpolation, skip_nan=False)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast={"cpu": Autocast.FLOAT32},
    validation=Validation(out=words("quantile() out tensor must be same dtype as the input tensor")),
)
def nanquantile(
    input: Tensor,
    q: Tensor | float,
    dim: IntOrInts | None = None,
    keepdim: bool = False,
    *,
    interpolation: str = "linear",
) -> Tensor:
    """As ``quantile``, of the elements that are not NaN."""
    return _quantile(input, q, dim, keepdim, interpolation, skip_nan=True)


# ---- covariances


def _weights(name: str, weights: Any, count: int, integral: bool) -> None:
    kind = "integral" if integral else "floating point"
    if weights.dim() > 1:
        raise RuntimeError(
            f"cov(): expected {name} to have one or fewer dimensions but got {name} with {weights.dim()} dimensions"
        )
    if (weights.dtype.category == dtypes.FLOAT) is integral or weights.dtype.category == dtypes.COMPLEX:
        raise RuntimeError(
            f"cov(): expected {name} to have {kind} dtype but got {name} with {weights.dtype.scalar_name} dtype"
        )
    if weights.numel() != count:
        raise RuntimeError(
            f"cov(): expected {name} to have the same numel as there are observations in the input but got {weights.numel()} != {count}"
        )
    if not bool((weights >= 0).all()):
        raise RuntimeError(f"cov(): {name} cannot be negative")


@composite(forms=Form.FUNCTION | Form.METHOD)
def cov(
    input: Tensor, *, correction: int = 1, fweights: Tensor | None = None, aweights: Tensor | None = None
) -> Tensor:
    """The covariance matrix of variables, the rows of the input, whose observations are the columns.

    Args:
        correction: what is taken off the number of observations: 1 for the unbiased estimate.
        fweights: how often each observation was made, integers of shape (columns,).
        aweights: how much each observation counts, floats of shape (columns,).

    >>> torch.cov(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"cov(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    if input.dtype is dtypes.bool_:
        raise RuntimeError("cov(): bool dtype is not supported for input")
    rows = input.reshape(1, -1) if input.dim() < 2 else input
    count = rows.shape[1]
    weights = None
    if fweights is not None:
        _weights("fweights", fweights, count, integral=True)
        weights = fweights
    if aweights is not None:
        _weights("aweights", aweights, count, integral=False)
        weights = aweights if weights is None else weights * aweights
    total = count if weights is None else weights.sum()
    if weights is None:
        average = rows.mean(1) if rows.dtype.category >= dtypes.FLOAT else rows.sum(1) / count
        degrees = total - correction
    else:
        average = (rows * weights).sum(1) / total
        degrees = total if correction == 0 else total - correction
        if aweights is not None and correction != 0:
            degrees = total - correction * (weights * aweights).sum() / total
    if isinstance(degrees, Tensor):
        degrees = degrees.clamp_min(0)
    else:
        if degrees <= 0:
            _warn_degrees()
        degrees = max(degrees, 0)
    centred = rows - average.unsqueeze(1)
    other = centred if weights is None else centred * weights
    return (centred @ other.t().conj()).true_divide(degrees).squeeze()


def _warn_degrees() -> None:
    warnings.warn(
        "cov(): degrees of freedom is <= 0. Correction should be strictly less than the number of observations.",
        UserWarning,
        stacklevel=4,
    )


@composite(forms=Form.FUNCTION | Form.METHOD)
def corrcoef(input: Tensor) -> Tensor:
    """The correlation coefficients of variables, the rows of the input: ``cov(i, j) / sqrt(cov(i, i) cov(j, j))``.

    >>> torch.corrcoef(torch.tensor([[0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]))
    tensor([[ 1., -1.],
            [-1.,  1.]])
    """
    if input.dim() > 2:
        raise RuntimeError(
            f"corrcoef(): expected input to have two or fewer dimensions but got an input with {input.dim()} dimensions"
        )
    matrix = cov(input)
    if matrix.dim() == 0:
        return matrix / matrix
    deviations = matrix.diag().real.sqrt() if matrix.is_complex() else matrix.diag().sqrt()
    correlation = matrix / deviations.reshape(-1, 1) / deviations.reshape(1, -1)
    if not correlation.is_complex():
        return correlation.clamp(-1, 1)
    return complex_(correlation.real.clamp(-1, 1), correlation.imag.clamp(-1, 1))


# ---- histograms


def _edges(name: str, bins: int, low: float, high: float, dtype: Any) -> np.ndarray:
    """The borders of ``bins`` equal bins, rounded as PyTorch's linspace rounds them."""
    step = dtype.type((dtype.type(high) - dtype.type(low)) / dtype.type(bins))
    up = dtype.type(low) + step * np.arange(bins + 1, dtype=dtype)
    down = dtype.type(high) - step * np.arange(bins, -1, -1, dtype=dtype)
    return np.where(np.arange(bins + 1) < (bins + 1) // 2, up, down).astype(dtype)


@op(
    name="_histogramdd",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    differentiable="aten::histogram",
    refuse="histogramdd",
    samples=[],
)
def counted(input: Array, edges: list[Array], weight: Array | None, density: bool) -> Array:
    """How many rows of ``input``, by weight, lie in each cell of the grid that the edges of each dimension make."""
    rows = input.reshape(-1, input.shape[-1])
    inside = jnp.ones(rows.shape[:1], np.bool_)
    places = []
    for d, borders in enumerate(edges):
        x = rows[:, d]
        inside &= (x >= borders[0]) & (x <= borders[-1])
        bin_number = jnp.searchsorted(borders, x, side="right") - 1  # the last bin holds its right border too
        places.append(jnp.clip(bin_number, 0, borders.shape[0] - 2))
    ones = jnp.ones(rows.shape[:1], input.dtype) if weight is None else weight.reshape(-1)
    values = jnp.where(inside, ones, jnp.zeros((), input.dtype))
    counts = jnp.zeros([b.shape[0] - 1 for b in edges], input.dtype).at[tuple(places)].add(values)
    if density:
        counts = exact_quotient(counts, jnp.sum(counts))
        for d, borders in enumerate(edges):
            counts = exact_quotient(counts, jnp.diff(borders).reshape([-1 if k == d else 1 for k in range(len(edges))]))
    return counts


def _check_histogram(name: str, input: Any, weight: Any) -> None:
    if input.dim() < 2:
        raise RuntimeError(f"{name}: input tensor should have at least 2 dimensions, but got {input.dim()}")
    if weight is None:
        return
    if weight.dtype is not input.dtype:
        raise RuntimeError(
            f"{name}: if weight tensor is provided, input tensor and weight tensor should have the same dtype, but got "
            f"input(dtype={input.dtype.scalar_name}), and weight(dtype={weight.dtype.scalar_name})"
        )
    if list(weight.shape) != list(input.shape[:-1]):
        raise RuntimeError(
            f"{name}: if weight tensor is provided it should have the same shape as the input tensor excluding its innermost "
            f"dimension, but got input with shape {list(input.shape)} and weight with shape {list(weight.shape)}"
        )


def _borders_of(name: str, input: Any, bins: Any, limits: Any) -> list[Tensor]:
    """The borders along each dimension: as they are given, or of equal bins between the limits or the extrema."""
    count = input.shape[-1]
    if len(bins) != count:
        raise RuntimeError(
            f"{name}: The size of bins must be equal to the innermost dimension of the input." if isinstance(bins[0], int)
            else f"{name}: expected {count} sequences of bin edges for a {count}-dimensional histogram but got {len(bins)}"
        )  # fmt: skip
    if isinstance(bins[0], Tensor):
        for borders in bins:
            if borders.dim() != 1:
                raise RuntimeError(f"{name}: bins tensor should have one dimension, but got {borders.dim()} dimensions")
            if borders.numel() == 0:
                raise RuntimeError(f"{name}: bins tensor should have at least 1 element, but got 0 elements")
            if borders.dtype is not input.dtype:
                raise RuntimeError(
                    f"{name}: input tensor and bins tensors should have the same dtype, but got input with dtype "
                    f"{input.dtype.scalar_name} and bins for dimension 0 with dtype {borders.dtype.scalar_name}"
                )
        return [borders.contiguous() for borders in bins]
    for d, number in enumerate(bins):
        if number <= 0:
            raise RuntimeError(f"{name}: bins {list(bins)} for dimension {d} must be greater than 0")
    refuse_meta(input, "histogram.bin_ct" if name == "histogram" else "_histogramdd_bin_edges")
    rows = input._array().reshape(-1, count)
    if limits is not None:
        if len(limits) != 2 * count:
            raise RuntimeError(
                f"{name}: for a {count}-dimensional histogram range should have {2 * count} elements, but got {len(limits)}"
            )
        low, high = list(limits[::2]), list(limits[1::2])
    elif rows.shape[0]:
        low, high = rows.min(0).tolist(), rows.max(0).tolist()
    else:
        low, high = [0.0] * count, [1.0] * count
    borders_by_dim = []
    for d in range(count):
        a, b = low[d], high[d]
        if not (np.isfinite(a) and np.isfinite(b)):
            raise RuntimeError(f"torch.histogramdd: dimension {d}'s range [{a:g}, {b:g}] is not finite")
        if a > b:
            raise RuntimeError(
                f"torch.histogramdd: min should not exceed max, but got min {a:g} max {b:g} for dimension {d}"
            )
        if a == b:
            a, b = a - 0.5, b + 0.5
        borders_by_dim.append(from_host(_edges(name, bins[d], a, b, rows.dtype)))
    return borders_by_dim


@composite(forms=Form.FUNCTION)
def histogramdd(input: Any, bins: Any, range: object = None, weight: object = None, density: bool = False) -> Any:
    """How many rows of ``input`` (..., N) lie in each cell of an N-dimensional grid, and the borders of the grid.

    Args:
        bins: how many along each dimension; one number for all; or the borders, a tensor for each dimension.
        range: the lowest and highest border of each dimension; None: the extrema.
        weight: what each row counts for, of the shape of ``input`` without its last dimension.
        density: whether the result is divided so that its integral is 1.
    """
    _check_histogram("torch.histogramdd", input, weight)
    if is_integer(bins):
        bins = [int(bins)] * input.shape[-1]
    borders = _borders_of("torch.histogramdd", input, list(bins), range)
    return return_types.histogramdd(counted(input, borders, weight, density), tuple(borders))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def histogram(
    input: Tensor, bins: Tensor | int, *, range: object = None, weight: Tensor | None = None, density: bool = False
) -> Any:
    """How many elements lie in each of some bins, and the borders of these. The last bin holds its right border too.

    Args:
        bins: how many, or a vector of their borders.
        range: the lowest and the highest border; None: the extrema.
        weight: what each element counts for.
        density: whether the result is divided so that its integral is 1.

    >>> torch.histogram(torch.tensor([1.0, 2.0, 1.0]), bins=2).hist
    tensor([2., 1.])
    """
    if not isinstance(bins, Tensor):
        check_value("histogram", "bins", None, "int", bins)
    column = input.reshape(-1, 1)
    weights = None if weight is None else weight.reshape(-1)
    _check_histogram("torch.histogram", column, weights)
    borders = _borders_of("torch.histogram", column, [bins if isinstance(bins, Tensor) else int(bins)], range)
    return return_types.histogram(counted(column, borders, weights, density), borders[0])
