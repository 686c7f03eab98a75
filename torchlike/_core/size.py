"""Size: the shape of a tensor, a tuple that prints as PyTorch's; numbers of dimensions; and what else tensors of one aval share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from . import devices, dtypes

if TYPE_CHECKING:
    from ..engine.aval import Aval

__all__ = ["Size", "TensorMeta", "pick", "tensor_meta", "wrap_dim", "SymInt"]


class Size(tuple):
    """The shape of a tensor: a tuple of ints with ``numel``.

    >>> torch.zeros(2, 3).shape, torch.Size([2, 3]).numel()
    (torch.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Any = ()) -> Size:
        sizes = tuple(sizes)
        for size in sizes:
            if size.__class__ is not int:
                sizes = _as_ints(sizes)
                break
        return tuple.__new__(cls, sizes)

    def numel(self) -> int:
        return math.prod(self)

    def __repr__(self) -> str:
        return f"torch.Size([{', '.join(map(str, self))}])"

    def __getitem__(self, index: Any) -> Any:
        items = tuple.__getitem__(self, index)
        return tuple.__new__(Size, items) if index.__class__ is slice else items

    def __add__(self, other: Any) -> Size:
        return Size(tuple.__add__(self, other))

    def __radd__(self, other: object) -> Size:
        # ``sizes += tensor.shape`` must extend a list as Python does.
        return Size((*other, *self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: Any) -> Size:
        return Size(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __reduce__(self) -> tuple[type, tuple[tuple[object, ...], ...]]:
        return Size, (tuple(self),)


def _as_ints(sizes: tuple[Any, ...]) -> tuple[int, ...]:
    """Sizes that may be numbers of other kinds, all of them as ints if the first that is no int can be one."""
    for position, size in enumerate(sizes):
        if not isinstance(size, int):
            if hasattr(size, "__index__"):
                return _as_ints(tuple([each.__index__() for each in sizes]))
            raise TypeError(f"torch.Size() takes an iterable of 'int' (item {position} is '{size.__class__.__name__}')")
    return sizes


def pick(name: str, entries: tuple[int, ...], dim: int) -> int:
    """The entry of one dimension, for the method of this name."""
    if dim.__class__ is bool or not hasattr(dim, "__index__"):
        kind = type(dim).__name__
        kind = f"numpy.{kind}" if type(dim).__module__ == "numpy" else kind
        raise TypeError(f"{name}(): argument 'dim' (position 1) must be int, not {kind}")
    if not entries:
        raise IndexError(f"Dimension specified as {dim} but tensor has no dimensions")
    return entries[wrap_dim(dim, len(entries))]


def wrap_dim(dim: int, ndim: int) -> int:
    """A dimension number as a non-negative one; IndexError in PyTorch's words where there is no such dimension."""
    count = ndim or 1
    if not -count <= dim < count:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got {dim})")
    return dim + count if dim < 0 else dim


class SymInt:
    """A length that is no number: that of the dimension of a jagged tensor along which its parts differ. Tracers keep no others."""

    def __init__(self, node: object) -> None:
        raise NotImplementedError("torchlike does not support symbolic sizes: sizes are numbers")


class TensorMeta:
    """Size, dtype and device of every tensor with one aval, as PyTorch's objects. It is made once, and kept on the aval."""

    __slots__ = ("size", "dtype", "device")

    def __init__(self, aval: Aval) -> None:
        self.size = Size(aval.shape)
        self.dtype = dtypes.from_numpy_dtype(aval.dtype)
        self.device = devices.of_placement(aval.placement)


def tensor_meta(aval: Aval) -> TensorMeta:
    meta = aval.meta
    if meta is None:
        meta = aval.meta = TensorMeta(aval)
    return meta
