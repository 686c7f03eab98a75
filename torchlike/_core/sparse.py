"""Sparse tensors as the engine sees them: a value that has a shape and a dtype, and holds tensors of indices and of values.

A sparse tensor is a Tensor whose storage holds a ``SparseValue``. The engine has no program for such a value: whoever asks for its array
gets a ``SparseOperand``, which the dispatcher answers with the operation's sparse form, or with PyTorch's error where there is none. So
operations on dense tensors pay nothing for it, and no operation can take a sparse tensor for a dense one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..engine.aval import Placement
from ..engine.recorder import recorder
from ..engine.value import Value
from .layouts import layout, sparse_bsc, sparse_bsr, sparse_coo, sparse_csc, sparse_csr, strided

__all__ = [
    "FORMS", "LAYOUT_NAMES", "Pattern", "SparseAval", "SparseOperand", "SparseValue", "apply_form", "call", "has_blocks", "is_sparse",
    "is_stacked",
    "sparse_form", "unsupported",
]  # fmt: skip


# PyTorch's names of the layouts in messages.
LAYOUT_NAMES = {
    strided: "Strided",
    sparse_coo: "Sparse",
    sparse_csr: "SparseCsr",
    sparse_csc: "SparseCsc",
    sparse_bsr: "SparseBsr",
    sparse_bsc: "SparseBsc",
}


class SparseOperand(NotImplementedError):
    """Raised where the array of a sparse tensor is asked for: it has none."""


class Pattern(NamedTuple):
    """The positions of the elements that a sparse tensor stores.

    Args:
        layout: one of the sparse layouts.
        indices: for COO one tensor of shape (sparse dimensions, elements); for CSR where each row begins, and the columns; for CSC where
            each column begins, and the rows; for BSR and BSC the same of blocks. Stacks of matrices have further dimensions before.
        shape: that of the whole tensor.
        block: rows and columns of a block.
    """

    layout: layout
    indices: tuple[Any, ...]  # tensors
    shape: tuple[int, ...]
    block: tuple[int, int] = (1, 1)

    @property
    def blocked(self) -> bool:
        """Whether each value is a block of elements."""
        return self.layout in (sparse_bsr, sparse_bsc)

    @property
    def sparse_dim(self) -> int:
        """The number of dimensions that are indexed; the others are the dimensions of each value."""
        return self.indices[0]._aval.shape[0] if self.layout is sparse_coo else 2

    @property
    def count(self) -> int:
        """How many elements are stored; of a stack, in each matrix."""
        return self.indices[-1]._aval.shape[-1]

    @property
    def batch(self) -> tuple[int, ...]:
        """The shape of a stack of compressed matrices."""
        return () if self.layout is sparse_coo else self.indices[0]._aval.shape[:-1]

    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of each element."""
        return self.shape[len(self.batch) + self.sparse_dim :]

    @property
    def stacked(self) -> bool:
        """Whether this is more than one compressed matrix: a stack of them, or a matrix whose elements have dimensions."""
        return self.layout is not sparse_coo and len(self.shape) > 2


class SparseAval:
    """Shape, dtype and placement of a sparse tensor. Each equals only itself, so that no recorded path matches a sparse tensor."""

    __slots__ = ("shape", "dtype", "placement", "meta", "layout")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], placement: Placement, layout: layout) -> None:
        self.shape, self.dtype, self.placement, self.layout = shape, dtype, placement, layout
        self.meta: Any = None

    def plain(self) -> SparseAval:
        return self

    def __repr__(self) -> str:
        return f"{self.layout.name} {self.dtype.name}[{','.join(map(str, self.shape))}]"


class SparseValue(Value):
    """What the storage of a sparse tensor holds."""

    __slots__ = ("pattern", "values", "coalesced")

    pattern: Pattern
    values: Any  # a tensor without history: the sparse tensor has the history
    coalesced: bool  # whether no index comes twice, and they are in order

    met = False  # whether this process has made one: before that, no gradient needs to be checked for being sparse

    @classmethod
    def create(cls, pattern: Pattern, values: Any, coalesced: bool) -> SparseValue:
        aval = values._aval
        value: Any = cls.over(SparseAval(pattern.shape, aval.dtype, aval.placement, pattern.layout), None)
        value.pattern, value.values, value.coalesced = pattern, values, coalesced or pattern.count < 2
        SparseValue.met = True
        return value

    def finish(self) -> Any:
        recorder().segment.forget_unfinished()  # an operation may be half recorded at this point: it is dropped
        raise SparseOperand(
            f"a tensor of layout {self.pattern.layout} has no array of all its elements: call .to_dense() first"
        )

    numpy = jax = finish

    def fresh(self) -> SparseValue:
        """A copy of the elements, because a program can write to the tensor of values that it has."""
        return self.create(self.pattern, self.values.clone(), self.coalesced)

    def pin(self) -> None:
        """Does nothing: this value is never an input of a program."""

    @property
    def traced(self) -> bool:
        return self.finish()


def is_sparse(tensor: object) -> bool:
    """Whether this is a sparse tensor, of whichever layout."""
    storage = getattr(tensor, "_storage", None)
    return storage is not None and storage.value.__class__ is SparseValue


# By the name of an operation: what it does where one of its tensors is sparse. It gets all arguments by position.
FORMS: dict[str, Callable[..., Any]] = {}
_OF_BLOCKS: set[str] = set()  # those of them that know what to do with values that are blocks
_OF_STACKS: set[str] = set()  # and with stacks of compressed matrices, and elements that have dimensions


def sparse_form(
    *names: str, blocks: bool = False, stacks: bool = False
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declares the decorated function what these operations do where one of their tensors is sparse.

    Args:
        blocks: whether it takes matrices of blocks too. Where it does not, the operation is refused for them.
        stacks: the same for stacks of compressed matrices, and for compressed matrices whose elements have dimensions.
    """

    def declare(function: Callable[..., object]) -> Callable[..., Any]:
        FORMS.update(dict.fromkeys(names, function))
        if blocks:
            _OF_BLOCKS.update(names)
        if stacks:
            _OF_STACKS.update(names)
        return function

    return declare


def call(name: str, args: tuple[object, ...], signal: SparseOperand) -> Any:
    """The result of an operation of which a tensor is sparse.

    Raises:
        NotImplementedError: in PyTorch's words, where the operation has no sparse form.
    """
    try:
        return apply_form(name.removeprefix("_") if name not in FORMS else name, *args)
    except Exception as error:
        if error.__context__ is signal:
            error.__context__ = None  # SparseOperand is how the dispatcher finds out, and no part of the user's error
        raise


def apply_form(name: str, *args: object) -> Any:
    """As ``call``, for functions that ask first whether a tensor is sparse."""
    function = FORMS.get(name)
    if (
        function is None
        or (name not in _OF_BLOCKS and any(has_blocks(argument) for argument in _flat(args)))
        or (name not in _OF_STACKS and any(is_stacked(argument) for argument in _flat(args)))
    ):
        raise unsupported(name, args)
    return function(*args)


def has_blocks(tensor: Any) -> bool:
    """Whether this is a sparse matrix of blocks."""
    return is_sparse(tensor) and tensor._storage.value.pattern.blocked


def is_stacked(tensor: Any) -> bool:
    """Whether this is a stack of compressed matrices, or one whose elements have dimensions."""
    return is_sparse(tensor) and tensor._storage.value.pattern.stacked


def _flat(args: tuple[Any, ...]) -> list[Any]:
    return [argument for arg in args for argument in (arg if isinstance(arg, (list, tuple)) else (arg,))]


def unsupported(name: str, args: tuple[Any, ...]) -> NotImplementedError:
    """The error for an operation that sparse tensors do not have."""
    sparse = next(argument for argument in _flat(args) if is_sparse(argument))
    kind = "Sparse" if sparse._storage.value.pattern.layout is sparse_coo else "SparseCsr"
    place = sparse.device.type.upper()
    return NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the '{kind}{place}' backend. This could be because the "
        "operator doesn't exist for this backend. To use it on all elements, call .to_dense() first."
    )
