"""Distances between two batches of vectors."""

from __future__ import annotations

from ..._core.tensor import Tensor
from .. import functional as F
from .module import Module

__all__ = ["CosineSimilarity", "PairwiseDistance"]


class PairwiseDistance(Module):
    """``norm(x1 - x2 + eps, p)`` along the last dimension.

    Args:
        keepdim: whether that dimension stays, with size 1.

    Shapes: (N, D) or (D), twice, give (N) or ().

    >>> torch.nn.PairwiseDistance()(torch.tensor([[3.0, 4.0]]), torch.zeros(1, 2))
    tensor([5.0000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.PairwiseDistance.html
    """

    def __init__(self, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> None:
        super().__init__()
        self.norm = p
        self.eps = eps
        self.keepdim = keepdim

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.pairwise_distance(x1, x2, self.norm, self.eps, self.keepdim)


class CosineSimilarity(Module):
    """``x1 · x2 / (max(norm(x1), eps) max(norm(x2), eps))`` along a dimension.

    >>> torch.nn.CosineSimilarity()(torch.tensor([[1.0, 0.0]]), torch.tensor([[2.0, 0.0]]))
    tensor([1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CosineSimilarity.html
    """

    def __init__(self, dim: int = 1, eps: float = 1e-8) -> None:
        super().__init__()
        self.dim = dim
        self.eps = eps

    def forward(self, x1: Tensor, x2: Tensor) -> Tensor:
        return F.cosine_similarity(x1, x2, self.dim, self.eps)
