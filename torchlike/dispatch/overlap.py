"""Refuses to write into memory that the operation reads as well, as PyTorch does."""

from __future__ import annotations

from collections.abc import Iterable

from .._core.sparse import SparseAval
from .._core.tensor import Tensor
from .opdef import INDICES, Composite, Op, Reading

__all__ = ["Reading", "reading", "refuse_overlap"]


def reading(declared: Op | Composite) -> Reading:
    """The rule for an operation. Unless it is declared, those that go element by element, and those that write to places of a
    given index, look.
    """
    if declared.overlap is not None:
        return declared.overlap
    if isinstance(declared, Composite):
        return Reading.ANYWHERE
    if any(
        role == INDICES and name != "mask" for role, name in zip(declared.roles, declared.parameters.names, strict=True)
    ):
        return Reading.ELSEWHERE
    promote = declared.dtype_rule.promote
    return Reading.SAME_PLACES if callable(promote) or promote.elementwise else Reading.ANYWHERE


def refuse_overlap(rule: Reading, written: object, inputs: Iterable[object]) -> None:
    """Looks at the inputs of an operation that is about to write to a tensor, or to each of several.

    Raises:
        RuntimeError: an input shares memory with ``written``, otherwise than the rule allows.
    """
    if isinstance(written, (list, tuple)):
        for each in written:
            refuse_overlap(rule, each, inputs)
    if not isinstance(written, Tensor):
        return
    for read in inputs:
        if isinstance(read, (list, tuple)):
            refuse_overlap(rule, written, read)
        elif (
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
    if written._aval.__class__ is SparseAval:  # its elements have no places
        return False
    a, b = written._geometry, read._geometry
    if rule is Reading.ELSEWHERE and not read.dim():  # a number
        return False
    if not (a.size and b.size and a.dense and b.dense) or written.dtype.itemsize != read.dtype.itemsize:
        return False
    if a.offset == b.offset and a.size == b.size and a.strides == b.strides:
        return rule is Reading.ELSEWHERE
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size
