"""Layouts: how a tensor's elements lie in memory. torchlike has strided tensors; the other names are there to be refused."""

from __future__ import annotations

__all__ = ["jagged", "layout", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided"]


class layout:
    """A way to lay out elements, printed as PyTorch prints it.

    >>> torch.strided
    torch.strided
    """

    __slots__ = ("name",)
    __module__ = "torchlike"

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")
