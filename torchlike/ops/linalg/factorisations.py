"""Factorisations of matrices: Cholesky, LU, QR, eigenvalues, singular values, Householder reflections."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ...dispatch import return_types
from ...dispatch.register import Autocast, Form, Indices, Sample, Saves, ValueCheck, op
from ...engine.aval import Aval
from ._matrices import (
    FIELDS,
    NUMERIC,
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

SQUARE = Sample(values=([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]],))
# The functions read one triangle, and their gradient is that of a symmetric matrix. Finite differences change one element at a time,
# so the samples skip the check.
SYMMETRIC = Sample(values=SQUARE.values, gradient=False, dtypes=("float32",))
WIDE, TALL = Sample(shapes=((3, 4),)), Sample(shapes=((4, 3),))


# ---- Cholesky


def cholesky_of(x: Array, upper: bool) -> Array:
    """The factor; NaN where there is none. One triangle is read, and the gradient is that of a symmetric matrix."""
    x = adjoint(x) if upper else x
    below = jnp.tril(x, -1)
    diagonal = jnp.diagonal(x, axis1=-2, axis2=-1)
    mirrored = below + adjoint(below) + jnp.eye(x.shape[-1], dtype=x.dtype) * (diagonal.real.astype(x.dtype)[..., None])
    # The value is that of the triangle that is read and its mirror image; the gradient flows as if all of ``x`` had been read.
    symmetric = x + lax.stop_gradient(mirrored - x)
    factor = lax.linalg.cholesky(jnp.where(jnp.isnan(x), x, symmetric), symmetrize_input=True)
    return adjoint(factor) if upper else factor


def minor_that_fails(x: Array, upper: bool) -> Array:
    """The order of the first leading minor that is not positive-definite; 0 where all are."""
    x = lax.stop_gradient(adjoint(x) if upper else x)
    n = x.shape[-1]
    if n == 0 or x.size == 0:
        return jnp.zeros(x.shape[:-2], np.int32)
    # XLA fills the factor with NaN and does not say which minor failed. An elimination finds it, which runs only after a failure.
    factor = lax.linalg.cholesky(x, symmetrize_input=False)
    wrong = jnp.any(jnp.isnan(factor), (-1, -2))

    def search(x: Array) -> Array:
        def body(k: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
            matrix, order = state
            pivot = jnp.take(jnp.take(matrix, k, -1), k, -1).real
            order = jnp.where((order == 0) & ~(pivot > 0), k + 1, order)
            column = jnp.take(matrix, k, -1)
            safe = jnp.where(pivot > 0, pivot, jnp.ones((), pivot.dtype)).astype(x.dtype)[..., None, None]
            return matrix - column[..., :, None] * jnp.conj(column)[..., None, :] / safe, order

        mirrored = jnp.tril(x) + adjoint(jnp.tril(x, -1))
        zeros = jnp.zeros(x.shape[:-2], np.int32)
        return lax.fori_loop(jnp.zeros((), np.int32), jnp.asarray(n, np.int32), body, (mirrored, zeros))[1]

    none = lambda x: jnp.zeros(x.shape[:-2], np.int32)  # noqa: E731
    return jnp.where(wrong, lax.cond(jnp.any(wrong), search, none, x), 0)


_NOT_POSITIVE = (
    "linalg.cholesky: The factorization could not be completed because the input is not positive-definite (the leading minor of "
    "order {} is not positive-definite)."
)


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=Saves.RESULT,
    backward="LinalgCholeskyExBackward0",
    check=ValueCheck(
        lambda input, **keywords: first_bad(minor_that_fails(input, keywords["upper"])),
        failed(_NOT_POSITIVE, 0),
        at_once=True,
    ),
    samples=[SYMMETRIC],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_cholesky(input: Array, *, upper: bool = False) -> Array:
    """The lower triangular ``L`` with ``L L^H = input``, for positive-definite matrices; with ``upper`` its adjoint.

    >>> torch.linalg.cholesky(torch.tensor([[4.0, 2.0], [2.0, 5.0]]))
    tensor([[2., 0.],
            [1., 2.]])
    """
    return cholesky_of(square("linalg.cholesky", floating("linalg.cholesky", input, kernel="cholesky_cpu")), upper)


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=Saves.RESULT,
    check=ValueCheck(
        lambda input, **keywords: first_bad(minor_that_fails(input, keywords["upper"])),
        failed(_NOT_POSITIVE, 0),
        needed=lambda dtype, input, upper, check_errors: check_errors,
        at_once=True,
    ),
    samples=[SYMMETRIC],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_cholesky_ex(input: Array, *, upper: bool = False, check_errors: bool = False) -> tuple[Array, ...]:
    """``cholesky`` without an error: ``info`` is 0, or the order of the first minor that is not positive-definite."""
    square("linalg.cholesky", floating("linalg.cholesky", input, kernel="cholesky_cpu"))
    return return_types.linalg_cholesky_ex(cholesky_of(input, upper), minor_that_fails(input, upper))


@op(
    name="_cholesky",
    **FIELDS,
    forms=Form.NONE,
    backward="CholeskyBackward0",
    check=ValueCheck(
        lambda input, upper: first_bad(minor_that_fails(input, upper)),
        failed(_NOT_POSITIVE.removeprefix("linalg."), 0),
        at_once=True,
    ),
    samples=[],
)
def plain_cholesky(input: Array, upper: bool) -> Array:
    """``torch.cholesky``, whose messages name it."""
    return cholesky_of(square("cholesky", wide("cholesky_cpu", input)), upper)


# ---- LU


def _no_pivoting(pivot: bool) -> None:
    if not pivot:
        raise RuntimeError("linalg.lu_factor: LU without pivoting is not implemented on the CPU")


def lu_of(x: Array) -> tuple[Array, Array, Array]:
    """LU in one matrix, pivots counted from 1, and the rows' order."""
    factors, pivots, order = lax.linalg.lu(x)
    return factors, (pivots + 1).astype(np.int32), order


def _lu_info(name: str) -> Any:
    def check(A: Array, **keywords: object) -> tuple[Array, Array]:
        return first_bad(zero_on_diagonal(lu_of(lax.stop_gradient(A))[0]))

    return check


_SINGULAR_LU = (
    "torch.linalg.lu_factor: U[{0},{0}] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)"
)


def _singular_lu(value: int, *args: object, avals: Sequence[Aval]) -> Exception:
    # ``first_bad`` has packed the matrix's number in the batch and its code into one integer.
    at, number = divmod(int(value), 1 << 32)
    name, text = _SINGULAR_LU.split(": ", 1)
    batch = f"(Batch element {at}): " if len(avals[0].shape) > 2 else ""
    return RuntimeError(f"{name}: {batch}{text.format(number)}")


@op(
    **NUMERIC,
    refuse="lu_cpu",
    forms=Form.OUT,
    saves=(0, 1),
    backward="LinalgLuFactorExBackward0",
    check=ValueCheck(_lu_info("linalg.lu_factor"), _singular_lu, at_once=True),
    samples=[SQUARE, TALL, WIDE],
)
def linalg_lu_factor(A: Array, *, pivot: bool = True) -> tuple[Array, ...]:
    """``P L U = A`` in compact form: L below the diagonal, U on it and above, and the rows exchanged, counted from 1."""
    floating("torch.linalg.lu_factor", matrices("torch.linalg.lu_factor", A), kernel="lu_cpu")
    _no_pivoting(pivot)
    return return_types.linalg_lu_factor(*lu_of(A)[:2])


@op(
    **NUMERIC,
    refuse="lu_cpu",
    forms=Form.OUT,
    saves=(0, 1),
    check=ValueCheck(
        _lu_info("linalg.lu_factor"),
        _singular_lu,
        needed=lambda dtype, A, pivot, check_errors: check_errors,
        at_once=True,
    ),
    samples=[SQUARE, TALL, WIDE],
)
def linalg_lu_factor_ex(A: Array, *, pivot: bool = True, check_errors: bool = False) -> tuple[Array, ...]:
    """``lu_factor`` without an error: ``info`` is 0, or the number of the first zero on U's diagonal."""
    floating("torch.linalg.lu_factor_ex", matrices("torch.linalg.lu_factor_ex", A), kernel="lu_cpu")
    _no_pivoting(pivot)
    factors, pivots, _ = lu_of(A)
    return return_types.linalg_lu_factor_ex(factors, pivots, zero_on_diagonal(factors))


def triangles(factors: Array) -> tuple[Array, Array]:
    """L, with ones on its diagonal, and U from their compact form."""
    m, n = factors.shape[-2:]
    k = min(m, n)
    lower = jnp.tril(factors[..., :, :k], -1) + jnp.eye(m, k, dtype=factors.dtype)
    return lower, jnp.triu(factors[..., :k, :])


def order_of(pivots: Array, rows: int) -> Array:
    """The order in which exchanges, counted from 1, leave the rows."""
    return lax.linalg.lu_pivots_to_permutation(pivots.astype(np.int32) - 1, rows)


def permutation(order: Array, dtype: np.dtype) -> Array:
    """The matrix that takes rows in this order back to their own."""
    return jnp.swapaxes(jax.nn.one_hot(order, order.shape[-1], dtype=dtype), -1, -2)


@op(
    **NUMERIC,
    refuse="lu_cpu",
    forms=Form.OUT,
    saves=(0, 1, 2),
    constant_results=(0,),
    samples=[SQUARE, TALL, WIDE],
)
def linalg_lu(A: Array, *, pivot: bool = True) -> tuple[Array, ...]:
    """``P L U = A``: a permutation, a lower triangle with ones on its diagonal, and an upper one.

    >>> torch.linalg.lu(torch.tensor([[0.0, 2.0], [1.0, 0.0]])).P
    tensor([[0., 1.],
            [1., 0.]])
    """
    floating("linalg.lu", matrices("linalg.lu", A), kernel="lu_cpu")
    _no_pivoting(pivot)
    factors, _, order = lu_of(A)
    return return_types.linalg_lu(permutation(order, A.dtype), *triangles(factors))


@op(**FIELDS, forms=Form.FUNCTION | Form.OUT, saves=Saves.INPUTS, constant_results=(0,), samples=[])
def lu_unpack(
    LU_data: Array, LU_pivots: Indices, unpack_data: bool = True, unpack_pivots: bool = True
) -> tuple[Array, ...]:
    """P, L and U from what ``lu_factor`` gives; empty where they are not asked for."""
    if unpack_pivots and LU_pivots.dtype != np.int32:
        raise RuntimeError(
            "torch.lu_unpack: LU_pivots is expected to be a contiguous tensor of torch.int32 dtype.\nNote: this function is intended to "
            "be used with the output produced by torch.linalg.lu_factor"
        )
    rows = LU_data.shape[-2]
    none = jnp.zeros((0,), LU_data.dtype)
    lower, upper = triangles(LU_data) if unpack_data else (none, none)
    matrix = permutation(order_of(LU_pivots, rows), LU_data.dtype) if unpack_pivots else none
    return return_types.lu_unpack(matrix, lower, upper)


# ---- QR


def qr_of(x: Array, mode: str) -> tuple[Array, Array]:
    """Q and R. Where there are more columns than rows the first ones make Q, and R's others follow from it."""
    if mode not in ("reduced", "complete", "r"):
        raise RuntimeError(
            f"qr received unrecognized mode '{mode}' but expected one of 'reduced' (default), 'r', or 'complete'"
        )
    m, n = x.shape[-2:]
    if m < n:
        q, r = lax.linalg.qr(x[..., :, :m], full_matrices=False)
        return q, jnp.concatenate([r, mm(adjoint(q), x[..., :, m:])], -1)
    return tuple(lax.linalg.qr(x, full_matrices=mode == "complete"))  # pyright: ignore[reportReturnType]


def _no_derivative(A: object, mode: str, *, avals: Sequence[Aval]) -> str:
    rows, columns = avals[0].shape[-2:]
    if mode == "r":
        return (
            "The derivative of linalg.qr depends on Q, which is not computed when mode='r'. Please use linalg.qr(A, mode='reduced') if "
            "you are going to differentiate through linalg.qr."
        )
    if mode == "complete" and rows > columns:
        return "The QR decomposition is not differentiable when mode='complete' and nrows > ncols."
    return ""


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=(0, 1),
    differentiable=_no_derivative,
    samples=[TALL, WIDE],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_qr(A: Array, mode: str = "reduced") -> tuple[Array, ...]:
    """``Q R = A``: orthonormal columns and an upper triangle.

    Args:
        mode: "reduced": as many columns as the smaller side; "complete": a square Q; "r": R alone, Q empty.
    """
    floating("linalg.qr", matrices("linalg.qr", A), kernel="geqrf_cpu")
    q, r = qr_of(A, mode)
    if mode == "r":
        q = jnp.zeros((0,), A.dtype)
    return return_types.linalg_qr(q, r)


@op(
    **FIELDS,
    forms=Form.OUT,
    backward="LinalgHouseholderProductBackward0",
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_householder_product(input: Array, tau: Array) -> Array:
    """The first columns of the product of Householder reflections: vectors below the diagonal of ``input``, factors ``tau``."""
    name = "torch.linalg.householder_product"
    if input.ndim < 2:
        raise RuntimeError(f"{name}: input must have at least 2 dimensions.")
    if input.shape[-2] < input.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-2] must be greater than or equal to input.shape[-1]")
    if input.shape[-1] < tau.shape[-1]:
        raise RuntimeError(f"{name}: input.shape[-1] must be greater than or equal to tau.shape[-1]")
    if input.ndim - tau.ndim != 1:
        raise RuntimeError(
            f"{name}: Expected tau to have one dimension less than input, but got tau.ndim equal to {tau.ndim} and input.ndim is "
            f"equal to {input.ndim}"
        )
    wide("orgqr_cpu", input)
    if input.shape[:-2] != tau.shape[:-1]:
        raise RuntimeError(
            f"{name}: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(tau.shape[:-1])}"
        )
    if tau.dtype != input.dtype:
        raise RuntimeError(f"{name}: tau dtype {tau.dtype} does not match input dtype {input.dtype}")
    return reflections(input, tau, input.shape[-1])


def reflections(vectors: Array, tau: Array, columns: int) -> Array:
    """``H_1 H_2 ... `` applied to the first columns of the identity, ``H_i = 1 - tau_i v_i v_i^H``."""
    m = vectors.shape[-2]
    product = jnp.broadcast_to(jnp.eye(m, columns, dtype=vectors.dtype), (*vectors.shape[:-2], m, columns))
    return _reflect(vectors, tau, product, reverse=True)


def _reflect(vectors: Array, tau: Array, x: Array, reverse: bool) -> Array:
    k = tau.shape[-1]
    m = vectors.shape[-2]
    v = jnp.tril(vectors[..., :, :k], -1) + jnp.eye(m, k, dtype=vectors.dtype)
    for i in reversed(range(k)) if reverse else range(k):
        column = v[..., :, i : i + 1]
        x = x - tau[..., i : i + 1, None] * column * mm(adjoint(column), x)
    return x


# ---- eigenvalues


def _check_uplo(UPLO: str) -> bool:
    if not isinstance(UPLO, str) or UPLO.upper() not in ("L", "U"):
        raise RuntimeError(f"Expected UPLO argument to be 'L' or 'U', but got {UPLO}")
    return UPLO.upper() == "L"


def eigh_of(x: Array, lower: bool) -> tuple[Array, Array]:
    """Eigenvalues, smallest first, and eigenvectors of Hermitian matrices, of which one triangle is read."""
    if x.shape[-1] == 0:
        return jnp.zeros(x.shape[:-1], x.real.dtype), x
    vectors, values = lax.linalg.eigh(x, lower=lower, symmetrize_input=False)
    return values, vectors


@op(
    **NUMERIC,
    refuse="linalg_eigh_cpu",
    forms=Form.OUT,
    saves=(0, 1),
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_eigh(input: Array, UPLO: str = "L") -> tuple[Array, ...]:
    """Eigenvalues, smallest first, and eigenvectors (columns) of Hermitian matrices.

    Args:
        UPLO: which triangle is read, "L" or "U".

    >>> torch.linalg.eigh(torch.tensor([[2.0, 0.0], [0.0, 1.0]])).eigenvalues
    tensor([1., 2.])
    """
    square("linalg.eigh", floating("linalg.eigh", input, kernel="linalg_eigh_cpu"))
    return return_types.linalg_eigh(*eigh_of(input, _check_uplo(UPLO)))


@op(
    **NUMERIC,
    refuse="linalg_eigh_cpu",
    forms=Form.OUT,
    saves=Saves.RESULT,
    backward="LinalgEighBackward0",
    samples=[SYMMETRIC],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_eigvalsh(input: Array, UPLO: str = "L") -> Array:
    """The eigenvalues of Hermitian matrices, smallest first."""
    square("linalg.eigvalsh", floating("linalg.eigvalsh", input, kernel="linalg_eigh_cpu"))
    return eigh_of(input, _check_uplo(UPLO))[0]


def _raw_eig(x: Array) -> tuple[Array, Array]:
    if x.shape[-1] == 0:
        kind = np.result_type(x.dtype, np.complex64)
        return jnp.zeros(x.shape[:-1], kind), jnp.zeros(x.shape, kind)
    values, vectors = lax.linalg.eig(x, compute_left_eigenvectors=False)
    return values, vectors


_eig = jax.custom_vjp(_raw_eig)


def _eig_forward(x: Array) -> tuple[object, object]:
    values, vectors = _raw_eig(x)
    return (values, vectors), (x, values, vectors)


def _eig_backward(saved: Any, grads: Any) -> tuple[Array]:
    # JAX's cotangents are the conjugates of PyTorch's gradients. The formula is that for PyTorch's gradients.
    x, values, vectors = saved
    by_values, by_vectors = (jnp.conj(g) for g in grads)
    n = x.shape[-1]
    eye = jnp.eye(n, dtype=np.bool_)
    inner = mm(adjoint(vectors), by_vectors)
    diagonal = jnp.real(jnp.diagonal(inner, axis1=-2, axis2=-1)).astype(inner.dtype)
    inner = inner - mm(adjoint(vectors), vectors) * diagonal[..., None, :]  # each vector keeps its length
    gaps = jnp.conj(values[..., None, :] - values[..., :, None])
    inner = jnp.where(eye, by_values[..., :, None], inner / jnp.where(eye, jnp.ones((), gaps.dtype), gaps))
    gradient = jnp.linalg.solve(adjoint(vectors), mm(inner, adjoint(vectors)))
    return (jnp.conj(gradient) if x.dtype.kind == "c" else gradient.real.astype(x.dtype),)


_eig.defvjp(_eig_forward, _eig_backward)


@op(
    **NUMERIC,
    refuse=lambda name, dtype: f"Unknown Complex ScalarType for {dtype.scalar_name}",
    forms=Form.OUT,
    saves=(0, 1),
    check=ValueCheck(
        lambda input: ((~jnp.isfinite(input)).any(), 0),
        lambda value, *args, avals: RuntimeError("torch.linalg.eig: input tensor should not contain infs or NaNs."),
        at_once=True,
    ),
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_eig(input: Array) -> tuple[Array, ...]:
    """Eigenvalues and eigenvectors (columns of length 1) of square matrices, complex."""
    return return_types.linalg_eig(
        *_eig(square("linalg.eig", floating("linalg.eig", input, kernel="linalg_eig_out_cpu")))
    )


@op(
    **NUMERIC,
    refuse=lambda name, dtype: f"Unknown Complex ScalarType for {dtype.scalar_name}",
    forms=Form.OUT,
    saves=Saves.RESULT,
    backward="LinalgEigBackward0",
    check=ValueCheck(
        lambda input: ((~jnp.isfinite(input)).any(), 0),
        lambda value, *args, avals: RuntimeError("torch.linalg.eigvals: input tensor should not contain infs or NaNs."),
        at_once=True,
    ),
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_eigvals(input: Array) -> Array:
    """The eigenvalues of square matrices, complex."""
    return _eig(square("linalg.eigvals", floating("linalg.eigvals", input, kernel="linalg_eig_out_cpu")))[0]


# ---- singular values


def _thin(x: Array) -> tuple[Array, Array, Array]:
    return tuple(lax.linalg.svd(x, full_matrices=False))  # pyright: ignore[reportReturnType]


@functools.partial(jax.custom_jvp, nondiff_argnums=(1,))
def svd_of(x: Array, full: bool) -> tuple[Array, Array, Array]:
    """``U S Vh``, the singular values largest first. The vectors beyond the smaller side have no derivative."""
    if 0 in x.shape[-2:]:
        m, n = x.shape[-2:]
        batch = x.shape[:-2]
        sides = (m, n) if full else (0, 0)
        eyes = [
            jnp.broadcast_to(jnp.eye(a, b, dtype=x.dtype), (*batch, a, b)) for a, b in ((m, sides[0]), (sides[1], n))
        ]
        return eyes[0], jnp.zeros((*batch, 0), x.real.dtype), eyes[1]
    return tuple(lax.linalg.svd(x, full_matrices=full))  # pyright: ignore[reportReturnType]


@svd_of.defjvp
def _(full: bool, primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> Any:
    (x,), _ = primals, tangents
    factors = svd_of(x, full)
    if 0 in x.shape:
        return factors, tuple(jnp.zeros_like(f) for f in factors)
    _, (du, ds, dv) = jax.jvp(_thin, primals, tangents)
    pad = lambda d, like: jnp.pad(d, [(0, a - b) for a, b in zip(like.shape, d.shape, strict=True)])  # noqa: E731
    return factors, (pad(du, factors[0]), ds, pad(dv, factors[2]))


SVD_OF_NUMBERS = ValueCheck(
    lambda A, *others, **keywords: first_bad(jnp.isnan(A).any((-2, -1)).astype(np.int32)),
    failed("linalg.svd: The algorithm failed to converge because the input matrix contained non-finite values.", 0),
    at_once=True,
)


@op(**FIELDS, forms=Form.OUT, saves=(0, 1, 2), check=SVD_OF_NUMBERS, samples=[], autocast={"cpu": Autocast.FLOAT32})
def linalg_svd(A: Array, full_matrices: bool = True, *, driver: str | None = None) -> tuple[Array, ...]:
    """``U diag(S) Vh = A``: orthonormal columns, singular values (largest first), orthonormal rows.

    Args:
        full_matrices: whether U and Vh are square.
    """
    floating("linalg.svd", matrices("linalg.svd", A), kernel="linalg_svd_cpu")
    _no_driver("svd", driver)
    return return_types.linalg_svd(*svd_of(A, full_matrices))


def _no_driver(name: str, driver: str | None) -> None:
    if driver is not None:
        raise RuntimeError(
            f"torch.linalg.{name}: keyword argument `driver=` is only supported on CUDA inputs with cuSOLVER backend."
        )


@op(
    **FIELDS,
    forms=Form.OUT,
    saves=Saves.RESULT,
    backward="LinalgSvdBackward0",
    check=SVD_OF_NUMBERS,
    samples=[TALL, WIDE],
    autocast={"cpu": Autocast.FLOAT32},
)
def linalg_svdvals(A: Array, *, driver: str | None = None) -> Array:
    """The singular values, largest first.

    >>> torch.linalg.svdvals(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor([4., 3.])
    """
    floating("linalg.svd", matrices("linalg.svd", A), kernel="linalg_svd_cpu")
    _no_driver("svdvals", driver)
    return svd_of(A, False)[1]


@op(
    **NUMERIC,
    refuse="geqrf_cpu",
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    differentiable="geqrf",
    samples=[TALL, WIDE],
    autocast={"cpu": Autocast.FLOAT32},
)
def geqrf(input: Array) -> tuple[Array, Array]:
    """The reflections that QR is made of: R on and above the diagonal, vectors below it, and their factors."""
    x = floating("geqrf", input, kernel="geqrf_cpu")
    if x.ndim < 2:
        raise RuntimeError("torch.geqrf: input must have at least 2 dimensions.")
    m, n = x.shape[-2:]
    factors = []
    for k in range(min(m, n)):
        x, tau = _eliminate(x, k)
        factors.append(tau)
    taus = jnp.stack(factors, -1) if factors else jnp.zeros((*x.shape[:-2], 0), x.dtype)
    return return_types.geqrf(x, taus)


def _eliminate(x: Array, k: int) -> tuple[Array, Array]:
    """One step: the reflection that clears column ``k`` below the diagonal, applied to the columns behind it."""
    alpha, below = x[..., k, k], x[..., k + 1 :, k]
    norm = jnp.sqrt(jnp.sum(jnp.abs(below) ** 2, -1))
    is_eliminated = (norm == 0) & (jnp.imag(alpha) == 0)
    size = jnp.sqrt(jnp.abs(alpha) ** 2 + norm**2)
    # The sign is opposite to that of ``alpha``, as in LAPACK, so that ``alpha - beta`` cancels no digits.
    beta = jnp.where(jnp.real(alpha) > 0, -size, size).astype(x.dtype)
    one = jnp.ones((), x.dtype)
    tau = jnp.where(is_eliminated, 0, (beta - alpha) / jnp.where(is_eliminated, one, beta))
    v = below / jnp.where(is_eliminated, one, alpha - beta)[..., None]
    x = x.at[..., k, k].set(jnp.where(is_eliminated, alpha, beta)).at[..., k + 1 :, k].set(v)
    vectors = jnp.concatenate([jnp.ones_like(alpha)[..., None], v], -1)[..., None]
    block = x[..., k:, k + 1 :]
    changed = block - jnp.conj(tau)[..., None, None] * vectors * mm(adjoint(vectors), block)
    return x.at[..., k:, k + 1 :].set(changed), tau


@op(
    **FIELDS,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    saves=Saves.INPUTS,
    samples=[],
    autocast={"cpu": Autocast.FLOAT32},
)
def ormqr(input: Array, input2: Array, input3: Array, left: bool = True, transpose: bool = False) -> Array:
    """``other`` multiplied by the square Q of Householder reflections, or by its adjoint, from the left or the right."""
    if input.ndim < 2:
        raise RuntimeError("torch.ormqr: input must have at least 2 dimensions.")
    if input3.ndim < 2:
        raise RuntimeError("torch.ormqr: other must have at least 2 dimensions.")
    wide("ormqr_cpu", input)
    side = input3.shape[-2 if left else -1]
    place = "-2" if left else "-1"
    if side < input2.shape[-1]:
        raise RuntimeError(f"torch.ormqr: other.shape[{place}] must be greater than or equal to tau.shape[-1]")
    if side != input.shape[-2]:
        raise RuntimeError(f"torch.ormqr: other.shape[{place}] must be equal to input.shape[-2]")
    if input2.shape[-1] > input.shape[-1]:
        raise RuntimeError("torch.ormqr: tau.shape[-1] must be less than or equal to input.shape[-1]")
    if input.ndim - input2.ndim != 1:
        raise RuntimeError(
            f"torch.ormqr: Expected tau to have one dimension less than input, but got tau.ndim equal to {input2.ndim} and input.ndim is "
            f"equal to {input.ndim}"
        )
    if input.ndim != input3.ndim:
        raise RuntimeError(
            "torch.ormqr: Expected other to have the same number of dimensions as input, but got other.ndim equal to "
            f"{input3.ndim} and input.ndim is equal to {input.ndim}"
        )
    if input.shape[:-2] != input2.shape[:-1]:
        raise RuntimeError(
            f"torch.ormqr: Expected batch dimensions of tau to be equal to input.shape[:-2], but got {list(input2.shape[:-1])}"
        )
    if input.shape[:-2] != input3.shape[:-2]:
        raise RuntimeError(
            f"torch.ormqr: Expected batch dimensions of other to be equal to input.shape[:-2], but got {list(input3.shape[:-2])}"
        )
    for name, x in (("tau", input2), ("other", input3)):
        if x.dtype != input.dtype:
            raise RuntimeError(
                f"torch.ormqr: Expected input and {name} to have the same dtype, but input has dtype {said(input.dtype)} and {name} has "
                f"dtype {said(x.dtype)}"
            )
    if left:
        return _reflect(input, jnp.conj(input2) if transpose else input2, input3, reverse=not transpose)
    turned = _reflect(input, input2 if transpose else jnp.conj(input2), adjoint(input3), reverse=transpose)
    return adjoint(turned)
