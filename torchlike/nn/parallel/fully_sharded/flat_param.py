"""The parameters of one unit of FullyShardedDataParallel: flat, each process with its chunk, gathered while the unit computes."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from math import prod
from typing import Any

from ...._core.tensor import Tensor
from ....autograd.grad_mode import no_grad
from ....distributed._groups import ProcessGroup
from ....distributed._units import FlatLayout, Unit
from ....ops import cat, empty, zeros
from ...modules.module import Module
from ...parameter import Parameter
from .options import MixedPrecision

__all__ = ["FlatParamHandle"]

# Where each parameter keeps its own name, it begins at a multiple of so many bytes, as in PyTorch.
ALIGNMENT = 16


class FlatParamHandle(Unit):
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
        multiple = max(1, ALIGNMENT // parameters[0].element_size()) if original and shards > 1 else 1
        self.layout = FlatLayout.of([tuple(each.shape) for each in parameters], shards, multiple)
        trained = [parameter.requires_grad for parameter in parameters]
        dtypes = precision.param_dtype, precision.reduce_dtype
        super().__init__(owners, trained, group, copies, self.layout, parameters[0].dtype, *dtypes)
        self.names, self.original, self.precision = names, original, precision
        self.number = group.rank() if shards > 1 else 0
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

    def current(self) -> list[Tensor]:
        return [self.chunk()]

    def split_alone(self, pieces: Sequence[Tensor]) -> list[Tensor]:
        chunk: Any = pieces[0]
        return [
            chunk[offset : offset + prod(shape)].reshape(shape).clone()
            for offset, shape in zip(self.layout.offsets, self.layout.shapes, strict=True)
        ]

    def joined_alone(self, wholes: list[Tensor]) -> list[Tensor]:
        return [self.cut(wholes)]

    # ---- whole parameters in the modules

    def put(self, wholes: Sequence[Tensor]) -> None:
        if self.original:
            super().put(wholes)
            return
        for (module, name), number in self.places():
            module.__dict__[name] = wholes[number]

    def put_back(self) -> None:
        self.put(self.leaves if self.original else self.placeholders)

    def unshard(self) -> None:
        """Gives the modules whole parameters, which are leaves and know nothing of the chunk."""
        with no_grad():
            found = [
                Parameter(whole, requires_grad=trained)  # pyright: ignore[reportArgumentType]
                for whole, trained in zip(self.wholes([self.chunk()], cast=False), self.trained, strict=True)
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
        self.put_back()
        self.wholes_in_use = False

    def gathered_state(self, tensors: Sequence[Any]) -> list[Tensor]:
        """Whole tensors, from what an optimizer keeps for the leaves."""
        with no_grad():
            return self.wholes([self.joined(tensors) if self.original else tensors[0]], cast=False)


def _check(parameters: list[Parameter], original: bool) -> None:
    dtypes = dict.fromkeys(parameter.dtype for parameter in parameters)
    if len(dtypes) > 1:
        first, second = itertools.islice(dtypes, 2)
        raise ValueError(f"Must flatten tensors with uniform dtype but got {first} and {second}")
    if not parameters[0].is_floating_point():
        raise ValueError("Cannot flatten integer dtype tensors")
    if not original and len({parameter.requires_grad for parameter in parameters}) > 1:
        raise ValueError("Must flatten tensors with uniform `requires_grad` when `use_orig_params=False`")
