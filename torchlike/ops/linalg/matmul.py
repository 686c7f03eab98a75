"""Products of matrices and vectors."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.size import tensor_meta
from ..._core.tensor import Tensor
from ...dispatch.out_dtypes import cast as cast_out, words
from ...dispatch.overlap import Reading
from ...dispatch.register import Autocast, Category, Form, Number, Promote, Sample, Validation, alias, composite, op
from ...dispatch.type_names import type_name
from ...engine.recorder import DynamicNumber
from ...numerics.exact_math import is_spread, traced_platform
from ...numerics.half_precision import in_float32, is_half, plus_bias
from ...numerics.matmul_precision import precision
from ...numerics.product import multiply
from ..elementwise.pointwise import mul

if TYPE_CHECKING:
    from ...engine.aval import Aval


# ---- contraction: every product below ends here


PLAIN = {((i,), (j,)) for i in (0, 1) for j in (0, 1)}  # sums over one dimension of each of two matrices


def contract(
    a: Array, b: Array, axes: tuple[tuple[int, ...], tuple[int, ...]], batch: Any = ((), ()), rounded: bool = True
) -> Array:
    """``dot_general`` in the precision that is set; half types are summed in float32 and rounded once, or left so."""
    if a.dtype == b.dtype == np.float32 and a.ndim == b.ndim == 2 and axes in PLAIN and not batch[0]:
        return multiply(a, b, (axes[0][0], axes[1][0]), precision())
    if a.dtype.kind not in "iubc" and a.dtype.itemsize < 4:
        out = _half_product(a, b, (axes, batch), precision())
        return out.astype(a.dtype) if rounded else out
    return lax.dot_general(a, b, (axes, batch), precision=precision(), preferred_element_type=a.dtype)


@functools.partial(jax.custom_jvp, nondiff_argnums=(2, 3))
def _half_product(a: Array, b: Array, dims: Any, precision: Any) -> Array:
    """A product of half types, summed in float32 and not rounded."""
    return lax.dot_general(a, b, dims, precision=precision, preferred_element_type=jnp.float32)


@_half_product.defjvp
def _half_product_derivative(
    dims: Any, precision: Any, primals: tuple[Array, Array], tangents: tuple[Array, Array]
) -> tuple[Array, Array]:
    (a, b), (da, db) = primals, tangents

    def rounded(a: Array, b: Array) -> Array:
        # Of this product both gradients are products of half types, for which accelerators have units. The gradients of a product with
        # a result in float32 would multiply a cotangent in float32, which takes five times as long on a GPU. What is rounded after the
        # product has a cotangent of half type anyway.
        return lax.dot_general(a, b, dims, precision=precision, preferred_element_type=a.dtype).astype(jnp.float32)

    return _half_product(a, b, dims, precision), rounded(da, b) + rounded(a, db)


def as_rows(a: Array) -> Array:
    """What a matrix is multiplied with from the left: the rows in one dimension, or on TPUs and meshes in those that they have.

    XLA chooses for a TPU in which order the dimensions of an array lie. One dimension made of several fixes their order: each product
    would copy its factor and its result to another order and back, and what comes before and after would not become part of it.
    """
    return a if traced_platform() == "tpu" or is_spread() else a.reshape(math.prod(a.shape[:-1]), a.shape[-1])


def rows_by_matrix(rows: Array, matrix: Array, bias: Array | None = None, dim: int = 1) -> Array:
    """``rows`` times a matrix, summed over dimension ``dim`` of it, plus a bias; half types are rounded once, after the addition."""
    dims = ((rows.ndim - 1,), (dim,))
    if bias is not None and is_half(rows) and bias.dtype == rows.dtype and traced_platform() == "gpu":
        # The library for products adds the bias to its sums before it rounds them, if it is told in this form. Sums in float32 would be
        # written out, and read again by another kernel.
        return contract(rows, matrix, dims) + bias
    return plus_bias(contract(rows, matrix, dims, rounded=False), bias, rows.dtype)


def stacks(a: Array, batch: tuple[int, ...]) -> Array:
    """(..., n, m) as (number of stacks, n, m); on a mesh as (*batch, n, m)."""
    whole = jnp.broadcast_to(a, (*batch, *a.shape[-2:]))
    return whole if is_spread() else whole.reshape(math.prod(batch), *a.shape[-2:])


def stacked_product(a: Array, b: Array, of_b: int, rounded: bool = True) -> Array:
    """The products of as many matrices, summed over the columns of ``a`` and over the rows (0) or columns (1) of ``b``."""
    rows = a.ndim - 2
    batch = tuple(range(rows))
    return contract(a, b, ((rows + 1,), (rows + of_b,)), (batch, batch), rounded)


def product(a: Array, b: Array, rounded: bool = True) -> Array:
    """``a @ b`` for any ranks from 1; ``rounded`` as of ``contract``.

    A matrix on the right is multiplied once with all rows of the left side: one large product, whose gradients need no transposed
    copies either.
    """
    if a.ndim > 2 and b.ndim <= 2:
        a_rows = as_rows(a)
        rows = contract(a_rows, b, ((a_rows.ndim - 1,), (0,)), rounded=rounded)
        return rows.reshape(*a.shape[:-1], *b.shape[1:])
    if a.ndim <= 2 and b.ndim <= 2:
        return contract(a, b, ((a.ndim - 1,), (0,)), rounded=rounded)
    left = a[None] if a.ndim == 1 else a
    right = b[..., None] if b.ndim == 1 else b
    batch = jnp.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    out = stacked_product(stacks(left, batch), stacks(right, batch), 0, rounded)
    rows = () if a.ndim == 1 else (a.shape[-2],)
    columns = () if b.ndim == 1 else (b.shape[-1],)
    return out.reshape(*batch, *rows, *columns)


# ---- checks that raise PyTorch's errors


def _same_dtype(a: Array, b: Array) -> None:
    if a.dtype != b.dtype:
        names = [dtypes.from_numpy_dtype(x.dtype).name for x in (a, b)]
        raise RuntimeError(
            f"expected m1 and m2 to have the same dtype, but got: {dtypes.C_NAMES[names[0]]} != {dtypes.C_NAMES[names[1]]}"
        )


def _no_bool(kernel: str, *arrays: Array) -> None:
    if any(x.dtype == bool for x in arrays):
        raise NotImplementedError(f"\"{kernel}\" not implemented for 'Bool'")


def _check_mm(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    """Raises unless matrices of these shapes can be multiplied."""
    if a[1] != b[0]:
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({a[0]}x{a[1]} and {b[0]}x{b[1]})")


def _check_mv(input: tuple[int, ...] | None, mat: tuple[int, ...], vec: tuple[int, ...]) -> None:
    rows = mat[0] if input is None else input[0] if input else mat[0]
    if mat[1] != vec[0] or rows not in (mat[0], 1):
        raise RuntimeError(f"size mismatch, got input ({rows}), mat ({mat[0]}x{mat[1]}), vec ({vec[0]})")


def _check_dot(a: Array, b: Array) -> None:
    if a.ndim != 1 or b.ndim != 1:
        raise RuntimeError(f"1D tensors expected, but got {a.ndim}D and {b.ndim}D tensors")
    if a.dtype != b.dtype:
        names = [dtypes.from_numpy_dtype(x.dtype).scalar_name for x in (a, b)]
        raise RuntimeError(f"dot : expected both vectors to have same dtype, but found {names[0]} and {names[1]}")
    if a.shape != b.shape:
        raise RuntimeError(
            f"inconsistent tensor size, expected tensor [{a.size}] and src [{b.size}] to have the same number of elements, but got "
            f"{a.size} and {b.size} elements respectively"
        )
    _no_bool("dot", a)


def _check_bmm(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    for number, shape in ((1, a), (2, b)):
        if len(shape) != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor")
    if a[0] != b[0] or a[2] != b[1]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{a[0]}, {a[2]}] but got: [{b[0]}, {b[1]}]."
        )


def _check_vectors(name: str, *vectors: Array | Aval) -> None:
    for number, vector in enumerate(vectors, 1):
        if len(vector.shape) != 1:
            argument = "self" if name == "outer" and number == 1 else f"vec{number}"
            raise RuntimeError(f"{name}: Expected 1-D argument {argument}, but got {len(vector.shape)}-D")


def _check_fits(existing: tuple[int, ...], target: tuple[int, ...]) -> None:
    """Raises unless a tensor can be expanded to the shape of the product it is added to."""
    for back in range(1, len(existing) + 1):
        if back > len(target):
            raise RuntimeError(
                f"The number of sizes provided ({len(target)}) must be greater or equal to the number of dimensions in the tensor "
                f"({len(existing)})"
            )
        if existing[-back] not in (1, target[-back]):
            raise RuntimeError(
                f"The expanded size of the tensor ({target[-back]}) must match the existing size ({existing[-back]}) at "
                f"non-singleton dimension {len(target) - back}.  Target sizes: {list(target)}.  Tensor sizes: {list(existing)}"
            )


# ---- products


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    samples=[Sample(shapes=((3, 4), (4, 5))), Sample(shapes=((0, 4), (4, 5))), Sample(shapes=((3, 0), (0, 5)))],
    autocast=Autocast.LOWER,
)
def mm(input: Array, mat2: Array) -> Array:
    """The product of two matrices: (n, k) by (k, m) gives (n, m).

    >>> torch.mm(torch.ones(2, 3), torch.ones(3, 2))
    tensor([[3., 3.],
            [3., 3.]])

    Raises:
        RuntimeError: shapes or dtypes that do not go together.
    """
    if input.ndim != 2:
        raise RuntimeError("self must be a matrix")
    if mat2.ndim != 2:
        raise RuntimeError("mat2 must be a matrix")
    _same_dtype(input, mat2)
    _check_mm(input.shape, mat2.shape)
    _no_bool("addmm_impl_cpu_", input)
    return product(input, mat2)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    samples=[Sample(shapes=((2, 3, 4), (2, 4, 5)))],
    autocast=Autocast.LOWER,
)
def bmm(input: Array, mat2: Array) -> Array:
    """Products of matrices in pairs: (b, n, k) by (b, k, m) gives (b, n, m).

    >>> torch.bmm(torch.ones(4, 2, 3), torch.ones(4, 3, 5)).shape
    torch.Size([4, 2, 5])
    """
    _check_bmm(input.shape, mat2.shape)
    _same_dtype(input, mat2)
    _no_bool("bmm", input)
    return product(input, mat2)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    samples=[Sample(shapes=((3, 4), (4,)))],
    autocast={"cuda": Autocast.LOWER},
)
def mv(input: Array, vec: Array) -> Array:
    """The product of a matrix and a vector: (n, k) by (k) gives (n).

    >>> torch.mv(torch.tensor([[1.0, 2.0]]), torch.tensor([3.0, 4.0]))
    tensor([11.])
    """
    if input.ndim != 2 or vec.ndim != 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got 1, {input.ndim}, {vec.ndim}")
    _check_mv(None, input.shape, vec.shape)
    if input.dtype != vec.dtype:
        matrix, vector = (dtypes.from_numpy_dtype(x.dtype).scalar_name for x in (input, vec))
        raise RuntimeError(f"addmv input tensors must have the same dtype, but got {vector}, {matrix}, and {vector}")
    _no_bool("addmv_impl_cpu", input)
    return product(input, vec)


_PRODUCT_OUT = words("result dtype {out} does not match input dtype {result}")
_DOT: dict[str, Any] = {
    "promote": Promote.NONE,
    "accepts": Category.ALL,
    "forms": Form.FUNCTION | Form.METHOD | Form.OUT,
    "samples": [Sample(shapes=((4,), (4,)))],
    "autocast": {"cuda": Autocast.PROMOTE},
    "validation": Validation(out=_PRODUCT_OUT),
}


@op(**_DOT)
def dot(input: Array, tensor: Array) -> Array:
    """The sum of the products of two vectors' elements.

    >>> torch.dot(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor(11)
    """
    _check_dot(input, tensor)
    return product(input, tensor)


@op(**_DOT)
def vdot(input: Array, other: Array) -> Array:
    """As ``dot``, with the conjugate of the first vector."""
    _check_dot(input, other)
    return product(jnp.conj(input) if input.dtype.kind == "c" else input, other)


@op(
    name="_matmul_vector",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="SqueezeBackward4",
    samples=[Sample(shapes=((4,), (4, 5)))],
    autocast=Autocast.LOWER,
)
def vector_by_matrix(input: Array, other: Array) -> Array:
    """A vector times a matrix."""
    _check_mm((1, *input.shape), other.shape)
    _same_dtype(input, other)
    _no_bool("addmm_impl_cpu_", input)
    return product(input, other)


def _within_stacked(input: Aval, other: Aval) -> tuple[Any, ...] | None:
    """The matrices of the first one are put one below the other."""
    names = {1: "MvBackward0", 2: "MmBackward0"}
    return ((names[rank], ("ViewBackward0", "input"), "other"),) if (rank := len(other.shape)) in names else None


@op(
    name="_matmul_stacked",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="UnsafeViewBackward0",
    within=_within_stacked,
    samples=[
        Sample(shapes=((2, 3, 4), (4, 5))),
        Sample(shapes=((2, 1, 3, 4), (5, 4, 2))),
        Sample(shapes=((2, 3, 4), (4,))),
    ],
    autocast=Autocast.LOWER,
)
def stacked(input: Array, other: Array) -> Array:
    """Stacks of matrices, whose leading dimensions broadcast."""
    a, b = input.shape, other.shape
    if len(b) == 1:
        if a[-1] != b[0]:
            rows = math.prod(a[:-1])
            raise RuntimeError(f"size mismatch, got input ({rows}), mat ({rows}x{a[-1]}), vec ({b[0]})")
    elif len(b) == 2:
        _check_mm((math.prod(a[:-1]), a[-1]), b)
    else:
        left = (1, *a) if len(a) == 1 else a
        for back in range(3, min(len(left), len(b)) + 1):
            if left[-back] != b[-back] and 1 not in (left[-back], b[-back]):
                raise RuntimeError(
                    f"The size of tensor a ({left[-back]}) must match the size of tensor b ({b[-back]}) at non-singleton dimension "
                    f"{max(len(left), len(b)) - back}"
                )
        batch = math.prod(jnp.broadcast_shapes(left[:-2], b[:-2]))
        _check_bmm((batch, *left[-2:]), (batch, *b[-2:]))
    _same_dtype(input, other)
    _no_bool("bmm", input)
    return product(input, other)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    autocast=Autocast.LOWER,
    validation=Validation(out=_PRODUCT_OUT),
)
def matmul(input: Tensor, other: Tensor) -> Tensor:
    """The product of vectors, matrices or stacks of matrices, as NumPy's ``@``; leading dimensions broadcast.

    >>> torch.matmul(torch.ones(5, 2, 3), torch.ones(3, 4)).shape
    torch.Size([5, 2, 4])

    Raises:
        RuntimeError: shapes or dtypes that do not go together, or a 0-dimensional tensor.
    """
    for position, (name, value) in enumerate((("input", input), ("other", other)), 1):
        if not isinstance(value, Tensor):
            raise TypeError(f"matmul(): argument '{name}' (position {position}) must be Tensor, not {type_name(value)}")
    a, b = len(input._aval.shape), len(other._aval.shape)
    if a == 2 and b == 2:
        return mm(input, other)
    if a == 0 or b == 0:
        raise RuntimeError(f"both arguments to matmul need to be at least 1D, but they are {a}D and {b}D")
    if a == 1 and b == 1:
        return dot(input, other)
    if a == 2 and b == 1:
        return mv(input, other)
    return vector_by_matrix(input, other) if (a, b) == (1, 2) else stacked(input, other)


# ---- linear


def _linear_backward(input: Aval, weight: Aval, bias: Aval | None) -> str:
    rank = len(input.shape)
    if bias is None:
        return "MmBackward0" if rank == 2 else "SqueezeBackward4" if rank == 1 else "UnsafeViewBackward0"
    return "AddmmBackward0" if rank == 2 else "ViewBackward0"


def _within_linear(input: Aval, weight: Aval, bias: Aval | None) -> tuple[Any, ...] | None:
    """The weight is transposed first, and an input that is no matrix viewed as one."""
    rank, transposed = len(input.shape), ("TBackward0", "weight")
    if rank == 2:
        return ("input", transposed) if bias is None else ("bias", "input", transposed)
    if bias is not None:
        return (("AddmmBackward0", "bias", ("ViewBackward0", "input"), transposed),)
    return (("MmBackward0", ("ViewBackward0", "input"), transposed),) if rank > 2 else None


@op(
    name="_linear",
    within=_within_linear,
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward=_linear_backward,
    reaches=lambda input, weight, bias: (
        # The weight is transposed first, and an input that is no matrix viewed as one.
        ("bias", "input", "weight") if len(input.shape) == 2 else ("bias", "weight", "input")
    ),
    # PyTorch's addmm calls them mat1 and mat2, its mm self and mat2.
    saved_in_order=lambda input, weight, bias: ("weight", "input") if bias is None else ("input", "weight"),
    samples=[
        Sample(shapes=((3, 4), (5, 4), (5,))),
        Sample(shapes=((2, 3, 4), (5, 4), (5,))),
        Sample(shapes=((3, 4), (5, 4))),
    ],
    autocast=Autocast.LOWER,
)
def linear(input: Array, weight: Array, bias: Array | None = None) -> Array:
    """``input @ weight.T + bias``.

    Args:
        input: shape (..., in_features).
        weight: shape (out_features, in_features), or (in_features).
        bias: shape (out_features), or None.

    >>> torch.nn.functional.linear(torch.ones(1, 2), torch.tensor([[1.0, 2.0]]))
    tensor([[3.]])

    Raises:
        RuntimeError: shapes or dtypes that do not go together.

    Rows are flattened to one dimension first, but on TPUs (``as_rows``). Then the three products of a training step (forward, and two
    gradients) are plain matrix products without a transposed copy; with leading dimensions left, XLA's CPU backend copies the transposed
    cotangent.
    """
    if not input.ndim or not weight.ndim:
        raise RuntimeError(
            f"both arguments to linear need to be at least 1D, but they are {input.ndim}D and {weight.ndim}D"
        )
    shape, features = input.shape, weight.shape
    rows = math.prod(shape[:-1])
    if bias is None:
        _check_mm((rows, shape[-1]), (features[-1], features[0] if len(features) == 2 else 1))
        _same_dtype(input, weight)
    else:  # the checks of ``addmm``, in its order
        _same_as_input(bias, weight)
        _same_as_input(input, weight, "mat1")
        _check_mm((rows, shape[-1]), (features[-1], features[0] if len(features) == 2 else 1))
    _no_bool("addmm_impl_cpu_", input)
    if len(features) == 1:
        return product(input, weight)
    if bias is not None:
        _check_fits(bias.shape, (rows, features[0]))
    out = rows_by_matrix(as_rows(input), weight, bias)
    return out.reshape(*shape[:-1], features[0])


@op(
    name="_bilinear",
    promote=Promote.NONE,
    accepts=Category.INTEGER | Category.FLOAT | Category.COMPLEX,
    forms=Form.NONE,
    refuse="bmm",
    backward="AddBackward0",
    samples=[Sample(shapes=((2, 3), (2, 4), (5, 3, 4), (5,)))],
)
def both_sides(input1: Array, input2: Array, weight: Array, bias: Array | None = None) -> Array:
    """``input1 @ weight[o] @ input2`` for each output o, plus bias."""
    for name, at, input in (("input1", 1, input1), ("input2", 2, input2)):
        if input.shape[-1] != weight.shape[at]:
            raise RuntimeError(
                f"bilinear(): {name} size does not match weight size: got {input.shape[-1]} but expected {weight.shape[at]}"
            )
    if bias is not None and bias.shape[0] != weight.shape[0]:
        raise RuntimeError(
            f"bilinear(): bias size does not match weight size: got {bias.shape[0]} but expected {weight.shape[0]}"
        )
    out = jnp.einsum("...i,oij,...j->...o", input1, weight, input2, precision=precision())
    return out if bias is None else out + bias


@composite(forms=Form.FUNCTION | Form.FUNCTIONAL, autocast={"cuda": Autocast.PROMOTE})
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """``input1 @ weight[o] @ input2 + bias[o]`` for each output o.

    Args:
        input1: shape (..., in1). input2: shape (..., in2). weight: shape (out, in1, in2). bias: shape (out).
    """
    return both_sides(input1, input2, weight, bias)


# ---- a product added to something


def _sum(input: Array, product: Array, beta: object, alpha: object) -> Array:
    """``beta * input + alpha * product``; with beta 0 the input does not matter, even if it is NaN.

    For half types the product may be in float32. Then all of it is computed there, and rounded once.
    """
    _check_fits(input.shape, product.shape)
    dtype, input = input.dtype, input.astype(product.dtype)
    integers = product.dtype.kind in "iu"
    if not (isinstance(alpha, (int, float)) and alpha == 1):
        factor = int(alpha) if integers and isinstance(alpha, float) else alpha
        product = _times(factor, product)
    spread = jnp.broadcast_to(
        input, product.shape
    )  # first, so that its gradient is scaled and then summed, as in PyTorch
    if isinstance(beta, (bool, int, float, complex)):
        if beta == 0:
            return product.astype(dtype)
        if beta == 1:
            return (input + product).astype(dtype)
        beta = int(beta.real) if integers and not isinstance(beta, int) else beta
        return (_times(beta, spread) + product).astype(dtype)
    return (jnp.where(beta == 0, jnp.zeros((), product.dtype), _times(beta, spread)) + product).astype(dtype)


@in_float32
def _times(factor: object, array: Array) -> Array:
    return jnp.asarray(factor, array.dtype) * array


def _same_as_input(input: Array, other: Array, name: str = "self") -> None:
    if input.dtype != other.dtype:
        input_name, other_name = (dtypes.from_numpy_dtype(x.dtype).scalar_name for x in (input, other))
        raise RuntimeError(f"{name} and mat2 must have the same dtype, but got {input_name} and {other_name}")


ADDED = {"beta": 0.5, "alpha": 2.0}


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    samples=[
        Sample(shapes=((5,), (3, 4), (4, 5))),
        Sample(shapes=((3, 5), (3, 4), (4, 5)), kwargs=ADDED, dtypes=("float32",)),
    ],
    autocast=Autocast.LOWER,
)
def addmm(input: Array, mat1: Array, mat2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * (mat1 @ mat2)``; the input broadcasts.

    >>> torch.addmm(torch.ones(2), torch.ones(2, 3), torch.ones(3, 2))
    tensor([[4., 4.],
            [4., 4.]])
    """
    for number, mat in ((1, mat1), (2, mat2)):
        if mat.ndim != 2:
            raise RuntimeError(f"mat{number} must be a matrix, got {mat.ndim}-D tensor")
    _same_as_input(input, mat2)
    _same_as_input(mat1, mat2, "mat1")
    _check_mm(mat1.shape, mat2.shape)
    _no_bool("addmm_impl_cpu_", mat1)
    return _sum(input, product(mat1, mat2, rounded=False), beta, alpha)


@op(
    refuse="addmm_impl_cpu_",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    overlap=Reading.FIRST,
    samples=[Sample(shapes=((3, 5), (2, 3, 4), (2, 4, 5)))],
    autocast=Autocast.LOWER,
)
def addbmm(input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * sum(batch1[i] @ batch2[i])``."""
    for number, batch in ((1, batch1), (2, batch2)):
        if batch.ndim != 3:
            raise RuntimeError(f"batch{number} must be a 3D tensor")
    if batch1.shape[0] != batch2.shape[0]:
        raise RuntimeError(
            f"batch1 and batch2 must have same number of batches, got {batch1.shape[0]} and {batch2.shape[0]}"
        )
    if batch1.shape[2] != batch2.shape[1]:
        a, b = batch1.shape, batch2.shape
        raise RuntimeError(f"Incompatible matrix sizes for bmm ({a[1]}x{a[2]} and {b[1]}x{b[2]})")
    _same_dtype(batch1, batch2)
    _same_as_input(input, batch2)
    _no_bool("addmm_impl_cpu_", batch1)
    return _sum(input, contract(batch1, batch2, ((0, 2), (0, 1)), rounded=False), beta, alpha)


@composite(forms=Form.METHOD)
def addbmm_(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: object = 1, alpha: object = 1) -> Tensor:
    """``addbmm`` in place; as in PyTorch, a tensor that is broadcast is resized to the shape of the result."""
    result = addbmm(self, batch1, batch2, beta=beta, alpha=alpha)
    if self.shape != result.shape:
        self.resize_(result.shape)  # pyright: ignore[reportAttributeAccessIssue]
    return self.copy_(result)  # pyright: ignore[reportAttributeAccessIssue]


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    overlap=Reading.FIRST,
    samples=[Sample(shapes=((2, 3, 5), (2, 3, 4), (2, 4, 5)))],
    autocast=Autocast.LOWER,
)
def baddbmm(input: Array, batch1: Array, batch2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input[i] + alpha * (batch1[i] @ batch2[i])`` for each i."""
    _check_bmm(batch1.shape, batch2.shape)
    _same_dtype(batch1, batch2)
    _same_as_input(input, batch2)
    _no_bool("baddbmm", batch1)
    return _sum(input, product(batch1, batch2, rounded=False), beta, alpha)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    overlap=Reading.FIRST,
    samples=[Sample(shapes=((3,), (3, 4), (4,)))],
    autocast={"cuda": Autocast.LOWER},
)
def addmv(input: Array, mat: Array, vec: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * (mat @ vec)``."""
    if mat.ndim != 2 or vec.ndim != 1 or input.ndim > 1:
        raise RuntimeError(f"vector + matrix @ vector expected, got {input.ndim}, {mat.ndim}, {vec.ndim}")
    _check_mv(input.shape, mat.shape, vec.shape)
    _same_dtype(mat, vec)
    _same_as_input(input, vec)
    _no_bool("addmv_impl_cpu", mat)
    return _sum(input, product(mat, vec, rounded=False), beta, alpha)


# ---- outer products


def _common(*arrays: Array) -> list[Array]:
    """The arrays in their common dtype."""
    kind = dtypes.from_numpy_dtype(arrays[0].dtype)
    for array in arrays[1:]:
        kind = dtypes.promote_types(kind, dtypes.from_numpy_dtype(array.dtype))
    return [a.astype(kind.numpy) for a in arrays]


def _check_addr(input: Aval, vec1: Aval, vec2: Aval, beta: object, alpha: object) -> None:
    """Raises unless the shapes fit, and the factors are of the result's kind: bools for bools, ints for ints."""
    _check_vectors("addr", vec1, vec2)
    _check_fits(input.shape, vec1.shape + vec2.shape)
    category = max(tensor_meta(aval).dtype.category for aval in (input, vec1, vec2))
    for name, factor in (("beta", beta), ("alpha", alpha)):
        kind = factor.kind if isinstance(factor, DynamicNumber) else type(factor)
        if kind is bool and category != dtypes.BOOL:
            raise RuntimeError(f"Boolean {name} only supported for Boolean results.")
        if kind in (float, complex) and category < dtypes.FLOAT:
            raise RuntimeError(f"For integral input tensors, argument {name} must not be a floating point number.")


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.ELEMENTWISE,
    validation=Validation(out=cast_out, shapes=_check_addr),
    samples=[Sample(shapes=((3, 4), (3,), (4,)))],
    autocast={"cuda": Autocast.LOWER},
    overlap=Reading.SAME_PLACES,
)
def addr(input: Array, vec1: Array, vec2: Array, *, beta: Number = 1, alpha: Number = 1) -> Array:
    """``beta * input + alpha * outer(vec1, vec2)``."""
    input, vec1, vec2 = _common(input, vec1, vec2)
    if input.dtype == bool:
        return (input | (vec1[:, None] & vec2)) if beta else vec1[:, None] & vec2
    return _sum(input, vec1[:, None] * vec2, beta, alpha)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward="MulBackward0",
    samples=[Sample(shapes=((3,), (4,)))],
    overlap=Reading.SAME_PLACES,
    validation=Validation(out=cast_out),
)
def outer(input: Array, vec2: Array) -> Array:
    """Each element of one vector times each of the other: (n) by (m) gives (n, m).

    >>> torch.outer(torch.tensor([1, 2]), torch.tensor([3, 4]))
    tensor([[3, 4],
            [6, 8]])
    """
    _check_vectors("outer", input, vec2)
    a, b = _common(input, vec2)
    return jnp.multiply(a[:, None], b)


ger = alias("ger", outer)


@composite(
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    validation=Validation(
        out=words(
            "tensordot: Expected the output tensor to have dtype {result}, but got an output tensor with dtype {out}"
        )
    ),
)
def inner(input: Tensor, other: Tensor) -> Tensor:
    """Sums of products along the last dimension of both; plain multiplication where one is a number."""
    return inner_of_vectors(input, other) if input.dim() and other.dim() else mul(input, other)


@op(
    name="_inner",
    autocast={
        "cpu": lambda input, other: Autocast.LOWER if max(input.dim(), other.dim()) > 1 else None,
        "cuda": Autocast.PROMOTE,
    },
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="ViewBackward0",
    samples=[Sample(shapes=((2, 3), (4, 3))), Sample(shapes=((3,), (3,)))],
)
def inner_of_vectors(input: Array, other: Array) -> Array:
    """Sums of products along the last dimension of both."""
    if input.shape[-1] != other.shape[-1]:
        raise RuntimeError(
            f"inner() the last dimension must match on both input tensors but got shapes {list(input.shape)} and {list(other.shape)}"
        )
    _same_dtype(input, other)
    _no_bool("dot", input)
    return contract(input, other, ((input.ndim - 1,), (other.ndim - 1,)))


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.METHOD | Form.OUT,
    backward="UnsafeViewBackward0",
    samples=[Sample(shapes=((2, 3), (4, 5))), Sample(shapes=((3,), (2, 2)))],
    overlap=Reading.SAME_PLACES,
    validation=Validation(out=cast_out),
)
def kron(input: Array, other: Array) -> Array:
    """The Kronecker product: each element of the first times the whole of the second."""
    a, b = _common(input, other)
    rank = max(a.ndim, b.ndim)
    a = a.reshape((1,) * (rank - a.ndim) + a.shape)
    b = b.reshape((1,) * (rank - b.ndim) + b.shape)
    spread = [d for n in a.shape for d in (n, 1)], [d for n in b.shape for d in (1, n)]
    out = jnp.multiply(a.reshape(spread[0]), b.reshape(spread[1]))
    return out.reshape([n * m for n, m in zip(a.shape, b.shape, strict=True)])
