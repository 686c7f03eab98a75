"""Sequences of several lengths: padded to one length, or packed as rows without gaps."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.tensor import Tensor, from_host, records
from ...dispatch.register import Category, Form, Indices, Promote, Saves, op
from ...numerics.picking import picked


@op(
    name="_pack_rows",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="PackPaddedSequenceBackward0",
    saves=Saves.NOTHING,
    samples=[],
)
def pack_rows(input: Array, steps: Indices, sequences: Indices) -> Array:
    """The rows (steps[i], sequences[i]) of (T, B, ...)."""
    return picked(input, (steps, sequences))


@op(
    name="_spread_rows",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="CopySlices",
    saves=Saves.NOTHING,
    keep_scalar=("padding",),
    samples=[],
)
def spread_rows(data: Array, rows: Indices, valid: Indices, padding: object) -> Array:
    """The rows of (N, ...) put where ``rows`` (T, B) says, and a number where ``valid`` is False."""
    spread = picked(data, (rows,))
    mask = valid.reshape(valid.shape + (1,) * (spread.ndim - 2))
    return jnp.where(mask, spread, jnp.asarray(padding, data.dtype))


def pack_padded(input: Tensor, lengths: np.ndarray) -> tuple[Tensor, Tensor]:
    """The rows of (T, B, ...) step by step, each sequence as far as it reaches; and how many reach each step.

    Args:
        lengths: of the sequences, in decreasing order.
    """
    if not isinstance(input, Tensor):
        kind = type(input).__name__
        raise TypeError(f"_pack_padded_sequence(): argument 'input' (position 1) must be Tensor, not {kind}")
    if not input.numel():
        raise RuntimeError("Cannot pack empty tensors.")
    if lengths.ndim != 1:
        raise RuntimeError(
            f"'lengths' argument should be a 1D CPU int64 tensor, but got {lengths.ndim}D cpu Long tensor"
        )
    if len(lengths) != input.shape[1]:
        raise RuntimeError(
            f"Expected `len(lengths)` to be equal to batch_size, but got {len(lengths)} (batch_size={input.shape[1]})"
        )
    if (lengths <= 0).any():
        raise RuntimeError(
            "Length of all samples has to be greater than 0, but found an element in 'lengths' that is <= 0"
        )
    if (np.diff(lengths) > 0).any():
        raise RuntimeError(
            "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. You can pass `enforce_sorted=False` "
            "to pack_padded_sequence and/or pack_sequence to sidestep this requirement if you do not need ONNX exportability."
        )
    if lengths[0] > input.shape[0]:
        raise RuntimeError(f"a length of {lengths[0]} is more than the {input.shape[0]} steps of the input")
    steps, sequences = np.nonzero(np.arange(lengths[0])[:, None] < lengths)
    sizes = from_host(np.bincount(steps))
    if _on_host(input):
        return from_host(input._array()[steps, sequences]), sizes
    return pack_rows(input, from_host(steps), from_host(sequences)), sizes


def pad_packed(data: Tensor, batch_sizes: np.ndarray, padding: float, total: int | None) -> tuple[Tensor, np.ndarray]:
    """The inverse of ``pack_padded``: (T, B, ...), and the lengths.

    Args:
        total: T, where it is more than the longest sequence.
    """
    longest = len(batch_sizes)
    total = longest if total is None else total
    sizes = np.concatenate([batch_sizes, np.zeros(total - longest, batch_sizes.dtype)])
    valid = np.arange(sizes[0]) < sizes[:, None]
    # Row ``i`` of a step lies ``i`` behind the rows of all steps before. Where a sequence has ended, row 0 is read and then
    # replaced by the padding.
    rows = np.where(valid, (np.cumsum(sizes) - sizes)[:, None] + np.arange(sizes[0]), 0)
    padded = spread_rows(data, from_host(rows), from_host(valid), padding)
    return padded, valid.sum(0)


@op(
    name="_pad_rows",
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    backward="CopySlices",
    saves=Saves.NOTHING,
    samples=[],
)
def pad_rows(sequences: list[Array], batch_first: bool, padding: float, left: bool) -> Array:
    """Sequences (L, ...) as one array, each filled up to the longest."""
    first, longest = sequences[0], max(s.shape[0] for s in sequences)
    rows = []
    for sequence in sequences:
        row = jnp.broadcast_to(sequence, (sequence.shape[0], *first.shape[1:])).astype(first.dtype)
        gap = longest - sequence.shape[0]
        widths = [(gap, 0) if left else (0, gap)] + [(0, 0)] * (row.ndim - 1)
        rows.append(jnp.pad(row, widths, constant_values=jnp.asarray(padding, first.dtype)))
    return jnp.stack(rows, 0 if batch_first else 1)


def pad_sequences(sequences: list[Tensor], batch_first: bool, padding: float, left: bool) -> Tensor:
    """``pad_rows``; at once and without compiling anything where the data lies on the host, as in a loader's collation."""
    if not all(_on_host(s) for s in sequences):
        return pad_rows(sequences, batch_first, padding, left)
    arrays = [s._array() for s in sequences]
    shape = (len(arrays), max(len(a) for a in arrays), *arrays[0].shape[1:])
    out = np.full(shape, dtypes.from_numpy_dtype(arrays[0].dtype).numpy.type(padding), arrays[0].dtype)
    for row, array in zip(out, arrays, strict=True):
        row[shape[1] - len(array) if left else 0 :][: len(array)] = array
    return from_host(out if batch_first else np.ascontiguousarray(out.swapaxes(0, 1)))


def _on_host(tensor: Tensor) -> bool:
    """Whether nothing is lost by computing with NumPy: the data is there, and no gradient is asked for."""
    value = tensor._value()
    return value.array.__class__ is np.ndarray and not records(tensor)
