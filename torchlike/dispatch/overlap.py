"""Refuses to write into memory that the operation reads as well, as PyTorch does."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from .._core.tensor import Tensor
from .opdef import INDICES, Composite, Op

__all__ = ["Reading", "reading", "refuse_overlap"]


class Reading(Enum):
    """What PyTorch says of inputs in the memory that an operation writes to."""

    ANYWHERE = 0  # it does not look
    SAME_PLACES = 1  # an input may be the very elements that are written, but not others among them
    ELSEWHERE = 2  # no input may share an element


def reading(declared: Op | Composite) -> Reading:
    """The rule for an operation: those that go element by element, and those that write to places of a given index, look."""
    if isinstance(declared, Composite):
        return Reading.ANYWHERE
    if any(
        role == INDICES and name != "mask" for role, name in zip(declared.roles, declared.parameters.names, strict=True)
    ):
        return Reading.ELSEWHERE
    promote = declared.dtype_rule.promote
    return Reading.SAME_PLACES if callable(promote) or promote.elementwise else Reading.ANYWHERE


def refuse_overlap(rule: Reading, written: Tensor, inputs: Iterable[object]) -> None:
    """Looks at the inputs of an operation that is about to write.

    Raises:
        RuntimeError: an input shares memory with ``written``, otherwise than the rule allows.
    """
    for read in inputs:
        if (
            isinstance(read, Tensor)
            and read._storage is written._storage
            and (read is not written or rule is Reading.ELSEWHERE)
            and _overlaps(written, read, rule)
        ):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _overlaps(written: Tensor, read: Tensor, rule: Reading) -> bool:
    """Whether two tensors of one storage share elements; False as well where that is hard to say: PyTorch lets these pass."""
    a, b = written._geometry, read._geometry
    if rule is Reading.ELSEWHERE and not read.dim():  # a number
        return False
    if not (a.size and b.size and a.dense and b.dense) or written.dtype.itemsize != read.dtype.itemsize:
        return False
    if a.offset == b.offset and a.size == b.size and a.strides == b.strides:
        return rule is Reading.ELSEWHERE
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size
