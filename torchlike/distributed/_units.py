"""Units of parameters that are spread over processes: gathered in one exchange while a module computes, and their gradients scattered."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import jax.numpy as jnp
from jax import Array, lax

from .._core.dtypes import dtype
from .._core.fields import stored_value
from .._core.tensor import Tensor, from_value
from ..autograd.function import Function, FunctionCtx
from ..autograd.grad_mode import no_grad
from ..autograd.graph import saved_tensors_hooks
from ..engine.collective import AXIS
from ..engine.executable import RECOMPUTED
from ..ops import zeros
from ._collectives import ALL_REDUCE, Collective, placed, record, reduce_one
from ._groups import ProcessGroup, ReduceOp

__all__ = ["FlatLayout", "Layout", "RowLayout", "Unit"]


# ---- where parameters lie


class Layout(Protocol):
    """How the parameters of a unit lie in one flat array, of which each process has an equal chunk."""

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """The shapes of the parameters."""
        ...

    @property
    def shards(self) -> int:
        """Into how many chunks it is divided."""
        ...

    @property
    def chunk(self) -> int:
        """The number of elements that a process has."""
        ...

    def pack(self, pieces: Sequence[Array]) -> Array:
        """The chunk of a process, from what it keeps."""
        ...

    def unpack(self, chunk: Array) -> list[Array]:
        """What a process keeps, from its chunk."""
        ...

    def split(self, flat: Array) -> list[Array]:
        """The whole parameters, from all chunks."""
        ...

    def join(self, wholes: Sequence[Array]) -> Array:
        """All chunks, from whole parameters."""
        ...


@dataclass(frozen=True)
class FlatLayout:
    """Parameters one after another, cut anywhere. A process keeps the chunk itself.

    ``size`` is that of the flat array with zeros at its end, so that it divides into ``shards`` chunks.
    """

    shapes: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    size: int
    shards: int

    @staticmethod
    def of(shapes: Sequence[tuple[int, ...]], shards: int, multiple: int) -> FlatLayout:
        """Parameters of these shapes one after another, each at a multiple of so many elements."""
        offsets, end = [], 0
        for shape in shapes:
            offsets.append(-(-end // multiple) * multiple)
            end = offsets[-1] + prod(shape)
        return FlatLayout(tuple(shapes), tuple(offsets), -(-end // shards) * shards, shards)

    @property
    def chunk(self) -> int:
        return self.size // self.shards

    def pieces(self, number: int) -> list[tuple[int, int]]:
        """For each parameter, where the part in a chunk begins and ends, counted from the beginning of the chunk."""
        begin = number * self.chunk
        ends = [
            (offset - begin, offset + prod(shape) - begin)
            for offset, shape in zip(self.offsets, self.shapes, strict=True)
        ]
        return [(min(max(a, 0), self.chunk), min(max(b, 0), self.chunk)) for a, b in ends]

    def pack(self, pieces: Sequence[Array]) -> Array:
        (chunk,) = pieces
        return chunk

    def unpack(self, chunk: Array) -> list[Array]:
        return [chunk]

    def split(self, flat: Array) -> list[Array]:
        places = zip(self.offsets, self.shapes, strict=True)
        return [flat[offset : offset + prod(shape)].reshape(shape) for offset, shape in places]

    def join(self, wholes: Sequence[Array]) -> Array:
        return placed(wholes, self.offsets, self.size)


@dataclass(frozen=True)
class RowLayout:
    """Each parameter cut along one dimension, with zeros at its end where that does not divide. A process keeps a piece of each."""

    shapes: tuple[tuple[int, ...], ...]
    dims: tuple[int, ...]
    shards: int

    def rows(self, number: int) -> int:
        """The length of a parameter's pieces along the dimension that is cut."""
        return -(-self.shapes[number][self.dims[number]] // self.shards)

    @property
    def sizes(self) -> list[int]:
        """The number of elements of a piece of each parameter."""
        return [
            self.rows(n) * prod(shape[:dim] + shape[dim + 1 :])
            for n, (shape, dim) in enumerate(zip(self.shapes, self.dims, strict=True))
        ]

    @property
    def offsets(self) -> list[int]:
        """Where the pieces begin in a chunk."""
        return [0, *itertools.accumulate(self.sizes)][:-1]

    @property
    def chunk(self) -> int:
        return sum(self.sizes)

    def _front(self, number: int) -> tuple[int, ...]:
        """The shape of a parameter with the dimension that is cut in front, and with the zeros."""
        shape, dim = self.shapes[number], self.dims[number]
        return (self.rows(number) * self.shards, *shape[:dim], *shape[dim + 1 :])

    def pack(self, pieces: Sequence[Array]) -> Array:
        fronts = [jnp.moveaxis(piece, dim, 0) for piece, dim in zip(pieces, self.dims, strict=True)]
        return fronts[0].reshape(-1) if len(fronts) == 1 else placed(fronts, self.offsets, self.chunk)

    def unpack(self, chunk: Array) -> list[Array]:
        found = []
        for n, (offset, size, dim) in enumerate(zip(self.offsets, self.sizes, self.dims, strict=True)):
            shape = (self.rows(n), *self._front(n)[1:])
            found.append(jnp.moveaxis(chunk[offset : offset + size].reshape(shape), 0, dim))
        return found

    def split(self, flat: Array) -> list[Array]:
        chunks = flat.reshape(self.shards, self.chunk)
        found = []
        for n, (offset, size, dim) in enumerate(zip(self.offsets, self.sizes, self.dims, strict=True)):
            whole = chunks[:, offset : offset + size].reshape(self._front(n))
            found.append(jnp.moveaxis(whole[: self.shapes[n][dim]], 0, dim))
        return found

    def join(self, wholes: Sequence[Array]) -> Array:
        chunks = jnp.zeros((self.shards, self.chunk), wholes[0].dtype)
        for n, (whole, offset, dim) in enumerate(zip(wholes, self.offsets, self.dims, strict=True)):
            front = jnp.moveaxis(whole, dim, 0)
            more = self.rows(n) * self.shards - front.shape[0]
            front = jnp.pad(front, [(0, more)] + [(0, 0)] * (front.ndim - 1)) if more else front
            chunks = lax.dynamic_update_slice(chunks, front.reshape(self.shards, -1), (0, offset))
        return chunks.reshape(-1)


# ---- the exchanges


def _gather(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    """The whole parameters, from what all processes keep."""
    chunk = layout.pack(arrays)
    return layout.split(lax.all_gather(chunk, AXIS, tiled=True) if layout.shards > 1 else chunk)


def _gather_again(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    # Without this barrier XLA merges both gatherings, and keeps the parameters in memory from the forward to the backward pass.
    return _gather(size, layout, lax.optimization_barrier(list(arrays)))


def _reduce(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    """This process's part of the averages of the gradients of all processes."""
    flat = layout.join(arrays)
    if layout.shards == 1:
        return layout.unpack(reduce_one(ReduceOp.AVG, size, flat))
    if flat.dtype.itemsize < 4:  # the transport does not add these
        total = reduce_one(ReduceOp.SUM, size, flat)
        chunk = lax.dynamic_slice(total, (lax.axis_index(AXIS) * layout.chunk,), (layout.chunk,))
    else:
        chunk = lax.psum_scatter(flat, AXIS, tiled=True)
    return layout.unpack(chunk / jnp.asarray(size, chunk.dtype))


GATHER, REDUCE = Collective("fsdp_all_gather", _gather), Collective("fsdp_reduce_scatter", _reduce)
GATHER_AGAIN = Collective(f"fsdp_all_gather{RECOMPUTED}", _gather_again)


class _Gathered(Function):
    """The whole parameters. The gradients of the pieces are the pieces of the averages."""

    @staticmethod
    def forward(ctx: FunctionCtx, unit: Unit, *pieces: Tensor) -> tuple[Tensor, ...]:
        ctx.unit, ctx.count = unit, len(pieces)
        ctx.set_materialize_grads(False)
        return tuple(unit.wholes(pieces))

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor | None) -> object:
        found = ctx.unit.reduced(grads)
        return None, *([None] * ctx.count if found is None else found)


class _Gathering:
    """The parameters that one forward pass has gathered, which its backward pass gathers again."""

    def __init__(self, unit: Unit, pieces: Sequence[Tensor]) -> None:
        # The values of the forward pass: the optimizer may write to the pieces before the backward pass.
        self.unit, self.pieces = unit, [piece._value() for piece in pieces]
        self.found: list[Tensor] | None = None

    def again(self, number: int) -> Tensor:
        """A parameter, from the pieces as they were in the forward pass. All of them are gathered at once."""
        if self.found is None:
            with no_grad():
                self.found = self.unit.wholes([from_value(value) for value in self.pieces], again=True)
        return self.found[number]


def _keeping(gathering: _Gathering, by_value: dict[int, int]) -> saved_tensors_hooks:
    def pack(tensor: Tensor) -> object:
        number = by_value.get(id(stored_value(tensor)))
        return tensor if number is None else (gathering, number)

    def unpack(packed: Any) -> Tensor:
        return packed[0].again(packed[1]) if isinstance(packed, tuple) else packed

    return saved_tensors_hooks(pack, unpack)


# ---- units


class Owner(Protocol):
    """A module."""

    _parameters: dict[str, Any]


class Unit:
    """Parameters that are gathered together.

    Args:
        owners: for each parameter the modules that have it, and its name in each.
        trained: for each whether it requires a gradient.
        group: the processes over which they are spread, or all that average gradients where they are not.
        copies: the processes that keep the same, where there are several such groups.
        kind: the dtype of the parameters.
        param_dtype, reduce_dtype: the dtypes of whole parameters and of gradients that are exchanged, if they are others.
    """

    # Whether a parameter that was not used in this process gets no gradient, instead of the average with zeros.
    drops_unused = False

    def __init__(
        self,
        owners: Sequence[Sequence[tuple[Owner, str]]],
        trained: list[bool],
        group: ProcessGroup,
        copies: ProcessGroup | None,
        layout: Layout,
        kind: dtype,
        param_dtype: dtype | None,
        reduce_dtype: dtype | None,
    ) -> None:
        self.owners, self.trained, self.group, self.copies, self.exchanged = owners, trained, group, copies, layout
        self.dtype, self.param_dtype, self.reduce_dtype = kind, param_dtype, reduce_dtype
        self.synchronised = True
        self.unreduced: list[Tensor] | None = None  # sums of gradients of backward passes in ``no_sync``
        self.used: set[int] = set()  # the parameters with a gradient since the last exchange
        self.wholes_in_use = False  # whether the modules have whole parameters at the moment

    # ---- what differs between units

    def current(self) -> list[Tensor]:
        """What this process keeps now; gradients flow through it."""
        raise NotImplementedError

    def put(self, wholes: Sequence[Tensor]) -> None:
        """Gives the modules whole parameters."""
        for (module, name), number in self.places():
            module._parameters[name] = wholes[number]

    def put_back(self) -> None:
        """Gives the modules what they have between computations."""
        raise NotImplementedError

    def split_alone(self, pieces: Sequence[Tensor]) -> list[Tensor]:
        """The whole parameters where no other process has parts of them."""
        raise NotImplementedError

    def joined_alone(self, wholes: list[Tensor]) -> list[Tensor]:
        """What this process keeps of whole tensors, where no other process has parts of them."""
        raise NotImplementedError

    # ---- exchanges

    def places(self) -> Iterator[tuple[tuple[Owner, str], int]]:
        """The modules and names of all parameters, with the number of the parameter."""
        for number, places in enumerate(self.owners):
            for place in places:
                yield place, number

    def wholes(self, pieces: Sequence[Any], again: bool = False, cast: bool = True) -> list[Tensor]:
        """Whole tensors, from what all processes keep."""
        if cast and self.param_dtype is not None:
            pieces = [piece.to(self.param_dtype) for piece in pieces]
        engine = self.group.engine if self.exchanged.shards > 1 else None
        if engine is None:
            return self.split_alone(pieces)
        op = GATHER_AGAIN if again else GATHER
        return [from_value(v) for v in record(op, engine, (self.exchanged,), [piece._value() for piece in pieces])]

    def reduced(self, given: Sequence[Tensor | None]) -> list[Tensor | None] | None:
        """This process's part of the averages of gradients; None where they are only summed up for later."""
        with no_grad():
            self.used.update(number for number, grad in enumerate(given) if grad is not None)
            kind = self.param_dtype or self.dtype
            # All processes exchange the same arrays, so a missing gradient is sent as zeros.
            grads: list[Any] = [
                zeros(shape, dtype=kind) if grad is None else grad
                for grad, shape in zip(given, self.exchanged.shapes, strict=True)
            ]
            if self.unreduced is not None:
                grads = [grad + earlier for grad, earlier in zip(grads, self.unreduced, strict=True)]
                self.unreduced = None
            if not self.synchronised:
                self.unreduced = grads
                return None
            used, self.used = self.used, set()
            wide: Any = grads
            narrowed = self.reduce_dtype or self.param_dtype
            if narrowed is not None:
                wide = [grad.to(narrowed) for grad in wide]
            engine = self.group.engine
            if engine is None:
                pieces: list[Any] = self.joined_alone(wide)
            else:
                values = record(REDUCE, engine, (self.exchanged,), [grad._value() for grad in wide])
                pieces = [from_value(value) for value in values]
            if self.copies is not None and self.copies.engine is not None:
                values = record(ALL_REDUCE, self.copies.engine, (ReduceOp.AVG,), [piece._value() for piece in pieces])
                pieces = [from_value(value) for value in values]
            found: list[Tensor | None] = [piece.to(self.dtype) for piece in pieces]
            return [each if n in used else None for n, each in enumerate(found)] if self.drops_unused else found

    def gather(self, pieces: Sequence[Tensor]) -> list[Tensor]:
        """Whole parameters through which gradients flow."""
        wholes: Any = _Gathered.apply(self, *pieces)
        return [each if trained else each.detach() for each, trained in zip(wholes, self.trained, strict=True)]

    @contextmanager
    def gathered(self, reshard: bool) -> Iterator[None]:
        """A context in which the modules have whole parameters, through which gradients flow.

        Args:
            reshard: whether the graph keeps this process's part, from which they are gathered again in the backward pass.
        """
        pieces = self.current()
        wholes = self.gather(pieces)
        self.put(wholes)
        self.wholes_in_use = True
        kept = nullcontext()
        if reshard and self.exchanged.shards > 1:
            by_value = {id(whole._value()): number for number, whole in enumerate(wholes)}
            kept = _keeping(_Gathering(self, pieces), by_value)
        try:
            with kept:
                yield
        finally:
            self.put_back()
            self.wholes_in_use = False
