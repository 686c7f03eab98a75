"""Functions that PyTorch has removed. Each raises an error that names its replacement."""

from __future__ import annotations

from typing import NoReturn

__all__ = ["eig", "lstsq", "matrix_rank", "solve", "symeig"]

_REMOVED = "This function was deprecated since version 1.9 and is now removed."


def eig(self: object, eigenvectors: bool = False, *, e: object = None, v: object = None) -> NoReturn:
    """Removed: ``torch.linalg.eig``."""
    raise RuntimeError(
        f"{_REMOVED} `torch.linalg.eig` returns complex tensors of dtype `cfloat` or `cdouble`: use it, or `torch.linalg.eigvals` "
        "for the eigenvalues alone."
    )


def symeig(input: object, eigenvectors: bool = False, upper: bool = True, *, out: object = None) -> NoReturn:
    """Removed: ``torch.linalg.eigh``."""
    raise RuntimeError(
        f"{_REMOVED} Use `torch.linalg.eigh(A, UPLO='U' if upper else 'L')`, or `torch.linalg.eigvalsh` for the eigenvalues alone. By "
        "default these read the lower triangle; torch.symeig read the upper one."
    )


def lstsq(input: object, A: object, *, out: object = None) -> NoReturn:
    """Removed: ``torch.linalg.lstsq``."""
    raise RuntimeError(
        f"{_REMOVED} Use `torch.linalg.lstsq(A, input).solution`: its arguments come in the other order, and it does not return the QR "
        "decomposition, which `torch.linalg.qr` computes."
    )


def matrix_rank(input: object, tol: object = None, symmetric: bool = False, *, out: object = None) -> NoReturn:
    """Removed: ``torch.linalg.matrix_rank``."""
    raise RuntimeError(
        f"{_REMOVED}\nPlease use the `torch.linalg.matrix_rank` function instead. The parameter 'symmetric' was renamed in "
        "`torch.linalg.matrix_rank()` to 'hermitian'."
    )


def solve(input: object, A: object, *, out: object = None) -> NoReturn:
    """Removed: ``torch.linalg.solve``."""
    raise RuntimeError(
        f"{_REMOVED} Use `torch.linalg.solve(A, input)`: its arguments come in the other order, and it does not return the LU "
        "factorization, which `torch.lu` computes."
    )
