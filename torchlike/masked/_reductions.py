"""torch.masked: reductions and normalisations that leave out the elements where a mask is False."""

from __future__ import annotations

from typing import Any

from .. import ops
from .._core import dtypes
from .._core.annotations import Dtype, IntOrInts
from .._core.layouts import sparse_coo, sparse_csr
from .._core.tensor import Tensor, wrap_dim
from ..ops.linalg.matrix_functions import linalg_vector_norm
from ._masks import _canonical_dim, _input_mask, of_layouts

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median", "norm",
    "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

# Left out means: replaced by what changes nothing. For extrema that is the least or the greatest number of the dtype.
LEAST, GREATEST = "least", "greatest"


def _extreme(name: str, input: Tensor, neutral: str) -> float:
    if input.dtype is dtypes.bool_:
        raise NotImplementedError(f"identity of {name} on torch.bool input")
    if input.dtype.is_floating_point:
        return float("-inf" if neutral == LEAST else "inf")
    limits = dtypes.iinfo(input.dtype)
    return limits.min if neutral == LEAST else limits.max


def _reduction_identity(op_name: str, input: Tensor, *args: object) -> Tensor | None:
    """What a reduction of no element gives, as a tensor without dimensions; None where there is no such number.

    Raises:
        NotImplementedError: of bool tensors, for extrema.
    """
    if op_name in ("sum", "cumsum"):
        number: float = 0
    elif op_name in ("prod", "cumprod"):
        number = 1
    elif op_name in ("amax", "argmax", "logaddexp"):
        number = _extreme(op_name, input, LEAST)
    elif op_name == "logsumexp":
        number = float("-inf") if input.dtype.is_complex else _extreme(op_name, input, LEAST)
    elif op_name in ("amin", "argmin"):
        number = _extreme(op_name, input, GREATEST)
    elif op_name == "norm":
        order = args[0] if args else 2
        if order == float("-inf"):
            number = float("inf")
        else:
            number = 0
    elif op_name in ("mean", "var", "std"):
        return None
    elif op_name == "median":
        return ops.scalar_tensor(
            float("nan"), dtype=input.dtype if input.dtype.is_floating_point else dtypes.get_default_dtype()
        )
    else:
        raise NotImplementedError(f"identity of {op_name} on {input.dtype} input")
    return ops.scalar_tensor(number, dtype=input.dtype, device=input.device)


def _fill_masked(name: str, input: Tensor, mask: Tensor | None, neutral: object) -> Tensor:
    """The input with ``neutral`` where the mask is False."""
    if isinstance(neutral, str):
        neutral = _extreme(name, input, neutral)
    return (
        input
        if mask is None
        else ops.where(_input_mask(input, mask=mask), input, ops.scalar_tensor(neutral, dtype=input.dtype))
    )


def _cast(input: Tensor, dtype: Dtype | None) -> Tensor:
    return input if dtype is None else input.to(dtype)


@of_layouts(sparse_coo, sparse_csr, unmasked=True)
def sum(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The sum of the elements that the mask keeps, of all or along dimensions; of none of them 0.

    Args:
        mask: of bool, broadcast to the input's shape; None keeps all.

    >>> torch.masked.sum(torch.tensor([1.0, 2.0, 4.0]), mask=torch.tensor([True, False, True]))
    tensor(5.)
    """
    return ops.sum(_fill_masked("sum", input, mask, 0), _canonical_dim(dim, input.dim()), bool(keepdim), dtype=dtype)


@of_layouts(sparse_coo, sparse_csr)
def prod(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The product of the elements that the mask keeps; of none of them 1."""
    result = _cast(_fill_masked("prod", input, mask, 1), dtype)
    if input.dim() and isinstance(dim, (tuple, list)) and not dim:
        # Of each element alone, while no dimensions are all of them in the other reductions.
        return result.to(dtypes.int64) if dtype is None and result.dtype.category < dtypes.FLOAT else result
    axes = _canonical_dim(dim, input.dim())
    if not axes:
        return ops.prod(result)
    for axis in sorted(axes, reverse=True):
        result = ops.prod(result, axis, bool(keepdim))
    return result


@of_layouts()
def cumsum(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The sums of the elements up to each along a dimension, without those that the mask leaves out."""
    return ops.cumsum(_fill_masked("cumsum", input, mask, 0), dim, dtype=dtype or input.dtype)


@of_layouts()
def cumprod(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The products of the elements up to each along a dimension, without those that the mask leaves out."""
    return ops.cumprod(_fill_masked("cumprod", input, mask, 1), dim, dtype=dtype or input.dtype)


@of_layouts(sparse_coo, sparse_csr)
def amax(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The greatest of the elements that the mask keeps; of none of them the least number of the dtype.

    Raises:
        NotImplementedError: the input is of bool.
    """
    return ops.amax(
        _fill_masked("amax", _cast(input, dtype), mask, LEAST), _canonical_dim(dim, input.dim()), bool(keepdim)
    )


@of_layouts(sparse_coo, sparse_csr)
def amin(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The least of the elements that the mask keeps; of none of them the greatest number of the dtype.

    Raises:
        NotImplementedError: the input is of bool.
    """
    return ops.amin(
        _fill_masked("amin", _cast(input, dtype), mask, GREATEST), _canonical_dim(dim, input.dim()), bool(keepdim)
    )


@of_layouts()
def argmax(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the greatest of the elements that the mask keeps stands, as a number of the input's dtype, or of ``dtype``.

    Raises:
        NotImplementedError: the input is of bool.
    """
    return ops.argmax(_fill_masked("argmax", input, mask, LEAST), dim, bool(keepdim)).to(dtype or input.dtype)


@of_layouts()
def argmin(
    input: Tensor,
    dim: int | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Where the least of the elements that the mask keeps stands, as a number of the input's dtype, or of ``dtype``.

    Raises:
        NotImplementedError: the input is of bool.
    """
    return ops.argmin(_fill_masked("argmin", input, mask, GREATEST), dim, bool(keepdim)).to(dtype or input.dtype)


def _count(input: Tensor, dim: IntOrInts | None, keepdim: bool, mask: Any) -> Tensor:
    """How many elements each result is made of, in the input's dtype."""
    ones = ops.ones_like(input) if mask is None else _input_mask(input, mask=mask).to(input.dtype)
    return ops.sum(ones, dim, keepdim)


@of_layouts(sparse_csr)
def mean(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The mean of the elements that the mask keeps; of none of them NaN.

    >>> torch.masked.mean(torch.tensor([1.0, 2.0, 6.0]), mask=torch.tensor([True, True, False]))
    tensor(1.5000)

    Raises:
        ValueError: the dtype, or the input's, is neither floating point nor complex.
    """
    result_dtype = dtype or input.dtype
    if not (result_dtype.is_floating_point or result_dtype.is_complex):
        raise ValueError(
            "mean(): Could not infer output dtype. Input dtype must be either a floating point or complex dtype. "
            f"Got: {result_dtype}"
        )
    x = _cast(input, dtype)
    keepdim = bool(keepdim)
    return sum(x, dim, keepdim=keepdim, mask=mask) / _count(x, dim, keepdim, mask)


@of_layouts()
def median(
    input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The lower median of the elements that the mask keeps; of none of them NaN.

    Raises:
        ValueError: the mask leaves out a whole row of numbers that are not floating point.
    """
    x = _cast(input, dtype)
    if mask is None:
        return (
            ops.nanmedian(x, dim, keepdim).values if x.dtype.is_floating_point else ops.median(x, dim, keepdim).values
        )
    if x.dtype.is_floating_point:
        return ops.nanmedian(_fill_masked("median", x, mask, float("nan")), dim, keepdim).values
    keeps = _input_mask(x, mask=mask)
    if not bool(keeps.any(dim).all()):
        raise ValueError("masked median expects no fully masked out rows if dtype is not floating point")
    # Masked elements sort to the end, so the median is in the middle of the remaining ones.
    ordered = _fill_masked("median", x, mask, GREATEST).sort(dim).values
    place = (keeps.sum(dim, keepdim=True) - 1) // 2
    medians = ordered.gather(dim, place)
    return medians if keepdim else medians.squeeze(dim)


@of_layouts()
def logsumexp(
    input: Tensor,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """``log(sum(exp(x)))`` over the elements that the mask keeps, in the input's dtype."""
    x = _cast(input, dtype)
    filled = x if x.dtype.is_complex and mask is None else _fill_masked("logsumexp", x, mask, _log_of_zero(x))
    return ops.logsumexp(filled, _canonical_dim(dim, x.dim()), keepdim).to(x.dtype)


def _log_of_zero(x: Tensor) -> Any:
    return float("-inf") if x.dtype.is_complex else LEAST


def logaddexp(
    input: Tensor,
    other: Tensor,
    *,
    dtype: Dtype | None = None,
    input_mask: Tensor | None = None,
    other_mask: Tensor | None = None,
) -> Tensor:
    """``log(exp(input) + exp(other))``, each without what its mask leaves out, in the dtype of ``input``."""
    x, y = (
        _fill_masked("logaddexp", value.to(dtype or input.dtype), mask, LEAST)
        for value, mask in ((input, input_mask), (other, other_mask))
    )
    return ops.logaddexp(x, y)


@of_layouts()
def norm(
    input: Tensor,
    ord: object = 2.0,
    dim: IntOrInts | None = None,
    *,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The vector norm of the elements that the mask keeps, of all or along dimensions.

    Args:
        ord: as of ``linalg.vector_norm``.
    """
    neutral = float("inf") if ord == float("-inf") else 0  # for other negative orders too, whose result it makes 0
    return linalg_vector_norm(_fill_masked("norm", _cast(input, dtype), mask, neutral), ord, dim, bool(keepdim))


@of_layouts(name="std/var")
def var(
    input: Tensor,
    dim: IntOrInts | None = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The variance of the elements that the mask keeps.

    Args:
        unbiased: whether 1 is taken off their number.
        correction: what is taken off their number; 1 unless said.

    Raises:
        AssertionError: both ``unbiased`` and ``correction`` are given.
    """
    if unbiased is not None and correction is not None:
        raise AssertionError("Only one of unbiased and correction may be given")
    keepdim = bool(keepdim)
    if correction is None:
        correction = 1 if unbiased is None else int(unbiased)
    x = _cast(input, dtype)
    if x.dtype.category == dtypes.INTEGER:
        x = x.to(dtypes.get_default_dtype())
    away = input - sum(x, dim, keepdim=True, mask=mask) / _count(x, dim, True, mask)
    squares = away * away.conj()
    count = (_count(x, dim, keepdim, mask).real if x.dtype.is_complex else _count(x, dim, keepdim, mask)) - float(
        correction
    )
    return sum(squares.to(x.dtype), dim, keepdim=keepdim, mask=mask) / count.clamp_min(0)


@of_layouts(name="std/var")
def std(
    input: Tensor,
    dim: IntOrInts | None = None,
    unbiased: bool | None = None,
    *,
    correction: float | None = None,
    keepdim: bool = False,
    dtype: Dtype | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """The square root of ``var``, with the same arguments."""
    return var(input, dim, unbiased, correction=correction, keepdim=keepdim, dtype=dtype, mask=mask).sqrt()  # pyright: ignore[reportAttributeAccessIssue]


@of_layouts()
def softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """``softmax`` among the elements that the mask keeps; the others are 0, and NaN where none is kept.

    >>> torch.masked.softmax(torch.zeros(3), 0, mask=torch.tensor([True, True, False]))
    tensor([0.5000, 0.5000, 0.0000])
    """
    return ops.softmax(_fill_masked("amax", _cast(input, dtype), mask, LEAST), dim)


@of_layouts()
def log_softmax(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of ``softmax``."""
    return ops.log_softmax(_fill_masked("amax", _cast(input, dtype), mask, LEAST), dim)


@of_layouts()
def softmin(input: Tensor, dim: int, *, dtype: Dtype | None = None, mask: Tensor | None = None) -> Tensor:
    """``softmax`` of the negative elements."""
    return ops.softmax(-_fill_masked("amin", _cast(input, dtype), mask, GREATEST), dim)


@of_layouts()
def normalize(
    input: Any, ord: float, dim: int, *, eps: float = 1e-12, dtype: Dtype | None = None, mask: Tensor | None = None
) -> Tensor:
    """The elements that the mask keeps, divided by their norm along a dimension, or by ``eps`` if that is greater.

    The others are 0.
    """
    axis = wrap_dim(dim, input.dim())
    filled = _fill_masked("sum", _cast(input, dtype), mask, 0)
    return filled / norm(input, ord, axis, keepdim=True, dtype=dtype, mask=mask).clamp_min(eps)  # pyright: ignore[reportAttributeAccessIssue]
