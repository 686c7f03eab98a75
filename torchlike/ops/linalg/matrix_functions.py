"""Functions of matrices: determinants, norms, ranks, powers, products; tensors as matrices; PyTorch's older names."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.annotations import Dtype, IntOrInts
from ..._core.tensor import Tensor, wrap_dim
from ...dispatch import return_types
from ...dispatch.arguments import check_flags, check_tensors
from ...dispatch.out_dtypes import exactly, words
from ...dispatch.overlap import Reading
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Validation, alias, composite, op
from ...dispatch.type_names import type_name
from ...dispatch.warned import warn_once
from ...numerics.half_precision import at_least_float32
from ..creation.filled import eye
from ..indexing.selecting import where
from ..reduction.reduce import check_norm_dtype, vector_norm
from ..shape.reshape import common_shape
from ._matrices import FIELDS, floating, said, square
from .factorisations import (
    linalg_eigvalsh,
    linalg_householder_product,
    linalg_lu_factor_ex,
    linalg_qr,
    linalg_svd,
    linalg_svdvals,
    plain_cholesky,
)
from .matmul import matmul
from .solving import check_tolerances, linalg_inv, linalg_inv_ex, linalg_solve, precision_of

SQUARE = Sample(values=([[4.0, 1.0, 0.5], [1.0, 3.0, 0.2], [0.5, 0.2, 2.0]],))

linalg_vector_norm = vector_norm
linalg_matmul = alias("linalg_matmul", matmul)


# ---- determinants


def _det(name: str) -> Callable[[Array], Array]:
    def compute(A: Array) -> Array:
        square(name, floating(name, A, kernel="lu_cpu"))
        return jnp.linalg.det(A) if A.shape[-1] else jnp.ones(A.shape[:-2], A.dtype)

    compute.__doc__ = """The determinants of square matrices.

    >>> torch.linalg.det(torch.tensor([[2.0, 0.0], [0.0, 4.0]]))
    tensor(8.)
    """
    return compute


linalg_det = op(name="linalg_det", **FIELDS, forms=Form.OUT, samples=[SQUARE])(_det("linalg.det"))


@composite(forms=Form.FUNCTION | Form.METHOD)
def det(input: Tensor) -> Tensor:
    """The determinants of square matrices.

    >>> torch.det(torch.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor(-2.)
    """
    return linalg_det(input)


@op(**FIELDS, forms=Form.OUT, saves=("A", 0), samples=[SQUARE])
def linalg_slogdet(A: Array) -> tuple[Array, Array]:
    """Sign and logarithm of the absolute value of the determinants: 0 and -inf for singular matrices."""
    square("linalg.slogdet", floating("linalg.slogdet", A))
    if A.shape[-1] == 0:
        return return_types.linalg_slogdet(jnp.ones(A.shape[:-2], A.dtype), jnp.zeros(A.shape[:-2], A.real.dtype))
    return return_types.linalg_slogdet(*jnp.linalg.slogdet(A))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def slogdet(input: Tensor) -> Any:
    """Sign and logarithm of the absolute value of the determinants."""
    return return_types.slogdet(*linalg_slogdet(input))


@composite(forms=Form.FUNCTION | Form.METHOD)
def logdet(input: Tensor) -> Tensor:
    """The logarithms of the determinants: NaN where one is negative."""
    floating("logdet", input._aval)
    sign, size = linalg_slogdet(input)
    if input.is_complex():
        return sign.log() + size
    return where(sign == -1, math.nan, size)


# ---- norms


def _pair(name: str, dim: Any, ndim: int) -> tuple[int, int]:
    if len(dim) != 2:
        raise RuntimeError(f"{name}: dim must be a 2-tuple. Got {' '.join(map(str, dim))}")
    a, b = (wrap_dim(int(d), ndim) for d in dim)
    if a == b:
        raise RuntimeError(f"{name}: dims must be different. Got ({dim[0]}, {dim[1]})")
    return a, b


def _singular_norm(A: Tensor, ord: object, keepdim: bool) -> Tensor:
    """The sum ("nuc"), the largest (2) or the smallest (-2) of the singular values of the last two dimensions."""
    if ord == 2 and 0 in A.shape[-2:]:  # the largest of none
        return A.new_zeros((*A.shape[:-2], 1) if keepdim else A.shape[:-2], dtype=A.dtype.to_real())
    values = linalg_svdvals(A)
    reduce = values.sum if ord == "nuc" else values.amax if ord == 2 else values.amin
    return reduce(-1, keepdim)


@composite(forms=Form.OUT, autocast={"cuda": Autocast.FLOAT32})
def linalg_matrix_norm(
    input: Tensor,
    ord: float | str = "fro",
    dim: IntOrInts = (-2, -1),
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Tensor:
    """The norms of the matrices that two dimensions form.

    Args:
        ord: "fro" (the root of the sum of squares), "nuc" (the sum of the singular values), inf, -inf, 1, -1 (of sums along rows or
            columns), 2, -2 (of singular values).

    >>> torch.linalg.matrix_norm(torch.tensor([[3.0, 0.0], [0.0, 4.0]]))
    tensor(5.)
    """
    name = "linalg.matrix_norm"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(
            f"{name}: Expected a floating point or complex tensor as input. Got {input.dtype.scalar_name}"
        )
    if not isinstance(dim, (tuple, list)):
        options = "tuple of ints dim = {-2,-1}, bool keepdim = False, *, torch.dtype dtype = None, Tensor out = None)\n"
        raise TypeError(
            f"linalg_matrix_norm() received an invalid combination of arguments - got (Tensor, {type_name(ord)}, dim={type_name(dim)}), "
            f'but expected one of:\n * (Tensor input, Number ord, {options} * (Tensor input, str ord = "fro", {options}'
        )
    check_norm_dtype(name, input.dtype, dtype)
    if isinstance(ord, str):
        if ord not in ("fro", "nuc"):
            raise RuntimeError(f"{name}: Order {ord} not supported.")
    elif isinstance(ord, complex):
        raise RuntimeError(f"{name}: Expected a non-complex scalar as the order of norm.")
    elif abs(ord) not in (1, 2, math.inf):
        raise RuntimeError(f"{name}: Order {ord:g} not supported.")
    a, b = _pair(name, dim, input.dim())
    if ord == "fro":
        return vector_norm(input, 2, (a, b), keepdim, dtype=dtype)
    if dtype is not None:
        input = input.to(dtype)
    if ord in ("nuc", 2, -2):
        if input.dtype.itemsize < 4:
            raise RuntimeError(f"{name}: Low precision dtypes not supported. Got {input.dtype.scalar_name}")
        if ord == -2 and 0 in (input.shape[a], input.shape[b]):
            raise IndexError("amin(): Expected reduction dim -1 to have non-zero size.")
        values = _singular_norm(input.movedim((a, b), (-2, -1)), ord, keepdim)
        return values.unsqueeze(-1).movedim((-2, -1), (a, b)) if keepdim else values
    summed, kept_dim = (a, b) if abs(ord) == 1 else (b, a)
    sums = vector_norm(input, 1, summed, keepdim)
    kept_dim -= 0 if keepdim or kept_dim < summed else 1
    if ord < 0:
        return sums.amin(kept_dim, keepdim)
    if not sums.shape[kept_dim]:  # the largest of no sums is 0
        return sums.sum(kept_dim, keepdim)
    return sums.amax(kept_dim, keepdim)


@composite(forms=Form.OUT)
def linalg_norm(
    input: Tensor,
    ord: object = None,
    dim: IntOrInts | None = None,
    keepdim: bool = False,
    *,
    dtype: Dtype | None = None,
) -> Tensor:
    """The norm of vectors or matrices.

    Of all elements taken as a vector by default; of matrices where ``dim`` names two dimensions, or ``ord`` is given and the tensor has
    two.

    >>> torch.linalg.norm(torch.tensor([3.0, 4.0]))
    tensor(5.)
    """
    dims = dim if dim is None else (dim,) if isinstance(dim, int) else tuple(dim)
    if dims is not None:
        if len(dims) not in (1, 2):
            raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dims)}")
    elif ord is not None and input.dim() not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. Got {input.dim()}D."
        )
    if isinstance(ord, str) or (ord is not None and (len(dims) == 2 if dims is not None else input.dim() == 2)):
        return linalg_matrix_norm(input, ord, (0, 1) if dims is None else dims, keepdim, dtype=dtype)
    return vector_norm(input, 2 if ord is None else ord, dims, keepdim, dtype=dtype)


@composite(forms=Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def linalg_cond(input: Tensor, p: object = None) -> Tensor:
    """The condition numbers of matrices: ``norm(A) norm(inv(A))``, or the largest singular value over the smallest for 2 (None) and -2."""
    name = "linalg.cond"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor A must have at least 2 dimensions.")
    if p in (None, 2, -2):
        s = linalg_svdvals(input)
        largest, smallest = s.narrow(-1, 0, 1), s.narrow(-1, -1, 1)
        return (largest / smallest if p != -2 else smallest / largest).squeeze(-1)
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise RuntimeError(f"{name} got an invalid norm type: {p}")
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            f"{name}: A must be batches of square matrices, but they are {input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if input.numel() == 0:
        return input.new_zeros(input.shape[:-2], dtype=input.abs().dtype)
    if p == "nuc":
        s = linalg_svdvals(input)
        return s.sum(-1) * s.reciprocal().sum(-1)
    inverted, info = linalg_inv_ex(input)
    inverted = inverted.masked_fill((info != 0).unsqueeze(-1).unsqueeze(-1), math.inf)
    return linalg_matrix_norm(input, p) * linalg_matrix_norm(inverted, p)


@composite(forms=Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def linalg_matrix_rank(
    input: Tensor, tol: object = None, hermitian: object = False, *, atol: Any = None, rtol: object = None
) -> Tensor:
    """How many singular values are above the larger of ``atol`` and ``rtol`` times the largest one.

    >>> torch.linalg.matrix_rank(torch.tensor([[1.0, 0.0], [0.0, 0.0]]))
    tensor(1)
    """
    name = "torch.linalg.matrix_rank"
    if input.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor input must have at least 2 dimensions.")
    if isinstance(tol, bool) and hermitian is False:
        tol, hermitian = None, tol
    check_flags("linalg_matrix_rank", hermitian=(None, hermitian))
    check_tolerances("linalg_matrix_rank", tol=tol, atol=atol, rtol=rtol)
    atol = tol if tol is not None else atol
    for tolerance, word in ((atol, "atol"), (rtol, "rtol")):
        if isinstance(tolerance, Tensor) and tolerance.dtype.category == dtypes.COMPLEX:
            raise RuntimeError(
                f"{name}: {word} tensor of complex type is not supported. Got {tolerance.dtype.scalar_name}"
            )
    if input.numel() == 0:
        return input.new_zeros(input.shape[:-2], dtype=dtypes.int64)
    usual = precision_of(input.dtype) * max(input.shape[-2:]) if rtol is None else 0.0
    values = linalg_eigvalsh(input).abs() if hermitian else linalg_svdvals(input)
    largest = values.amax(-1, True)
    if rtol is None:
        if tol is None and isinstance(atol, Tensor):
            rtol = (atol <= 0) * usual
        else:
            rtol = 0.0 if tol is not None or (atol is not None and atol > 0) else usual
    for_each_matrix = lambda t: t.unsqueeze(-1) if isinstance(t, Tensor) else t  # noqa: E731
    bound = largest * for_each_matrix(rtol)
    atol = for_each_matrix(0.0 if atol is None else atol)
    bound = atol.maximum(bound) if isinstance(atol, Tensor) else bound.clamp_min(atol)
    return (values > bound).sum(-1)


# ---- powers, exponentials, products


@composite(forms=Form.OUT)
def linalg_matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices; negative powers are those of the inverse.

    >>> torch.linalg.matrix_power(torch.tensor([[1.0, 1.0], [0.0, 1.0]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if input.dim() < 2:
        raise RuntimeError("linalg.matrix_power: The input tensor A must have at least 2 dimensions.")
    if input.shape[-1] != input.shape[-2]:
        raise RuntimeError(
            "linalg.matrix_power: A must be batches of square matrices, but they are "
            f"{input.shape[-2]} by {input.shape[-1]} matrices"
        )
    if n < 0:
        input, n = linalg_inv(input), -n
    if n == 0:
        return input.clone().copy_(eye(input.shape[-1], dtype=input.dtype))
    product, square_ = None, input
    while n:
        if n & 1:
            product = square_ if product is None else matmul(product, square_)
        n >>= 1
        square_ = matmul(square_, square_) if n else square_
    return input.clone() if product is input else product  # pyright: ignore[reportReturnType]


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT)
def matrix_power(input: Tensor, n: int) -> Tensor:
    """The n-th power of square matrices."""
    return linalg_matrix_power(input, n)


@op(**FIELDS, forms=Form.NONE, samples=[Sample(values=SQUARE.values, dtypes=("float32",))])
def linalg_matrix_exp(input: Array) -> Array:
    """The exponentials of square matrices: ``1 + A + A A / 2 + ...``.

    >>> torch.linalg.matrix_exp(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    square("linalg.matrix_exp", floating("linalg.matrix_exp", input, half=True))
    if input.size == 0:
        return input
    return jax.scipy.linalg.expm(at_least_float32(input)).astype(input.dtype)


@composite(forms=Form.FUNCTION | Form.METHOD)
def matrix_exp(input: Tensor) -> Tensor:
    """The exponentials of square matrices."""
    return linalg_matrix_exp(input)


_CHAIN: dict[str, Any] = {
    "autocast": {"cuda": Autocast.LOWER},
    "validation": Validation(out=words("multi_dot(): expected out tensor to have dtype {c_result} but got {c_out}")),
}


@composite(forms=Form.FUNCTION | Form.OUT, **_CHAIN)
def chain_matmul(*matrices: Tensor) -> Tensor:
    """The product of matrices, in the order that multiplies least; ``torch.linalg.multi_dot`` has taken its place.

    >>> torch.linalg.multi_dot([torch.ones(2, 3), torch.ones(3, 4), torch.ones(4, 1)])
    tensor([[12.],
            [12.]])
    """
    check_tensors("chain_matmul", matrices)
    warn_once(
        "torch.chain_matmul is deprecated and will be removed in a future PyTorch release. Use torch.linalg.multi_dot instead, which "
        "accepts a list of two or more tensors rather than multiple parameters."
    )
    if len(matrices) < 1:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    for matrix in matrices:
        if matrix.dim() != 2:
            raise RuntimeError(f"Tensor dimension is {matrix.dim()}, expected 2 instead.")
    return linalg_multi_dot(list(matrices)) if len(matrices) > 1 else matrices[0].clone()


@composite(forms=Form.OUT, **_CHAIN)
def linalg_multi_dot(tensors: list[Tensor]) -> Tensor:
    """The product of matrices, in the order that takes the fewest multiplications; the first and the last may be vectors."""
    check_tensors("linalg_multi_dot", tensors)
    count = len(tensors)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    first, last = tensors[0], tensors[-1]
    out_rows, out_columns = first.dim() != 1, last.dim() != 1
    for i, t in enumerate(tensors):
        allowed = (1, 2) if i in (0, count - 1) else (2,)
        if t.dim() not in allowed:
            ranks = "1D or 2D" if len(allowed) == 2 else "2D"
            raise RuntimeError(f"multi_dot(): tensor {i} must be {ranks} but got {t.dim()}D")
    parts = [first if out_rows else first.unsqueeze(0), *tensors[1:-1], last if out_columns else last.unsqueeze(-1)]
    for i, (a, b) in enumerate(itertools.pairwise(parts)):
        if a.dtype is not b.dtype:
            raise RuntimeError(
                f"multi_dot(): all tensors must have be the same dtype but tensor 0 is {first.dtype.scalar_name} and tensor {i + 1} "
                f"{b.dtype.scalar_name}"
            )
        if a.shape[1] != b.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(a.shape)} and {list(b.shape)} cannot be multiplied"
            )
    product = _multiply(parts, _split_points([p.shape[0] for p in parts] + [parts[-1].shape[1]]), 0, count - 1)
    shape = [parts[0].shape[0]] * out_rows + [parts[-1].shape[1]] * out_columns
    return product.reshape(shape)


def _split_points(sizes: list[int]) -> dict[tuple[int, int], int]:
    """Where to split each part of a chain of matrices, by dynamic programming over the number of multiplications."""
    count = len(sizes) - 1
    cost = {(i, i): 0 for i in range(count)}
    split = {}
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            choices = {k: cost[i, k] + cost[k + 1, j] + sizes[i] * sizes[k + 1] * sizes[j + 1] for k in range(i, j)}
            split[i, j] = min(choices, key=lambda k: choices[k])
            cost[i, j] = choices[split[i, j]]
    return split


def _multiply(parts: Sequence[Tensor], split: dict[tuple[int, int], int], i: int, j: int) -> Tensor:
    if i == j:
        return parts[i]
    k = split[i, j]
    return matmul(_multiply(parts, split, i, k), _multiply(parts, split, k + 1, j))


@op(
    **FIELDS,
    forms=Form.OUT,
    overlap=Reading.ELSEWHERE,
    samples=[Sample(shapes=((2, 3), (2, 3))), Sample(shapes=((3, 2), (3, 2)), kwargs={"dim": 0})],
)
def linalg_cross(input: Array, other: Array, *, dim: int = -1) -> Array:
    """The cross products of vectors of three elements along a dimension.

    >>> torch.linalg.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]))
    tensor([0, 0, 1])
    """
    if input.dtype != other.dtype:
        raise RuntimeError(f"expected scalar type {said(input.dtype)} but found {said(other.dtype)}")
    if input.ndim != other.ndim:
        raise RuntimeError("linalg.cross: inputs must have the same number of dimensions.")
    if input.dtype == np.bool_:
        raise NotImplementedError("\"cross\" not implemented for 'Bool'")
    axis = wrap_dim(dim, input.ndim)
    if input.shape[axis] != 3 or other.shape[axis] != 3:
        raise RuntimeError(
            f"linalg.cross: inputs dimension {dim} must have length 3. Got {input.shape[axis]} and {other.shape[axis]}"
        )
    a, b = jnp.broadcast_arrays(input, other)
    return jnp.cross(a, b, axis=axis)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast={"cuda": Autocast.PROMOTE},
    overlap=Reading.ELSEWHERE,
    validation=Validation(out=exactly),
)
def cross(input: Tensor, other: Tensor, dim: IntOrInts | None = None) -> Tensor:
    """The cross products of vectors of three elements along a dimension: the first of that size by default.

    >>> torch.cross(torch.tensor([1, 0, 0]), torch.tensor([0, 1, 0]), dim=0)
    tensor([0, 0, 1])
    """
    if dim is None:
        warnings.warn(
            "Using torch.cross without specifying the dim arg is deprecated.\nPlease either pass the dim explicitly or simply use "
            "torch.linalg.cross.\nThe default value of dim will change to agree with that of linalg.cross in a future release.",
            UserWarning,
            stacklevel=3,
        )
        shape = common_shape([input.shape, other.shape])
        first = next((d for d, n in enumerate(shape) if n == 3), None)
        if first is None:
            raise RuntimeError("no dimension of size 3 in input")
        dim = first
    return linalg_cross(input, other, dim=dim)


@op(
    **FIELDS,
    forms=Form.OUT,
    backward="SumBackward1",
    samples=[Sample(shapes=((3, 4), (3, 4)))],
    autocast=Autocast.LOWER,
)
def linalg_vecdot(x: Array, y: Array, *, dim: int = -1) -> Array:
    """The dot products of vectors along a dimension, the first one conjugated."""
    floating("linalg.vecdot", x, half=True)
    return jnp.sum(jnp.conj(x) * y, axis=wrap_dim(dim, max(x.ndim, y.ndim)))


@composite(forms=Form.NONE)
def linalg_diagonal(A: Tensor, *, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The diagonals of the matrices that two dimensions form, the last two by default, as a view."""
    return A.diagonal(offset, dim1, dim2)


@op(
    name="_powers", promote=Promote.NONE, accepts=Category.ALL, forms=Form.NONE, backward="CumprodBackward0",
    samples=[Sample(shapes=((3,),), args=(3, True))],
)  # fmt: skip
def powers(x: Array, count: int, increasing: bool) -> Array:
    """Each element's powers from 0 on, along a new last dimension."""
    if x.dtype.kind in "iub":
        x = x.astype(np.int64)
    repeated = jnp.broadcast_to(x[..., None], (*x.shape, max(count - 1, 0)))
    columns = jnp.concatenate([jnp.ones((*x.shape, 1), x.dtype), jnp.cumprod(repeated, -1)], -1)[..., :count]
    return columns if increasing else jnp.flip(columns, -1)


@composite(forms=Form.FUNCTION)
def vander(x: Tensor, N: Any = None, increasing: bool = False) -> Tensor:
    """The matrix of a vector's powers: ``N - 1`` to 0 along each row, or the other way round.

    >>> torch.vander(torch.tensor([1, 2, 3]), 3)
    tensor([[1, 1, 1],
            [4, 2, 1],
            [9, 3, 1]])
    """
    if x.dim() != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    N = x.shape[0] if N is None else N
    if N < 0:
        raise RuntimeError("N must be non-negative.")
    return powers(x, N, bool(increasing))


@composite(forms=Form.NONE)
def linalg_vander(x: Any, *, N: int | None = None) -> Tensor:
    """Vectors' powers, from 0 to ``N - 1``, along a new last dimension."""
    count = (x.shape[-1] if x.dim() else 1) if N is None else N
    if count <= 1:
        raise RuntimeError("N must be greater than 1.")
    return powers(x if x.dim() else x.unsqueeze(0), count, True)


# ---- tensors as matrices


@composite(forms=Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def linalg_tensorinv(input: Tensor, ind: int = 2) -> Tensor:
    """The tensor that undoes ``tensordot(A, x, ind)``: A's first ``ind`` dimensions and the others as rows and columns."""
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    rows, columns = math.prod(input.shape[:ind]), math.prod(input.shape[ind:])
    if rows != columns:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got "
            f"{columns} != {rows}"
        )
    return linalg_inv(input.reshape(rows, columns)).reshape([*input.shape[ind:], *input.shape[:ind]])  # pyright: ignore[reportAttributeAccessIssue]


@composite(forms=Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def linalg_tensorsolve(input: Tensor, other: Tensor, dims: Any = None) -> Tensor:
    """The X of ``tensordot(A, X, X.ndim) = B``."""
    if dims is not None:
        dims_to_move = [wrap_dim(int(d), input.dim()) for d in dims]
        input = input.permute([d for d in range(input.dim()) if d not in dims_to_move] + dims_to_move)
    shape = input.shape[other.dim() :]
    size, rows = math.prod(shape), math.prod(input.shape[: other.dim()])
    if size != rows:
        raise RuntimeError(
            "Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{size} != {rows}"
        )
    return linalg_solve(input.reshape(rows, size), other.flatten()).reshape(list(shape))  # pyright: ignore[reportAttributeAccessIssue]


# ---- PyTorch's older names


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def cholesky(input: Tensor, upper: bool = False) -> Tensor:
    """``torch.linalg.cholesky``'s older name."""
    return plain_cholesky(input, bool(upper))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def qr(input: Tensor, some: bool = True) -> Any:
    """``torch.linalg.qr``'s older name. ``some``: whether Q is reduced."""
    return return_types.qr(*linalg_qr(input, "reduced" if some else "complete"))


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def svd(input: Tensor, some: bool = True, compute_uv: bool = True) -> Any:
    """``torch.linalg.svd``'s older name, which gives V instead of its adjoint.

    Args:
        some: whether U and V are reduced.
        compute_uv: if not, U and V are zeros.
    """
    if not compute_uv:
        m, n = input.shape[-2:]
        zeros = [input.new_zeros((*input.shape[:-2], k, k)) for k in (m, n)]
        return return_types.svd(zeros[0], linalg_svdvals(input), zeros[1])
    u, s, vh = linalg_svd(input, not some)
    return return_types.svd(u, s, vh.mH)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def lu(A: object, pivot: bool = True, get_infos: object = False) -> tuple[Tensor, ...]:
    """``torch.linalg.lu_factor``'s older name; with ``get_infos`` a third tensor, 0 where all went well."""
    factors, pivots, info = linalg_lu_factor_ex(A, pivot=bool(pivot))
    return return_types._lu_with_info(factors, pivots, info) if get_infos else (factors, pivots)


@composite(forms=Form.FUNCTION | Form.METHOD | Form.OUT, autocast={"cpu": Autocast.FLOAT32})
def orgqr(input: Tensor, input2: Tensor) -> Tensor:
    """``torch.linalg.householder_product``'s older name."""
    return linalg_householder_product(input, input2)
