"""The functions that the old and the new forms of weight and spectral normalisation share."""

from __future__ import annotations

from typing import Any

from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from .. import functional as F

__all__ = ["as_matrix", "iterate", "norm_except", "spectral_dim", "weight_of"]


def norm_except(v: Tensor, dim: int | None) -> Tensor:
    """Returns the norm over all dimensions except ``dim``, or over all for None or -1."""
    if dim is None or dim == -1:
        return v.norm(2)
    return v.norm(2, [d for d in range(v.dim()) if d != dim], keepdim=True) if v.dim() > 1 else v.abs()


def weight_of(g: object, v: Any, dim: int | None) -> Tensor:
    """``g v / |v|``."""
    return v * (g / norm_except(v, dim))


def as_matrix(weight: Any, dim: int) -> Tensor:
    """The weight with one dimension as rows and all others as columns."""
    if dim != 0:
        weight = weight.permute(dim, *(d for d in range(weight.dim()) if d != dim))
    return weight.reshape(weight.shape[0], -1)


def spectral_dim(module: object, dim: int | None) -> int:
    """``dim``; by default the dimension of a weight that has the outputs: the second one for transposed convolutions."""
    if dim is not None:
        return dim
    return 1 if type(module).__mro__ and any("ConvTranspose" in kind.__name__ for kind in type(module).__mro__) else 0


@no_grad()
def iterate(matrix: Tensor, u: Tensor, v: Tensor, times: int, eps: float, left_first: bool) -> None:
    """Power iteration: moves ``u`` and ``v`` towards the first singular vectors of a matrix, in place."""
    # The older function, which begins with the right one, takes the transposed matrix of a complex one too, as PyTorch's does.
    back = matrix.mH if left_first and matrix.is_complex() else matrix.t()
    for _ in range(times):
        for is_left in (left_first, not left_first):
            if is_left:
                u.copy_(F.normalize(matrix.mv(v), dim=0, eps=eps))
            else:
                v.copy_(F.normalize(back.mv(u), dim=0, eps=eps))
