"""How a tensor's elements lie in memory: layouts, and memory formats, the orders in which PyTorch keeps a batch of images."""

from __future__ import annotations

__all__ = [
    "channels_last", "channels_last_3d", "contiguous_format", "jagged", "layout", "memory_format", "per_channel_affine",
    "per_channel_affine_float_qparams", "per_channel_symmetric", "per_tensor_affine", "per_tensor_symmetric", "preserve_format",
    "qscheme", "sparse_bsc", "sparse_bsr", "sparse_coo", "sparse_csc", "sparse_csr", "strided",
]  # fmt: skip


class _NamedConstant:
    """A constant of ``torch`` that is printed, copied and pickled by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return f"torch.{self.name}"

    def __reduce__(self) -> str:
        return self.name


class layout(_NamedConstant):
    """A way to lay out elements, printed as PyTorch prints it.

    >>> torch.strided
    torch.strided
    """

    __slots__ = ()
    __module__ = "torchlike"


strided = layout("strided")
sparse_coo = layout("sparse_coo")
sparse_csr = layout("sparse_csr")
sparse_csc = layout("sparse_csc")
sparse_bsr = layout("sparse_bsr")
sparse_bsc = layout("sparse_bsc")
jagged = layout("jagged")


class memory_format(_NamedConstant):
    """How a tensor's dimensions follow each other in memory.

    ``order``: for the formats of one rank, the dimensions from the one that varies slowest to the one that varies fastest.
    """

    __slots__ = ("order",)

    def __init__(self, name: str, order: tuple[int, ...] | None = None) -> None:
        super().__init__(name)
        self.order = order

    def order_of(self, rank: int) -> tuple[int, ...]:
        """The order for a tensor of so many dimensions; RuntimeError if the format is one of another rank."""
        assert self.order is not None
        if rank != len(self.order):
            raise RuntimeError(f"required rank {len(self.order)} tensor to use {self.name} format")
        return self.order


contiguous_format = memory_format("contiguous_format")
preserve_format = memory_format("preserve_format")
channels_last = memory_format("channels_last", (0, 2, 3, 1))
channels_last_3d = memory_format("channels_last_3d", (0, 2, 3, 4, 1))


class qscheme(_NamedConstant):
    """How integers stand for the values of a quantized tensor."""

    __slots__ = ()


per_tensor_affine = qscheme("per_tensor_affine")
per_channel_affine = qscheme("per_channel_affine")
per_tensor_symmetric = qscheme("per_tensor_symmetric")
per_channel_symmetric = qscheme("per_channel_symmetric")
per_channel_affine_float_qparams = qscheme("per_channel_affine_float_qparams")
