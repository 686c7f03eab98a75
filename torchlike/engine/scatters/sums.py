"""Sums over the devices of a mesh of which each device keeps a piece: one reduce-scatter each, and not the whole sum on every device.

The gradient of a parameter that is spread over devices is such a sum: each device has the terms of its part of the batch, and keeps its
piece of the total. XLA adds up the whole on every device and cuts the piece out of it, and joins both into a reduce-scatter on GPUs and
TPUs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.extend.core import ClosedJaxpr
from jax.sharding import PartitionSpec

from .flat import FlatProgram, Step, evaluate
from .spreading import Cuts, cuts_of, guess_cuts

__all__ = ["with_reduce_scatters"]

# What may be done to the terms of a sum, or to the sum: the result is the same but for rounding.
LINEAR = {
    "broadcast_in_dim", "convert_element_type", "copy", "expand_dims", "neg", "reduce_sum", "reshape", "rev", "sharding_constraint",
    "slice", "squeeze", "transpose",
}  # fmt: skip
# Parameters that say how JAX shall lay out a result. They are meant for the whole program, and not for what one device does.
LAYOUTS = ("sharding", "out_sharding")


@dataclass
class _Sum:
    """What one device has to compute for its term of a sum over some axes of the mesh."""

    axes: tuple[str, ...]
    steps: list[Step] = field(default_factory=list)
    # The values that it begins with, and the dimension of each along which the device has its piece; None: it has the whole.
    leaves: dict[int, int | None] = field(default_factory=dict)


def with_reduce_scatters(closed: ClosedJaxpr, inputs: Sequence[PartitionSpec]) -> Callable[..., Sequence[object]]:
    """A traced program over a mesh in which such sums are reduce-scatters.

    Args:
        closed: the program.
        inputs: the layouts of its inputs.
    """
    program = FlatProgram(closed)
    avals = [program.avals[number] for number in program.inputs]
    cuts = guess_cuts(program, [cuts_of(spec, aval.ndim) for spec, aval in zip(inputs, avals, strict=True)])
    made_by = {number: step for step in program.steps for number in step.outputs}
    finder = _Finder(program, cuts, made_by)
    sums = {id(step): found for step in program.steps if (found := finder.sum_for(step)) is not None}
    instead = {id(step) for found in sums.values() for step in found.steps}

    def run(*arrays: Array) -> list[object]:
        values: dict[int, Array] = {**program.constants, **dict(zip(program.inputs, arrays, strict=True))}
        for step in program.steps:
            if id(step) in instead:
                continue
            read = [values.get(number) for number in step.inputs]
            found = sums.get(id(step))
            if found is not None:
                read = [_scattered(step, found, values)]
            values.update(zip(step.outputs, evaluate(step, read), strict=True))
        return [values[number] for number in program.outputs]

    return run


class _Finder:
    """Finds the sums of which a layout asks for pieces."""

    def __init__(self, program: FlatProgram, cuts: dict[int, Cuts], made_by: dict[int, Step]) -> None:
        self.program, self.cuts, self.made_by = program, cuts, made_by
        self.wanted: set[str] = set()  # the axes along which the layout that is looked at cuts its value

    def sum_for(self, step: Step) -> _Sum | None:
        """The sum over axes of the mesh that this step cuts into pieces along one of them."""
        if step.name != "sharding_constraint" or step.params["unconstrained_dims"]:
            return None
        sharding = step.params["sharding"]
        wished = cuts_of(sharding.spec, self.program.avals[step.inputs[0]].ndim)
        self.wanted = {name for entry in wished for name in entry}
        found = self._terms(step.inputs[0]) if self.wanted else None
        if found is None:
            return None
        pieces = prod(sharding.mesh.shape[name] for name in found.axes)
        if any(dim is not None and self.program.avals[n].shape[dim] % pieces for n, dim in found.leaves.items()):
            return None
        # A dimension's pieces along several axes lie in the order of the axes: what others have cut is cut again along the last one.
        entries = [entry for entry in wished if set(entry) & set(found.axes)]
        return found if len(entries) == 1 and not set(entries[0][:-1]) & set(found.axes) else None

    def _terms(self, number: int) -> _Sum | None:
        """How a device computes its term of a value; None where the value is no sum over devices, or is read elsewhere too."""
        step = self.made_by.get(number)
        if step is None or self.program.readers[number] != 1 or len(step.outputs) != 1:
            return None
        if not jnp.issubdtype(self.program.avals[number].dtype, np.inexact):
            return None  # the product of truth values, say, is none of their terms
        own = self._own_sum(step)
        if own is not None:
            return own
        if step.name in ("add", "add_any", "sub"):
            a, b = map(self._terms, step.inputs)
            if a is None or b is None or a.axes != b.axes or any(b.leaves.get(n, d) != d for n, d in a.leaves.items()):
                return None
            return _Sum(a.axes, [*a.steps, *b.steps, step], {**a.leaves, **b.leaves})
        place = self._linear_input(step)
        found = None if place is None else self._terms(step.inputs[place])
        if found is None or not self._keeps_whole(step, found):
            return None
        found.steps.append(step)
        for other in (number for n, number in enumerate(step.inputs) if n != place):
            if found.leaves.setdefault(other, None) is not None:
                return None
        return found

    def _linear_input(self, step: Step) -> int | None:
        """The place of the input in which a step is linear, all else being equal."""
        inputs, avals = step.inputs, self.program.avals
        if step.name in LINEAR:
            return 0
        if step.name == "pad" and self.is_zero(inputs[1]):
            return 0
        if step.name == "scatter-add" and self.is_zero(inputs[0]):
            return 2
        if step.name in ("mul", "div") and avals[inputs[1]].shape == ():
            return 0
        return 1 if step.name == "mul" and avals[inputs[0]].shape == () else None

    def _keeps_whole(self, step: Step, found: _Sum) -> bool:
        """Whether a step does not ask for pieces of a sum."""
        if step.name != "sharding_constraint":
            return True
        ndim = self.program.avals[step.inputs[0]].ndim
        return not set(found.axes) & {name for entry in cuts_of(step.params["sharding"].spec, ndim) for name in entry}

    def is_zero(self, number: int) -> bool:
        """Whether a value is known to be zero everywhere."""
        if number in self.program.constants:
            return not np.any(np.asarray(self.program.constants[number]))
        step = self.made_by.get(number)
        if step is None or step.name not in ("broadcast_in_dim", "convert_element_type", "reshape", "reshard"):
            return False
        return self.is_zero(step.inputs[0])

    def _own_sum(self, step: Step) -> _Sum | None:
        """The sum that one step takes over a dimension whose pieces lie on several devices."""
        for places in _summed_dimensions(step, self):
            known = [self.cuts[number][dim] for number, dim in places if number in self.cuts]
            axes = next((entry for entry in known if self.wanted.intersection(entry)), ())
            # A product of a value and itself may have it twice. What is cut along the same axes in another dimension is not there in the
            # pieces that this sum needs: XLA gathers the other factor instead, of which each device then has all.
            once = len({number for number, _ in places}) == len(places)
            if axes and once and not any(self._cut_elsewhere(number, dim, axes) for number, dim in places):
                return _Sum(axes, [step], {**dict.fromkeys(step.inputs), **dict(places)})
        return None

    def _cut_elsewhere(self, number: int, dim: int, axes: tuple[str, ...]) -> bool:
        """Whether a value is cut along one of these axes in another dimension."""
        return any(n != dim and set(entry) & set(axes) for n, entry in enumerate(self.cuts.get(number, ())))


def _summed_dimensions(step: Step, finder: _Finder) -> list[list[tuple[int, int]]]:
    """The dimensions over which a step adds up, each as the inputs that have it and the number that it has there."""
    inputs = step.inputs
    match step.name:
        case "reduce_sum":
            return [[(inputs[0], axis)] for axis in step.params["axes"]]
        case "torchlike_product":
            return [list(zip(inputs, step.params["sums"], strict=True))]
        case "dot_general":
            a, b = step.params["dimension_numbers"][0]
            return [[(inputs[0], p), (inputs[1], q)] for p, q in zip(a, b, strict=True)]
        case "conv_general_dilated" if step.params["feature_group_count"] == step.params["batch_group_count"] == 1:
            numbers = step.params["dimension_numbers"]
            return [[(inputs[0], numbers.lhs_spec[1]), (inputs[1], numbers.rhs_spec[1])]]
        case "torchlike_convolution" if step.params["geometry"].result == "w":
            return [[(inputs[0], 0), (inputs[1], 0)]]
        case "scatter-add" if finder.is_zero(inputs[0]):
            # Rows of a gradient are added to the rows of a table of zeros.
            numbers = step.params["dimension_numbers"]
            rank = finder.program.avals[inputs[2]].ndim
            free = [dim for dim in range(rank) if dim not in numbers.update_window_dims]
            return [[(inputs[1], n), (inputs[2], dim)] for n, dim in enumerate(free)]
        case _:
            return []


# ---- what runs


def _scattered(step: Step, found: _Sum, values: dict[int, Array]) -> Array:
    """The sum, of which each device keeps the piece that the layout of ``step`` says."""
    sharding = step.params["sharding"]
    mesh, axes = sharding.mesh, found.axes
    leaves = list(found.leaves)
    wished = cuts_of(sharding.spec, len(sharding.spec))
    (dim,) = [n for n, entry in enumerate(wished) if set(entry) & set(axes)]
    axis = wished[dim][-1]
    others = tuple(name for name in axes if name != axis)

    def term(*pieces: Array) -> Array:
        local = dict(zip(leaves, pieces, strict=True))
        for each in found.steps:
            if each.name == "sharding_constraint":
                local[each.outputs[0]] = local[each.inputs[0]]
                continue
            read = [local[number] for number in each.inputs]
            (local[each.outputs[0]],) = evaluate(each, read, **_params_for_pieces(each, read))
        return local[found.steps[-1].outputs[0]][None]

    def total(terms: Array) -> Array:
        piece = lax.psum_scatter(terms[0], axis, scatter_dimension=dim, tiled=True)
        return lax.psum(piece, others) if others else piece

    places = [found.leaves[number] for number in leaves]
    specs = tuple(PartitionSpec() if place is None else PartitionSpec(*[None] * place, axes) for place in places)
    terms = jax.shard_map(
        term, mesh=mesh, in_specs=specs, out_specs=PartitionSpec(axes), axis_names=set(axes), check_vma=False
    )(*[values[number] for number in leaves])
    # Where XLA itself cuts the terms along other axes of the mesh, it would gather them for the exchange: it knows no reduce-scatter of
    # what it has cut. So the exchange is told of all axes.
    cut = PartitionSpec(axes, *[tuple(name for name in entry if name not in axes) or None for entry in wished])
    return jax.shard_map(total, mesh=mesh, in_specs=cut, out_specs=sharding.spec, check_vma=False)(terms)


def _params_for_pieces(step: Step, pieces: Sequence[Array]) -> dict[str, object]:
    """The parameters of a step that are others where it computes with the pieces of one device."""
    changed: dict[str, object] = {name: None for name in LAYOUTS if step.params.get(name) is not None}
    geometry = step.params.get("geometry")
    if geometry is not None:
        images, results = pieces
        changed["geometry"] = geometry._replace(x=tuple(images.shape), y=tuple(results.shape))
    return changed
