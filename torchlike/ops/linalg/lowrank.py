"""Singular value decompositions of low rank, by random projection; a few eigenvalues of large symmetric matrices."""

from __future__ import annotations

from ..._core.layouts import strided
from ..._core.tensor import Tensor
from ...dispatch.register import Form, composite
from ..creation.random import randn
from .factorisations import linalg_cholesky, linalg_eigh, linalg_qr, linalg_svd
from .solving import linalg_solve_triangular


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


@composite(forms=Form.FUNCTION)
def lobpcg(
    A: Tensor, k: int | None = None, B: Tensor | None = None, X: Tensor | None = None, n: int | None = None, iK: Tensor | None = None,
    niter: int | None = None, tol: float | None = None, largest: bool | None = None, method: str | None = None, tracker: object = None,
    ortho_iparams: object = None, ortho_fparams: object = None, ortho_bparams: object = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The ``k`` largest or smallest eigenvalues of a symmetric matrix, and their eigenvectors: ``A v = e B v``.

    PyTorch approaches them by iteration. Here they are those of a full decomposition, so that ``X``, ``n``, ``iK``, ``niter``, ``tol``,
    ``method`` and the parameters of its orthogonalisation change nothing.

    Args:
        A: (..., m, m), dense or sparse.
        k: how many; default: as many as ``X`` has columns, or one.
        B: a positive definite matrix of the same size; default: the identity.
        largest: the largest ones (the default), from the largest on, or the smallest ones, from the smallest on.

    >>> torch.lobpcg(torch.diag(torch.tensor([1.0, 2.0, 3.0, 4.0])), k=1)[0]
    tensor([4.])

    Raises:
        ValueError: ``A`` has less than three times as many rows as eigenvalues are asked for.
        NotImplementedError: a ``tracker``, which would be called in each iteration.
    """
    if tracker is not None:
        raise NotImplementedError("torchlike does not support lobpcg(tracker=...): it does not iterate")
    if A.shape[-2] != A.shape[-1]:
        raise AssertionError(tuple(A.shape))
    rows = A.shape[-1]
    columns = (1 if X is None else X.shape[-1]) if k is None else k
    start = columns if n is None and X is None else X.shape[-1] if X is not None else n
    if start is not None and rows < 3 * start:
        raise ValueError(
            f"LOBPCG algorithm is not applicable when the number of A rows (={rows}) is smaller than 3 x the number of requested "
            f"eigenpairs (={start})"
        )
    dense = A.to_dense() if A.layout is not strided else A  # pyright: ignore[reportAttributeAccessIssue]
    dense = (dense + dense.mH) / 2  # the decomposition reads one triangle alone, and the derivative is that of both
    if B is None:
        values, vectors = linalg_eigh(dense)
    else:
        L = linalg_cholesky(B.to_dense() if B.layout is not strided else B)  # pyright: ignore[reportAttributeAccessIssue]
        # With ``B = L L^H`` the equation is an ordinary one for ``L^-1 A L^-H``, whose vectors are ``L^H v``.
        half = linalg_solve_triangular(L, dense, upper=False)
        values, vectors = linalg_eigh(linalg_solve_triangular(L, half.mH, upper=False))
        vectors = linalg_solve_triangular(L.mH, vectors, upper=True)
    if largest is False:
        return values[..., :columns], vectors[..., :columns]
    return values.flip(-1)[..., :columns], vectors.flip(-1)[..., :columns]
