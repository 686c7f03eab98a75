"""Symmetric matrices that need not be positive-definite: Bunch and Kaufman's LDL factorisation, computed on the host by LAPACK."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._core.modes import carries
from ..._core.tensor import Tensor, from_host
from ...dispatch import return_types
from ...dispatch.pullback import no_tangent
from ...dispatch.register import Form, composite
from ._matrices import LinAlgError

if TYPE_CHECKING:
    from jax import Array


def _routine(name: str, hermitian: bool, array: np.ndarray) -> Any:
    from scipy.linalg import get_lapack_funcs  # here: an import of the package does not wait for it

    # LAPACK has two families for complex matrices: of Hermitian ones, and of symmetric ones.
    kind = "he" if hermitian and array.dtype.kind == "c" else "sy"
    return get_lapack_funcs((f"{kind}{name}",), (array,))[0]


def _check(name: str, A: Any, argument: str = "A") -> None:
    if A.dim() < 2:
        raise RuntimeError(f"{name}: The input tensor {argument} must have at least 2 dimensions.")
    if A.shape[-1] != A.shape[-2]:
        raise RuntimeError(
            f"{name}: {argument} must be batches of square matrices, but they are {A.shape[-2]} by {A.shape[-1]} matrices"
        )
    if not A.dtype.is_floating_point and not A.dtype.is_complex:
        raise RuntimeError(f"{name}: Expected a floating point or complex tensor as input. Got {A.dtype.scalar_name}")
    if A.dtype.itemsize < 4:
        raise NotImplementedError(f"\"ldl_factor_kernel_cpu\" not implemented for '{A.dtype.scalar_name}'")


def _refuse_gradient(name: str, *tensors: Any) -> None:
    if carries(*tensors):
        raise no_tangent(f"aten::{name.replace('.', '_')}")
    if any(t.requires_grad for t in tensors):
        raise NotImplementedError(f"{name} of tensors that require grad is not supported yet")


@composite(forms=Form.OUT)
def linalg_ldl_factor_ex(input: Tensor, *, hermitian: bool = False, check_errors: bool = False) -> tuple[Array, ...]:
    """``ldl_factor`` without an error: ``info`` is 0, or the number of the first zero on the diagonal of D."""
    _check("torch.linalg.ldl_factor_ex", input)
    _refuse_gradient("linalg.ldl_factor_ex", input)
    matrices = input._array()
    n = matrices.shape[-1]
    count = math.prod(matrices.shape[:-2])
    flat = matrices.reshape(count, n, n)
    factors, pivots = np.empty_like(flat), np.zeros(flat.shape[:2], np.int32)
    infos = np.zeros(flat.shape[:1], np.int32)
    for i, matrix in enumerate(flat):
        if not n:
            continue
        factor, order, info = _routine("trf", hermitian, matrix)(matrix, lower=1)
        factors[i], infos[i] = np.tril(factor), info
        pivots[i] = order
    if check_errors and infos.any():
        raise LinAlgError(
            f"torch.linalg.ldl_factor_ex: (Batch element {int(np.argmax(infos != 0))}): D is singular at {int(infos[infos != 0][0])}."
        )
    batch = matrices.shape[:-2]
    return return_types.linalg_ldl_factor_ex(
        from_host(factors.reshape(matrices.shape)),
        from_host(pivots.reshape(*batch, n)),
        from_host(infos.reshape(batch)),
    )


@composite(forms=Form.OUT)
def linalg_ldl_factor(input: Tensor, *, hermitian: bool = False) -> tuple[Array, ...]:
    """``L D L^T = A`` (with ``hermitian`` ``L D L^H``) in compact form, and the rows exchanged: D has blocks of one or two rows."""
    factors, pivots, _ = linalg_ldl_factor_ex(input, hermitian=hermitian, check_errors=True)
    return return_types.linalg_ldl_factor(factors, pivots)


@composite(forms=Form.OUT)
def linalg_ldl_solve(LD: Tensor, pivots: Tensor, B: Tensor, *, hermitian: bool = False) -> Tensor:
    """The X of ``A X = B`` from what ``ldl_factor`` gives for A."""
    _check("torch.linalg.ldl_solve", LD, "LD")
    _refuse_gradient("linalg.ldl_solve", LD, B)
    if B.dim() < 2:
        raise RuntimeError(
            f"torch.linalg.ldl_solve: Expected B to have at least 2 dimensions, but it has {B.dim()} dimensions instead"
        )
    factors, order, right = LD._array(), pivots._array(), B._array()
    n = factors.shape[-1]
    batch = np.broadcast_shapes(factors.shape[:-2], right.shape[:-2])
    count, columns = math.prod(batch), right.shape[-1]
    factors = np.broadcast_to(factors, (*batch, n, n)).reshape(count, n, n)
    order = np.broadcast_to(order, (*batch, n)).reshape(count, n)
    right = np.broadcast_to(right, (*batch, n, columns)).reshape(count, n, columns)
    solution = np.empty_like(right)
    for i in range(len(right)):
        if not right[i].size:
            continue
        solution[i] = _routine("trs", hermitian, factors[i])(factors[i], order[i], right[i], lower=1)[0]
    return from_host(solution.reshape(*batch, n, columns))
