"""Sequences of several lengths for recurrent layers: packed, or padded to one length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from ..._core import dtypes
from ..._core.tensor import Tensor, from_host
from ...ops.creation.from_data import as_tensor
from ...ops.nn.packing import pack_padded, pad_packed, pad_sequences

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence", "pad_sequence",
    "unpack_sequence", "unpad_sequence",
]  # fmt: skip


class PackedSequence_(NamedTuple):
    """The fields of a PackedSequence."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


class PackedSequence(PackedSequence_):
    """Sequences of several lengths, longest first, as rows without gaps: all first steps, then all second steps, and so on.

    Made by ``pack_padded_sequence`` or ``pack_sequence``.

    Attributes:
        data: (N, ...), the rows.
        batch_sizes: (T), how many sequences reach each step; on the CPU.
        sorted_indices, unsorted_indices: the order of the sequences here, and the way back; None if they came sorted.

    >>> torch.nn.utils.rnn.pack_sequence([torch.ones(2), torch.zeros(1)]).batch_sizes
    tensor([2, 1])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.PackedSequence.html
    """

    def __new__(
        cls,
        data: object,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> Self:
        if batch_sizes is None:
            if not isinstance(data, (list, tuple)) or len(data) != 2:
                raise AssertionError("Expected data to be a list or tuple of length 2")
            data, batch_sizes = data
        elif batch_sizes.device.type != "cpu":
            raise ValueError(
                "batch_sizes should always be on CPU. Instances of PackedSequence should never be created manually. They should be "
                "instantiated by functions like pack_sequence and pack_padded_sequences in nn.utils.rnn. "
                "https://pytorch.org/docs/stable/nn.html#torch.nn.utils.rnn.pack_sequence"
            )
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def to(self, *args: object, **kwargs: object) -> PackedSequence:
        """The sequences with ``Tensor.to`` applied to the data; ``self`` if that changes nothing."""
        data = self.data.to(*args, **kwargs)
        if data is self.data:
            return self
        indices = (None if i is None else i.to(data.device) for i in self[2:])
        return type(self)(data, self.batch_sizes, *indices)

    def cuda(self, *args: object, **kwargs: object) -> PackedSequence:
        """The sequences on the accelerator."""
        return self.to(*args, **kwargs) if args or "device" in kwargs else self.to(device="cuda", **kwargs)

    def cpu(self, *args: object, **kwargs: object) -> PackedSequence:
        """The sequences on the CPU."""
        return self.to("cpu", *args, **kwargs)

    def pin_memory(self) -> PackedSequence:
        """The sequences with their data in pinned memory."""
        indices = (None if i is None else i.pin_memory() for i in self[2:])
        return type(self)(self.data.pin_memory(), self.batch_sizes, *indices)

    def double(self) -> PackedSequence:
        """The sequences with float64 data."""
        return self.to(dtype=dtypes.float64)

    def float(self) -> PackedSequence:
        """The sequences with float32 data."""
        return self.to(dtype=dtypes.float32)

    def half(self) -> PackedSequence:
        """The sequences with float16 data."""
        return self.to(dtype=dtypes.float16)

    def long(self) -> PackedSequence:
        """The sequences with int64 data."""
        return self.to(dtype=dtypes.int64)

    def int(self) -> PackedSequence:
        """The sequences with int32 data."""
        return self.to(dtype=dtypes.int32)

    def short(self) -> PackedSequence:
        """The sequences with int16 data."""
        return self.to(dtype=dtypes.int16)

    def char(self) -> PackedSequence:
        """The sequences with int8 data."""
        return self.to(dtype=dtypes.int8)

    def byte(self) -> PackedSequence:
        """The sequences with uint8 data."""
        return self.to(dtype=dtypes.uint8)

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self.data.is_cuda

    def is_pinned(self) -> bool:
        """Whether the data is in pinned memory."""
        return self.data.is_pinned()


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one."""
    if permutation is None:
        return None
    return from_host(np.argsort(permutation._array())).to(permutation.device)  # pyright: ignore[reportAttributeAccessIssue]


def pack_padded_sequence(
    input: Tensor, lengths: Sequence[int], batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Packs padded sequences.

    Args:
        input: (T, B, ...), or (B, T, ...) if ``batch_first``.
        lengths: the lengths of the B sequences: a list, or a tensor on the CPU.
        enforce_sorted: the lengths decrease. If False, the sequences are sorted here.

    Raises:
        RuntimeError: lengths that are not positive, not decreasing where they must be, or not one for each sequence.

    >>> x = torch.tensor([[1, 2], [3, 0]])
    >>> torch.nn.utils.rnn.pack_padded_sequence(x, [2, 1], batch_first=True).data
    tensor([1, 3, 2])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pack_padded_sequence.html
    """
    counts = as_tensor(lengths)._array().astype(np.int64)
    order = None
    if not enforce_sorted:
        order = np.argsort(-counts, kind="stable")
        counts = counts[order]
    if isinstance(input, Tensor):
        input = input.transpose(0, 1) if batch_first else input  # pyright: ignore[reportAttributeAccessIssue]
    sorted_indices: Any = None
    if order is not None:
        sorted_indices = from_host(order).to(input.device)  # pyright: ignore[reportAttributeAccessIssue]
        input = input.index_select(1, sorted_indices)
    data, sizes = pack_padded(input, counts)
    return PackedSequence(data, sizes, sorted_indices, None)


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """The padded sequences (T, B, ...), and their lengths.

    Args:
        batch_first: (B, T, ...) instead.
        padding_value: the value of the padding.
        total_length: T. Default: the length of the longest.

    >>> packed = torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])])
    >>> torch.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2],
            [3, 0]]), tensor([2, 1]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_packed_sequence.html
    """
    sizes = sequence.batch_sizes._array()
    if total_length is not None and total_length < len(sizes):
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, but got "
            f"total_length={total_length} and max sequence length being {len(sizes)}"
        )
    padded: Any
    padded, lengths = pad_packed(sequence.data, sizes, padding_value, total_length)
    padded = padded.transpose(0, 1) if batch_first else padded
    back = sequence.unsorted_indices
    if back is not None:
        padded = padded.index_select(0 if batch_first else 1, back)
        lengths = lengths[back._array()]
    return padded, from_host(lengths)


def pad_sequence(
    sequences: object, batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (L, ...) stacked to (T, B, ...), each padded to the longest.

    Args:
        batch_first: (B, T, ...) instead.
        padding_value: the value of the padding.
        padding_side: "right" or "left".

    >>> torch.nn.utils.rnn.pad_sequence([torch.tensor([1, 2]), torch.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.rnn.pad_sequence.html
    """
    if not isinstance(sequences, Iterable):
        raise RuntimeError(
            f"pad_sequence: Expected iterable for input sequences, but got arg of type: {type(sequences)}"
        )
    tensors: list[Any] = list(sequences.unbind(0) if isinstance(sequences, Tensor) else sequences)  # pyright: ignore[reportAttributeAccessIssue]
    if not tensors:
        raise RuntimeError("received an empty list of sequences")
    if padding_side not in ("left", "right"):
        raise RuntimeError(f"Expected padding_side to be one of left or right, but got {padding_side}.")
    return pad_sequences(tensors, batch_first, padding_value, padding_side == "left")


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """The sequences without their padding: the inverse of ``pad_sequence``."""
    rows = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    return [row[:length] for row, length in zip(rows, lengths.tolist(), strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (L, ...); arguments as ``pack_padded_sequence``.

    >>> torch.nn.utils.rnn.pack_sequence([torch.tensor([1, 2]), torch.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [s.size(0) for s in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a PackedSequence, in the order in which they were packed."""
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)
