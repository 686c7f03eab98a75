"""Refuses to write into memory that the operation reads as well, as PyTorch does."""

from __future__ import annotations

from collections.abc import Sequence

from .._core.fields import storage_of
from .._core.sparse import SparseAval
from .._core.tensor import Tensor
from .opdef import INDICES, Composite, Op, Reading

__all__ = ["Reading", "reading", "reading_in_place", "refuse_overlap", "refuse_overlap_with_out"]


def reading(declared: Op | Composite) -> Reading:
    """The rule for an operation. If none is declared, PyTorch checks the operations that work element by element, and those that
    write to the places that an index names.
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


def reading_in_place(declared: Op | Composite) -> Reading:
    """The rule for the inputs of the in-place form besides the first one, which is what it writes to."""
    rule = reading(declared)
    return {Reading.FIRST: Reading.ANYWHERE, Reading.OTHERS_ELSEWHERE: Reading.ELSEWHERE}.get(rule, rule)


def refuse_overlap_with_out(rule: Reading, out: object, inputs: Sequence[object]) -> None:
    """As ``refuse_overlap``, for ``out=``: here the first input is only read, while an in-place form writes to it.

    It is a function of its own because in-place forms are called too often to make this distinction at each call.
    """
    if rule is Reading.FIRST or rule is Reading.OTHERS_ELSEWHERE:
        refuse_overlap(Reading.SAME_PLACES, out, inputs[:1])
        rule, inputs = (Reading.ELSEWHERE, inputs[1:]) if rule is Reading.OTHERS_ELSEWHERE else (Reading.ANYWHERE, ())
    refuse_overlap(rule, out, inputs)


def refuse_overlap(rule: Reading, target: object, inputs: Sequence[object], joined: bool = False) -> None:
    """Checks the inputs of an operation that is about to write to a tensor, or to each of several.

    Args:
        joined: the inputs are tensors of a list. There one without dimensions is a part of the result and not a number.

    Raises:
        RuntimeError: an input shares memory with ``target``, otherwise than the rule allows.
    """
    if isinstance(target, (list, tuple)):
        for tensor in target:
            refuse_overlap(rule, tensor, inputs)
    if not isinstance(target, Tensor):
        return
    for read in inputs:
        if isinstance(read, (list, tuple)):
            refuse_overlap(rule, target, read, joined=True)
        elif (
            isinstance(read, Tensor)
            and storage_of(read) is storage_of(target)
            and (read is not target or rule is Reading.ELSEWHERE)
            and (joined or read.dim() or rule is not Reading.ELSEWHERE)
            and _overlaps(target, read, rule)
        ):
            raise RuntimeError(
                "unsupported operation: some elements of the input tensor and the written-to tensor refer to a single memory "
                "location. Please clone() the tensor before performing the operation."
            )


def _overlaps(target: Tensor, read: Tensor, rule: Reading) -> bool:
    """Whether two tensors of one storage share elements; False as well where that is hard to say: PyTorch lets these pass."""
    if target._aval.__class__ is SparseAval:  # its elements have no places
        return False
    a, b = target._geometry, read._geometry
    if not (a.size and b.size and a.dense and b.dense) or target.dtype.itemsize != read.dtype.itemsize:
        return False
    if a.offset == b.offset and a.size == b.size and a.strides == b.strides:
        return rule is Reading.ELSEWHERE
    return a.offset < b.offset + b.size and b.offset < a.offset + a.size
