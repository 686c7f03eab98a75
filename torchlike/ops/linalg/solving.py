"""Linear equations: inverses and pseudo-inverses, solvers of every kind, least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch import return_types
from ...dispatch.arguments import check_flags, check_value, misfit_error
from ...dispatch.out_dtypes import exactly
from ...dispatch.register import Autocast, Form, Indices, Sample, Saves, Validation, ValueCheck, composite, op
from ...dispatch.type_names import type_name
from ...engine.aval import Aval
from ..creation.from_data import tensor
from ..shape.reshape import common_shape
from ._matrices import (
    FIELDS,
    NUMERIC,
    LinAlgError,
    adjoint,
    failed,
    first_bad,
    floating,
    matrices,
    mm,
    said,
    square,
    wide,
    zero_on_diagonal,
)
from .factorisations import SVD_OF_NUMBERS, eigh_of, lu_of, order_of, svd_of

SQUARE = Sample(values=([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]],))
SYSTEM = Sample(values=([[4.0, 1.0], [1.0, 3.0]], [[1.0, 2.0], [3.0, 4.0]]))


def is_singular(A: Array, *others: Array, **keywords: object) -> tuple[Array, Array]:
    return first_bad(zero_on_diagonal(lu_of(lax.stop_gradient(A))[0]))


def triangular(
    a: Array, b: Array, lower: bool, left: bool = True, unit: bool = False, adjointed: bool = False
) -> Array:
    """The X of ``a X = b`` (or ``X a = b``) for a triangle, batches broadcast."""
    batch = common_shape([a.shape[:-2], b.shape[:-2]])
    a, b = (jnp.broadcast_to(x, (*batch, *x.shape[-2:])) for x in (a, b))
    if 0 in b.shape or 0 in a.shape:
        return jnp.zeros_like(b)
    return lax.linalg.triangular_solve(
        a, b, left_side=left, lower=lower, unit_diagonal=unit, transpose_a=adjointed, conjugate_a=adjointed
    )


def solve_by_lu(factors: Array, order: Array, b: Array, adjointed: bool = False) -> Array:
    """The X of ``A X = b``, or of ``A^H X = b``, from A's LU and the order of its rows."""
    batch = common_shape([factors.shape[:-2], b.shape[:-2]])
    b = jnp.broadcast_to(b, (*batch, *b.shape[-2:]))
    order = jnp.broadcast_to(order, (*batch, order.shape[-1]))
    if adjointed:
        x = triangular(factors, b, lower=False, adjointed=True)
        x = triangular(factors, x, lower=True, unit=True, adjointed=True)
        back = jnp.argsort(order, -1)
        return jnp.take_along_axis(x, back[..., None], -2)
    x = jnp.take_along_axis(b, order[..., None], -2)
    return triangular(factors, triangular(factors, x, lower=True, unit=True), lower=False)


# ---- inverses

_ZERO = "The diagonal element {} is zero, the inversion could not be completed because the input matrix is singular."


def inverse_of(x: Array) -> Array:
    if x.shape[-1] == 0 or x.size == 0:
        return x
    return _inverse(x)


@jax.custom_jvp
def _inverse(x: Array) -> Array:
    factors, _, order = lu_of(x)
    return solve_by_lu(factors, order, jnp.eye(x.shape[-1], dtype=x.dtype))


@_inverse.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (x,), (dx,) = primals, tangents
    result = _inverse(x)
    return result, -mm(result, mm(dx, result))


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=Saves.RESULT,
    backward="LinalgInvExBackward0",
    check=ValueCheck(is_singular, failed(f"linalg.inv: {_ZERO}", 0), at_once=True),
    samples=[SQUARE],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_inv(A: Array) -> Array:
    """The inverses of square matrices.

    >>> torch.linalg.inv(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor([[0.5000, 0.0000],
            [0.0000, 0.2500]])
    """
    return inverse_of(square("linalg.inv", floating("linalg.inv", A)))


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=Saves.RESULT,
    check=ValueCheck(
        is_singular, failed(f"linalg.inv: {_ZERO}", 0), needed=lambda dtype, A, check_errors: check_errors, at_once=True
    ),
    samples=[SQUARE],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_inv_ex(A: Array, *, check_errors: bool = False) -> tuple[Array, ...]:
    """``inv`` without an error: ``info`` is 0, or the number of the first zero on the diagonal of U."""
    square("linalg.inv", floating("linalg.inv", A))
    return return_types.linalg_inv_ex(inverse_of(A), zero_on_diagonal(lu_of(lax.stop_gradient(A))[0]))


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast={"cpu": Autocast.FLOAT32},
    validation=Validation(out=exactly),
)
def inverse(input: Tensor) -> Tensor:
    """The inverses of square matrices."""
    return linalg_inv(input)


def _cutoff(x: Array, largest: Array, atol: object, rtol: Array) -> Array:
    """Below which singular values count as zero: the larger of ``atol`` and ``rtol`` times the largest."""
    default = 0.0 if isinstance(atol, (int, float)) and atol > 0 else float(jnp.finfo(x.dtype).eps) * max(x.shape[-2:])
    rtol = default if rtol is None else rtol
    per_matrix = lambda t: t[..., None] if hasattr(t, "shape") and t.ndim == largest.ndim - 1 else t  # noqa: E731
    atol = 0.0 if atol is None else atol
    return jnp.maximum(
        jnp.asarray(per_matrix(atol), largest.dtype), jnp.asarray(per_matrix(rtol), largest.dtype) * largest
    )


def pinv_of(x: Array, atol: object, rtol: object, hermitian: bool) -> Array:
    if x.size == 0:
        return jnp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    return _pinv(x, atol, rtol, hermitian)


def _pinv_value(x: Array, atol: object, rtol: Array, hermitian: bool) -> Array:
    if hermitian:
        values, vectors = eigh_of(x, lower=True)
        size = jnp.abs(values)
        above = size > _cutoff(x, jnp.max(size, -1, keepdims=True), atol, rtol)
        inverted = jnp.where(above, 1 / jnp.where(above, values, jnp.ones((), values.dtype)), 0).astype(x.dtype)
        return mm(vectors * inverted[..., None, :], adjoint(vectors))
    u, s, vh = svd_of(x, False)
    above = s > _cutoff(x, s[..., :1], atol, rtol)
    inverted = jnp.where(above, 1 / jnp.where(above, s, jnp.ones((), s.dtype)), 0).astype(x.dtype)
    return mm(adjoint(vh) * inverted[..., None, :], adjoint(u))


_pinv = jax.custom_jvp(_pinv_value, nondiff_argnums=(3,))


# Golub and Pereyra (1973). It needs no derivative of singular vectors, which is infinite where two singular values are equal.
@_pinv.defjvp
def _(hermitian: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    x, atol, rtol = primals
    dx = tangents[0]
    p = _pinv(x, atol, rtol, hermitian)
    ph = adjoint(p)
    m, n = x.shape[-2:]
    outside_rows = jnp.eye(m, dtype=x.dtype) - mm(x, p)
    outside_columns = jnp.eye(n, dtype=x.dtype) - mm(p, x)
    change = (
        -mm(p, mm(dx, p))
        + mm(mm(p, ph), mm(adjoint(dx), outside_rows))
        + mm(outside_columns, mm(adjoint(dx), mm(ph, p)))
    )
    return p, change


_PINV_OF_NUMBERS = replace(SVD_OF_NUMBERS, needed=lambda dtype, input, atol, rtol, hermitian: not hermitian)


@op(
    name="_pinv",
    **FIELDS,
    forms=Form.NONE,
    saves=Saves.RESULT,
    backward="LinalgPinvBackward0",
    check=_PINV_OF_NUMBERS,
    samples=[Sample(shapes=((4, 3),), args=(None, None, False))],
)
def pinv_op(input: Array, atol: object, rtol: object, hermitian: bool) -> Array:
    """The pseudo-inverse; the bounds are numbers."""
    return pinv_of(input, atol, rtol, hermitian)


@op(
    name="_pinv_bounded",
    **FIELDS,
    forms=Form.NONE,
    saves=Saves.RESULT,
    backward="LinalgPinvBackward0",
    check=_PINV_OF_NUMBERS,
    samples=[],
)
def pinv_bounded(input: Array, atol: Indices, rtol: Indices, hermitian: bool) -> Array:
    """The pseudo-inverse; the bounds are tensors, one for each matrix."""
    return pinv_of(input, atol, rtol, hermitian)


def _bounds(input: Any, atol: object, rtol: object) -> tuple[Tensor, Tensor]:
    """The bounds as tensors, where one of them is."""
    real = dtypes.float64 if input.dtype in (dtypes.float64, dtypes.complex128) else dtypes.float32
    if rtol is None:
        usual = dtypes.finfo(real).eps * max(input.shape[-2:])
        rtol = (atol <= 0) * usual if isinstance(atol, Tensor) else usual
    make = lambda t: t if isinstance(t, Tensor) else tensor(0.0 if t is None else t, dtype=real)  # noqa: E731
    return make(atol), make(rtol)


def precision_of(dtype: dtypes.dtype) -> float:
    """Of numbers of 32 or 64 bits; PyTorch's error for other dtypes."""
    if dtype.category < dtypes.FLOAT or dtype.itemsize < 4:
        raise RuntimeError("This function doesn't handle types other than float and double")
    return float(np.finfo(dtype.numpy).eps)


def check_tolerances(name: str, **bounds: object) -> None:
    """Raises PyTorch's error unless the tolerances that are given are all numbers or all tensors, which may be one for each matrix."""
    several = any(isinstance(bound, Tensor) and (bound.dim() > 0 or bound.requires_grad) for bound in bounds.values())
    for parameter, bound in bounds.items():
        if not several:
            check_value(name, parameter, None, "float | None", bound)
        elif not (bound is None or isinstance(bound, Tensor)):
            raise misfit_error(name, parameter, None, f"must be Tensor, not {type_name(bound)}")


@composite(forms=Form.OUT)
def linalg_pinv(
    input: Any, rcond: object = None, hermitian: object = False, *, atol: object = None, rtol: object = None
) -> Tensor:
    """The pseudo-inverses of matrices of any shape.

    Args:
        atol, rtol: singular values below the larger of ``atol`` and ``rtol`` times the largest count as zero.
        hermitian: whether the matrices are known to be Hermitian.

    >>> torch.linalg.pinv(torch.tensor([[2.0], [0.0]]))
    tensor([[0.5000, 0.0000]])
    """
    kinds = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
    if input.dim() < 2 or input.dtype not in kinds:
        raise RuntimeError(
            f"linalg.pinv({input.dtype.scalar_name}{{{list(input.shape)}}}): expected a tensor with 2 or more dimensions of float, double, "
            "cfloat or cdouble types"
        )
    if isinstance(rcond, bool) and hermitian is False:
        rcond, hermitian = None, rcond
    check_flags("linalg_pinv", hermitian=(None, hermitian))
    check_tolerances("linalg_pinv", rcond=rcond, atol=atol, rtol=rtol)
    rtol = rcond if rtol is None else rtol
    if hermitian:
        square("linalg.pinv", input)
    if isinstance(atol, Tensor) or isinstance(rtol, Tensor):
        bounds = _bounds(input, atol, rtol)
        # More bounds than matrices give a pseudo-inverse for each bound.
        batch = np.broadcast_shapes(input.shape[:-2], *(bound.shape for bound in bounds))
        return pinv_bounded(input.expand(*batch, *input.shape[-2:]), *bounds, bool(hermitian))
    return pinv_op(input, atol, rtol, bool(hermitian))


@composite(forms=Form.FUNCTION | Form.METHOD, autocast={"cpu": Autocast.FLOAT32})
def pinverse(input: Tensor, rcond: float = 1e-15) -> Tensor:
    """The pseudo-inverses of matrices; singular values below ``rcond`` times the largest count as zero."""
    return linalg_pinv(input, rcond)


# ---- solvers


def _as_columns(a: Array, b: Array) -> tuple[Array, bool]:
    """The right side as matrices, and whether it was vectors."""
    vectors = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    return (b[..., None], True) if vectors else (b, False)


def _check_solve(name: str, A: Array, B: Array, left: bool) -> None:
    square(name, floating(name, A, kernel="lu_cpu"))
    if A.dtype != B.dtype:
        raise RuntimeError(
            f"{name}: Expected A and B to have the same dtype, but found A of type {said(A.dtype)} and B of type {said(B.dtype)} instead"
        )
    columns, vectors = _as_columns(A, B)
    if vectors and not left:
        raise RuntimeError(
            "linalg.solve: Vector broadcasting of the left hand side is not supported for left=False. In this case linalg.solve is "
            "equivalent to B / A.squeeze(-1)"
        )
    if columns.shape[-2 if left else -1] != A.shape[-1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} ({A.shape[-2]}x{A.shape[-1]} and "
            f"{columns.shape[-2]}x{columns.shape[-1]})"
        )


@jax.custom_jvp
def _solve(a: Array, b: Array) -> Array:
    factors, _, order = lu_of(a)
    return solve_by_lu(factors, order, b)


# One factorisation serves the solution and its derivative; ``jax.jvp`` of ``lu`` would differentiate the factors.
@_solve.defjvp
def _(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents
    result = _solve(a, b)
    factors, _, order = lu_of(a)
    return result, solve_by_lu(factors, order, db - mm(da, result))


def _solved(name: str, A: Array, B: Array, left: bool) -> Array:
    _check_solve(name, A, B, left)
    columns, vectors = _as_columns(A, B)
    if 0 in A.shape or 0 in columns.shape:
        batch = common_shape([A.shape[:-2], columns.shape[:-2]])
        solution = jnp.zeros((*batch, *columns.shape[-2:]), A.dtype)
    elif left:
        solution = _solve(A, columns)
    else:
        solution = jnp.swapaxes(_solve(jnp.swapaxes(A, -1, -2), jnp.swapaxes(columns, -1, -2)), -1, -2)
    return solution[..., 0] if vectors else solution


def _unsolvable(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    at, _ = divmod(int(value), 1 << 32)
    batch = f"(Batch element {at}): " if len(avals[0].shape) > 2 else ""
    return LinAlgError(f"torch.linalg.solve: {batch}The solver failed because the input matrix is singular.")


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=("A", 0),
    backward="LinalgSolveExBackward0",
    check=ValueCheck(is_singular, _unsolvable, at_once=True),
    samples=[SYSTEM],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_solve(A: Array, B: Array, *, left: bool = True) -> Array:
    """The X of ``A X = B``, or of ``X A = B``, for square matrices.

    Args:
        B: matrices, or vectors (of shape ``A.shape[:-1]``, or one vector).

    >>> torch.linalg.solve(torch.tensor([[2.0, 0.0], [0.0, 4.0]]), torch.tensor([2.0, 2.0]))
    tensor([1.0000, 0.5000])
    """
    return _solved("linalg.solve", A, B, left)


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=("A", 0),
    check=ValueCheck(
        is_singular, _unsolvable, needed=lambda dtype, A, B, left, check_errors: check_errors, at_once=True
    ),
    samples=[SYSTEM],
)
def linalg_solve_ex(A: Array, B: Array, *, left: bool = True, check_errors: bool = False) -> tuple[Array, ...]:
    """``solve`` without an error: ``info`` is 0, or the number of the first zero on the diagonal of U."""
    solution = _solved("linalg.solve", A, B, left)
    return return_types.linalg_solve_ex(solution, zero_on_diagonal(lu_of(lax.stop_gradient(A))[0]))


@op(
    **NUMERIC,
    refuse="triangular_solve_cpu",
    forms=Form.OUT,
    saves=Saves.INPUTS,
    samples=[Sample(values=([[2.0, 0.0], [1.0, 3.0]], [[1.0], [2.0]]), kwargs={"upper": False})],
)
def linalg_solve_triangular(
    input: Array, B: Array, *, upper: bool, left: bool = True, unitriangular: bool = False
) -> Array:
    """The X of ``A X = B``, or of ``X A = B``, for triangular matrices, of which the other triangle is not read.

    Args:
        unitriangular: whether the diagonal is taken to be ones.
    """
    name = "linalg.solve_triangular"
    square(name, floating(name, input, kernel="triangular_solve_cpu"))
    matrices(name, B, "B")
    if input.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"{name}: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({input.shape[-2]}x{input.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    return triangular(input, B, lower=not upper, left=left, unit=unitriangular)


@op(
    **FIELDS,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=("input", "A", 0),
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def triangular_solve(
    input: Array, A: Array, upper: bool = True, transpose: bool = False, unitriangular: bool = False
) -> tuple[Array, Array]:
    """The X of ``A X = input`` for triangular matrices (or of ``A^T X = input``), and a copy of A."""
    square("triangular_solve", wide("triangular_solve_cpu", A))
    if A.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"Incompatible matrix sizes for triangular_solve: each A matrix is {A.shape[-1]} by {A.shape[-1]} but each b matrix is "
            f"{input.shape[-2]} by {input.shape[-1]}"
        )
    batch = common_shape([A.shape[:-2], input.shape[:-2]])
    matrix = jnp.broadcast_to(A, (*batch, *A.shape[-2:]))
    triangle = jnp.swapaxes(matrix, -1, -2) if transpose else matrix
    solution = triangular(triangle, input, lower=upper is transpose, unit=unitriangular)
    return return_types.triangular_solve(solution, matrix)


@op(
    **FIELDS,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def cholesky_solve(input: Array, input2: Array, upper: bool = False) -> Array:
    """The X of ``A X = input``, where ``A = L L^H``, or ``L^H L`` with ``upper``."""
    if input.ndim < 2 or input2.ndim < 2:
        name, x = ("b", input) if input.ndim < 2 else ("u", input2)
        raise RuntimeError(f"{name} should have at least 2 dimensions, but has {x.ndim} dimensions instead")
    wide("cholesky_solve_cpu", input2)
    input2 = adjoint(input2) if upper else input2
    return triangular(input2, triangular(input2, input, lower=True), lower=True, adjointed=True)


@op(
    **FIELDS,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    check=ValueCheck(
        lambda L, upper: first_bad(zero_on_diagonal(L)), failed(f"cholesky_inverse: {_ZERO}", 0), at_once=True
    ),
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def cholesky_inverse(input: Array, upper: bool = False) -> Array:
    """The inverse of ``L L^H``, or of ``L^H L`` with ``upper``."""
    square("cholesky_inverse", wide("cholesky_inverse_out_cpu", input))
    input = adjoint(input) if upper else input
    half = triangular(input, jnp.eye(input.shape[-1], dtype=input.dtype), lower=True)
    return mm(adjoint(half), half)


@op(**FIELDS, forms=Form.OUT, saves=Saves.INPUTS, samples=[])
def linalg_lu_solve(LU: Array, pivots: Indices, B: Array, *, left: bool = True, adjoint: bool = False) -> Array:
    """The X of ``A X = B`` (``left``) or ``X A = B``, or of the same for A's adjoint, from what ``lu_factor`` gives for A."""
    name = "torch.linalg.lu_solve"
    floating(name, LU, kernel="linalg.lu_solve_cpu")
    if LU.dtype != B.dtype:
        raise RuntimeError(
            f"linalg.lu_solve: Expected LU and B to have the same dtype, but found LU of type {said(LU.dtype)} and B of type "
            f"{said(B.dtype)} instead"
        )
    square(name, LU, "LU")
    matrices(name, B, "B")
    if pivots.dtype != np.int32:
        raise RuntimeError("linalg.lu_solve: pivots should be a Tensor of scalar type torch.int32")
    if LU.shape[:-1] != pivots.shape:
        raise RuntimeError("linalg.lu_solve: Number of pivots per batch should be same as the dimension of the matrix")
    if LU.shape[-1] != B.shape[-2 if left else -1]:
        raise RuntimeError(
            f"linalg.lu_solve: Incompatible shapes of A and B for the equation {'AX = B' if left else 'XA = B'} "
            f"({LU.shape[-2]}x{LU.shape[-1]} and {B.shape[-2]}x{B.shape[-1]})"
        )
    order = order_of(pivots, LU.shape[-1])
    if left:
        return solve_by_lu(LU, order, B, adjointed=adjoint)
    turn = lambda x: jnp.conj(jnp.swapaxes(x, -1, -2))  # noqa: E731
    return turn(solve_by_lu(LU, order, turn(B), adjointed=not adjoint))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def lu_solve(input: Tensor, LU_data: Tensor, LU_pivots: Tensor) -> Tensor:
    """The X of ``A X = b`` from what ``lu_factor`` gives for A."""
    return linalg_lu_solve(LU_data, LU_pivots, input)


# ---- least squares


@op(name="_lstsq", **FIELDS, forms=Form.NONE, saves=("A", "B", 0), backward="LinalgLstsqBackward0", samples=[])
def least_squares(A: Array, B: Array, rcond: float) -> tuple[Array, Array, Array, Array]:
    """Solution, residuals, rank and singular values."""
    columns, vectors = _as_columns(A, B)
    batch = common_shape([A.shape[:-2], columns.shape[:-2]])
    columns = jnp.broadcast_to(columns, (*batch, *columns.shape[-2:]))
    solution = mm(pinv_of(A, 0.0, rcond, False), columns)
    residual = columns - mm(A, solution)
    residuals = jnp.sum(jnp.abs(residual) ** 2, -2)
    s = svd_of(lax.stop_gradient(A), False)[1]
    rank = jnp.sum(s > rcond * s[..., :1], -1).astype(np.int64)
    if vectors:
        solution = solution[..., 0]
    return solution, residuals, rank, s


@composite(forms=Form.NONE, autocast={"cpu": Autocast.FLOAT32})
def linalg_lstsq(input: Tensor, b: Tensor, rcond: float | None = None, *, driver: object = None) -> tuple[Array, ...]:
    """The X that makes ``|A X - B|`` least, the squares of what is left of each column, A's rank and its singular values.

    Args:
        rcond: singular values below it times the largest count as zero; None: the dtype's precision times the larger side.
        driver: "gels", "gelsy", "gelsd" or "gelss": says what is given back, as with PyTorch. The residuals are empty where the rank is
            not full, or there are no more rows than columns.
    """
    drivers = ("gels", "gelsy", "gelsd", "gelss")
    if driver is not None and driver not in drivers:
        raise RuntimeError("torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss)")
    driver = driver or "gelsy"
    if input.dim() < 2:
        raise RuntimeError("torch.linalg.lstsq: input must have at least 2 dimensions.")
    if b.dim() < 1:
        raise RuntimeError("torch.linalg.lstsq: other must have at least 1 dimension.")
    if input.dtype is not b.dtype:
        raise RuntimeError(
            f"torch.linalg.lstsq: Expected input and other to have the same dtype, but got input's dtype {input.dtype.scalar_name} and "
            f"other's dtype {b.dtype.scalar_name}"
        )
    vectors = b.dim() == 1 or (input.dim() - 1 == b.dim() and b.shape == input.shape[:-1])
    if b.shape[-1 if vectors else -2] != input.shape[-2]:
        place = "-1" if vectors else "-2"
        raise RuntimeError(f"torch.linalg.lstsq: input.size(-2) should match other.size({place})")
    m, n = input.shape[-2:]
    bound = precision_of(input.dtype) * max(m, n) if rcond is None else float(rcond)
    solution, residuals, rank, singular = least_squares(input, b, bound)
    nothing = input.new_empty((0,), dtype=singular.dtype)
    full = driver == "gels" or (m > n and bool((rank == n).all()))
    if not (m > n and full) or driver == "gelsy":
        residuals = residuals.flatten()[:0]
    if driver == "gels":
        rank = input.new_empty((0,), dtype=dtypes.int64)
    return return_types.linalg_lstsq(solution, residuals, rank, singular if driver in ("gelsd", "gelss") else nothing)
