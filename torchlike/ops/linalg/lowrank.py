"""Singular value decompositions of low rank, by random projection."""

from __future__ import annotations

from ..._core.tensor import Tensor
from ...dispatch.register import Form, composite
from ..creation.random import randn
from .factorisations import linalg_qr, linalg_svd


def _basis(A: Tensor, q: int, niter: int) -> Tensor:
    """Orthonormal columns that come close to the range of ``A``: subspace iteration from a random start."""
    start = randn(A.shape[-1], q, dtype=A.dtype, device=A.device)
    Q = linalg_qr(A.matmul(start)).Q
    for _ in range(niter):
        Q = linalg_qr(A.mH.matmul(Q)).Q
        Q = linalg_qr(A.matmul(Q)).Q
    return Q


@composite(forms=Form.FUNCTION)
def svd_lowrank(
    A: Tensor, q: int | None = 6, niter: int | None = 2, M: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """``(U, S, V)`` with ``A - M`` close to ``U @ diag(S) @ V.mH``, of rank ``q`` at most.

    Args:
        A: (..., m, n).
        q: how many columns the random projection has: a little more than the rank that is wanted.
        niter: subspace iterations; each makes the approximation better.
        M: what is taken off ``A`` first, such as its mean; broadcast.

    >>> U, S, V = torch.svd_lowrank(torch.ones(4, 3), q=2)
    >>> U.shape, S.shape, V.shape
    (torch.Size([4, 2]), torch.Size([2]), torch.Size([3, 2]))

    Source: Halko, Martinsson, Tropp, "Finding structure with randomness" (2009), algorithms 4.4 and 5.1.
    """
    B = A if M is None else A - M.expand(A.shape)
    *_, m, n = B.shape
    if is_wide := m < n:  # the smaller factor is the one that is decomposed exactly
        B = B.mH
    Q = _basis(B, 6 if q is None else q, 2 if niter is None else niter)
    U, S, Vh = linalg_svd(Q.mH.matmul(B), full_matrices=False)
    U, V = Q.matmul(U), Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


@composite(forms=Form.FUNCTION)
def pca_lowrank(A: Tensor, q: int | None = None, center: bool = True, niter: int = 2) -> tuple[Tensor, Tensor, Tensor]:
    """Principal components: ``svd_lowrank`` of ``A`` without the mean of its columns.

    Args:
        A: (..., m, n): m observations of n variables.
        q: as for ``svd_lowrank``; None means 6, or less if there are not so many.
        center: whether the mean is taken off.

    >>> torch.pca_lowrank(torch.tensor([[1.0, 1.0], [3.0, 3.0]]), q=1)[1]
    tensor([2.])

    Raises:
        ValueError: ``q`` or ``niter`` is negative, or ``q`` greater than m or n.
    """
    smaller = min(A.shape[-2:])
    if q is None:
        q = min(6, smaller)
    elif not 0 <= q <= smaller:
        raise ValueError(f"q(={q}) must be non-negative integer and not greater than min(m, n)={smaller}")
    if niter < 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    return svd_lowrank(A, q, niter, A.mean(-2, keepdim=True) if center else None)  # pyright: ignore[reportAttributeAccessIssue]
