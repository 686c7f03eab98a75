"""The parameters of one unit of FullyShardedDataParallel: flat, each process with its chunk, gathered while the unit computes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
from jax import Array, lax

from ...._core.fields import stored_value
from ...._core.tensor import Tensor, from_value
from ....autograd.function import Function, FunctionCtx
from ....autograd.grad_mode import no_grad
from ....autograd.graph import saved_tensors_hooks
from ....distributed._collectives import ALL_REDUCE, Collective, placed, record, reduce_one
from ....distributed._groups import ProcessGroup, ReduceOp
from ....engine.collective import AXIS
from ....engine.executable import RECOMPUTED
from ....ops import cat, empty, zeros
from ...modules.module import Module
from ...parameter import Parameter
from .options import MixedPrecision

__all__ = ["FlatParamHandle", "Layout"]

# Where each parameter keeps its own name, it begins at a multiple of so many bytes, as in PyTorch.
ALIGNMENT = 16


@dataclass(frozen=True)
class Layout:
    """Where the parameters of a unit lie in the flat one.

    ``size`` is that of the flat one with zeros at its end, so that it divides into ``shards`` chunks.
    """

    shapes: tuple[tuple[int, ...], ...]
    offsets: tuple[int, ...]
    size: int
    shards: int

    @staticmethod
    def of(shapes: Sequence[tuple[int, ...]], shards: int, multiple: int) -> Layout:
        """Parameters of these shapes one after another, each at a multiple of so many elements."""
        offsets, end = [], 0
        for shape in shapes:
            offsets.append(-(-end // multiple) * multiple)
            end = offsets[-1] + _count(shape)
        return Layout(tuple(shapes), tuple(offsets), -(-end // shards) * shards, shards)

    @property
    def chunk(self) -> int:
        """The number of elements that a process has."""
        return self.size // self.shards

    def pieces(self, number: int) -> list[tuple[int, int]]:
        """For each parameter, where the part in a chunk begins and ends, counted from the beginning of the chunk."""
        begin = number * self.chunk
        ends = [
            (offset - begin, offset + _count(shape) - begin)
            for offset, shape in zip(self.offsets, self.shapes, strict=True)
        ]
        return [(min(max(a, 0), self.chunk), min(max(b, 0), self.chunk)) for a, b in ends]


def _count(shape: Sequence[int]) -> int:
    count = 1
    for length in shape:
        count *= length
    return count


# ---- the exchanges


def _gather(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    """The whole parameters, from the chunks of all processes."""
    (chunk,) = arrays
    flat = lax.all_gather(chunk, AXIS, tiled=True) if layout.shards > 1 else chunk
    return [
        flat[offset : offset + _count(shape)].reshape(shape)
        for offset, shape in zip(layout.offsets, layout.shapes, strict=True)
    ]


def _gather_again(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    # Without this barrier XLA merges both gatherings, and keeps the parameters in memory from the forward to the backward pass.
    return _gather(size, layout, lax.optimization_barrier(list(arrays)))


def _reduce(size: int, layout: Layout, arrays: Sequence[Array]) -> list[Array]:
    """This process's chunk of the averages of the gradients of all processes."""
    flat = placed(arrays, layout.offsets, layout.size)
    if layout.shards == 1:
        return [reduce_one(ReduceOp.AVG, size, flat)]
    if flat.dtype.itemsize < 4:  # the transport does not add these
        total = reduce_one(ReduceOp.SUM, size, flat)
        chunk = lax.dynamic_slice(total, (lax.axis_index(AXIS) * layout.chunk,), (layout.chunk,))
    else:
        chunk = lax.psum_scatter(flat, AXIS, tiled=True)
    return [chunk / jnp.asarray(size, chunk.dtype)]


GATHER, REDUCE = Collective("fsdp_all_gather", _gather), Collective("fsdp_reduce_scatter", _reduce)
GATHER_AGAIN = Collective(f"fsdp_all_gather{RECOMPUTED}", _gather_again)


class _Gathered(Function):
    """The whole parameters. The gradient of the chunk is the chunk of their averages."""

    @staticmethod
    def forward(ctx: FunctionCtx, handle: FlatParamHandle, chunk: Tensor) -> tuple[Tensor, ...]:
        ctx.handle = handle
        return tuple(handle.wholes(chunk))

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> Any:
        return None, ctx.handle.reduced(list(grads))


class _Gathering:
    """The parameters that one forward pass has gathered, which its backward pass gathers again."""

    def __init__(self, handle: FlatParamHandle, chunk: Tensor) -> None:
        # The value of the forward pass: the optimizer may write to the chunk before the backward pass.
        self.handle, self.chunk = handle, chunk._value()
        self.found: list[Tensor] | None = None

    def again(self, number: int) -> Tensor:
        """A parameter, from the chunk as it was in the forward pass. All of them are gathered at once."""
        if self.found is None:
            with no_grad():
                self.found = self.handle.wholes(from_value(self.chunk), again=True)
        return self.found[number]


class FlatParamHandle:
    """The parameters of one unit.

    Args:
        owners: for each parameter the modules that have it, and its name in each.
        parameters: the parameters, of one dtype.
        names: their names in the unit.
        group: the processes over which they are spread, or all that average gradients where they are not.
        copies: the processes that have the same chunk, where there are several such groups.
        shards: into how many chunks they are divided: 1, or as many as the group has processes.
        original: whether the parameters stay what they are, and each keeps its part of the chunk.

    Raises:
        ValueError: they differ in dtype, or without ``original`` in ``requires_grad``.
    """

    def __init__(
        self,
        owners: list[list[tuple[Module, str]]],
        parameters: list[Parameter],
        names: list[str],
        group: ProcessGroup,
        copies: ProcessGroup | None,
        shards: int,
        original: bool,
        precision: MixedPrecision,
    ) -> None:
        _check(parameters, original)
        self.owners, self.names, self.group, self.copies = owners, names, group, copies
        self.original, self.precision = original, precision
        self.trained = [parameter.requires_grad for parameter in parameters]
        self.dtype = parameters[0].dtype
        multiple = max(1, ALIGNMENT // parameters[0].element_size()) if original and shards > 1 else 1
        self.layout = Layout.of([tuple(each.shape) for each in parameters], shards, multiple)
        self.number = group.rank() if shards > 1 else 0
        self.synchronised = True
        self.unreduced: list[Tensor] | None = None  # sums of gradients of backward passes in ``no_sync``
        self.wholes_in_use = False  # whether the modules have whole parameters at the moment
        chunk = self.cut(parameters)
        if original:
            self.leaves: list[Any] = parameters
            for parameter, piece in zip(parameters, self.pieces_of(chunk), strict=True):
                parameter.data = piece
        else:
            self.leaves = [Parameter(chunk, requires_grad=parameters[0].requires_grad)]
            # The names remain, for what asks for shapes and dtypes. Their elements are elsewhere.
            self.placeholders = [empty(p.shape, dtype=p.dtype, device="meta") for p in parameters]
            for (module, name), number in self.places():
                del module._parameters[name]
                module.__dict__[name] = self.placeholders[number]

    def places(self) -> Iterator[tuple[tuple[Module, str], int]]:
        """The modules and names of all parameters, with the number of the parameter."""
        for number, places in enumerate(self.owners):
            for place in places:
                yield place, number

    # ---- chunks

    def cut(self, parameters: Sequence[Tensor]) -> Tensor:
        """This process's chunk of whole tensors."""
        layout = self.layout
        with no_grad():
            parts, end = [], 0
            for offset, tensor in zip(layout.offsets, parameters, strict=True):
                flat = tensor.detach().reshape(-1)
                parts += [zeros(offset - end, dtype=flat.dtype, device=flat.device)] if offset > end else []
                parts.append(flat)
                end = offset + flat.numel()
            if layout.size > end:
                parts.append(zeros(layout.size - end, dtype=parts[0].dtype, device=parts[0].device))
            flat = cat(parts)
            return flat[self.number * layout.chunk : (self.number + 1) * layout.chunk].clone()

    def pieces_of(self, chunk: Any) -> list[Any]:
        """The part of each parameter in a chunk."""
        return [chunk[a:b].clone() for a, b in self.layout.pieces(self.number)]

    def joined(self, pieces: Sequence[Any]) -> Any:
        """The chunk of these pieces."""
        parts, end = [], 0
        for (a, b), piece in zip(self.layout.pieces(self.number), pieces, strict=True):
            if a < b:
                parts += [zeros(a - end, dtype=piece.dtype, device=piece.device)] if a > end else []
                parts.append(piece)
                end = b
        if end < self.layout.chunk:
            parts.append(zeros(self.layout.chunk - end, dtype=pieces[0].dtype, device=pieces[0].device))
        return cat(parts)

    def chunk(self) -> Any:
        """This process's chunk of the parameters; gradients flow through it."""
        return self.joined(self.leaves) if self.original else self.leaves[0]

    # ---- exchanges

    def wholes(self, chunk: Any, again: bool = False, cast: bool = True) -> list[Tensor]:
        """Whole tensors, from the chunks of all processes."""
        if cast and self.precision.param_dtype is not None:
            chunk = chunk.to(self.precision.param_dtype)
        engine = self.group.engine if self.layout.shards > 1 else None
        if engine is None:
            return [
                chunk[offset : offset + _count(shape)].reshape(shape).clone()
                for offset, shape in zip(self.layout.offsets, self.layout.shapes, strict=True)
            ]
        op = GATHER_AGAIN if again else GATHER
        return [from_value(value) for value in record(op, engine, (self.layout,), [chunk._value()])]

    def reduced(self, grads: list[Tensor]) -> Tensor | None:
        """The chunk of the averages of gradients; None where they are only summed up for later."""
        with no_grad():
            if self.unreduced is not None:
                grads = [grad + earlier for grad, earlier in zip(grads, self.unreduced, strict=True)]
                self.unreduced = None
            if not self.synchronised:
                self.unreduced = grads
                return None
            wide: Any = grads
            dtype = self.precision.reduce_dtype or self.precision.param_dtype
            if dtype is not None:
                wide = [grad.to(dtype) for grad in wide]
            engine = self.group.engine
            if engine is None:
                chunk: Any = self.cut(wide)
            else:
                values = record(REDUCE, engine, (self.layout,), [grad._value() for grad in wide])
                chunk = from_value(values[0])
            if self.copies is not None and self.copies.engine is not None:
                chunk = from_value(record(ALL_REDUCE, self.copies.engine, (ReduceOp.AVG,), [chunk._value()])[0])
            return chunk.to(self.dtype)

    # ---- whole parameters in the modules

    @contextmanager
    def gathered(self, reshard: bool) -> Iterator[None]:
        """A context in which the modules have whole parameters, through which gradients flow.

        Args:
            reshard: whether the graph keeps the chunk, which is gathered again in the backward pass.
        """
        chunk = self.chunk()
        wholes: Any = _Gathered.apply(self, chunk)
        given = [each if trained else each.detach() for each, trained in zip(wholes, self.trained, strict=True)]
        self._put(given)
        try:
            if reshard and self.layout.shards > 1:
                gathering = _Gathering(self, chunk)
                by_value = {id(whole._value()): number for number, whole in enumerate(wholes)}
                with _keeping(gathering, by_value):
                    yield
            else:
                with nullcontext():
                    yield
        finally:
            self._put_back()

    def _put(self, wholes: Sequence[Any]) -> None:
        for (module, name), number in self.places():
            if self.original:
                module._parameters[name] = wholes[number]
            else:
                module.__dict__[name] = wholes[number]
        self.wholes_in_use = True

    def _put_back(self) -> None:
        self._put(self.leaves if self.original else self.placeholders)
        self.wholes_in_use = False

    def unshard(self) -> None:
        """Gives the modules whole parameters, which are leaves and know nothing of the chunk."""
        with no_grad():
            found = [
                Parameter(whole, requires_grad=trained)  # pyright: ignore[reportArgumentType]
                for whole, trained in zip(self.wholes(self.chunk(), cast=False), self.trained, strict=True)
            ]
        for (module, name), number in self.places():
            module.__dict__.pop(name, None)
            module._parameters[name] = found[number]
        self.wholes_in_use = True

    def reshard(self, write: bool) -> None:
        """Takes whole parameters away again. ``write``: what was written to them goes into the chunk."""
        if write:
            # The module may have other tensors by now, by ``load_state_dict(assign=True)``.
            current: list[Any] = [places[0][0]._parameters[places[0][1]] for places in self.owners]
            chunk = self.cut(current)
            with no_grad():
                for leaf, piece in zip(self.leaves, self.pieces_of(chunk) if self.original else [chunk], strict=True):
                    leaf.copy_(piece)
        if not self.original:
            for (module, name), _ in self.places():
                module._parameters.pop(name, None)
        self._put_back()

    def gathered_state(self, tensors: Sequence[Any]) -> list[Tensor]:
        """Whole tensors, from what an optimizer keeps for the leaves."""
        with no_grad():
            return self.wholes(self.joined(tensors) if self.original else tensors[0], cast=False)


def _check(parameters: list[Parameter], original: bool) -> None:
    dtypes = dict.fromkeys(parameter.dtype for parameter in parameters)
    if len(dtypes) > 1:
        first, second = itertools.islice(dtypes, 2)
        raise ValueError(f"Must flatten tensors with uniform dtype but got {first} and {second}")
    if not parameters[0].is_floating_point():
        raise ValueError("Cannot flatten integer dtype tensors")
    if not original and len({parameter.requires_grad for parameter in parameters}) > 1:
        raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")


def _keeping(gathering: _Gathering, by_value: dict[int, int]) -> saved_tensors_hooks:
    def pack(tensor: Any) -> object:
        number = by_value.get(id(stored_value(tensor)))
        return tensor if number is None else (gathering, number)

    def unpack(packed: Any) -> Tensor:
        return packed[0].again(packed[1]) if isinstance(packed, tuple) else packed

    return saved_tensors_hooks(pack, unpack)
