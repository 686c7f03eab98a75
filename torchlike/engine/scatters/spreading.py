"""Where the values of a program over a mesh probably lie: along which axes of the mesh each of their dimensions is cut.

XLA decides where values lie. This is a guess at what it decides, from the layouts of the inputs on: what uses it must be right wherever
the values are, and is only slower where the guess is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from jax.sharding import PartitionSpec

from .flat import FlatProgram, Step

__all__ = ["Cuts", "cuts_of", "guess_cuts"]

# The axes along which each dimension is cut; an empty tuple where it is whole.
Cuts = tuple[tuple[str, ...], ...]


def cuts_of(spec: PartitionSpec, ndim: int) -> Cuts:
    """The cuts that a layout of JAX describes. What it leaves open counts as whole."""
    entries = [*spec, *[None] * (ndim - len(spec))]
    names: list[Iterable[object]] = [entry if isinstance(entry, tuple) else (entry,) for entry in entries]
    return tuple(tuple(name for name in entry if isinstance(name, str)) for entry in names)


def guess_cuts(program: FlatProgram, inputs: Sequence[Cuts]) -> dict[int, Cuts]:
    """The cuts of the values of a program, by their numbers. Values that are whole on each device are left out.

    Args:
        inputs: the cuts of the program's inputs.
    """
    found = {number: cuts for number, cuts in zip(program.inputs, inputs, strict=True) if any(cuts)}
    for step in program.steps:
        known: list[Cuts] = [found.get(number) or ((),) * program.avals[number].ndim for number in step.inputs]
        if not any(map(any, known)) and step.name != "sharding_constraint":
            continue
        shapes = [program.avals[number].shape for number in step.inputs]
        for number in step.outputs:
            shape = program.avals[number].shape
            rule = _RULES.get(step.name, _like_inputs)
            cuts = _without_repeats(rule(step, known, shapes, shape))
            if any(cuts):
                found[number] = cuts
    return found


def _without_repeats(cuts: Cuts) -> Cuts:
    """Each axis cuts one dimension at most: the first."""
    seen: set[str] = set()
    kept = []
    for entry in cuts:
        kept.append(tuple(name for name in entry if name not in seen))
        seen.update(entry)
    return tuple(kept)


# ---- rules: the cuts of an output, from the step, the cuts and shapes of its inputs and the shape of the output

_Shapes = Sequence[tuple[int, ...]]


def _like_inputs(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    """Inputs of the output's rank are cut as it is, in the dimensions that have its length."""
    entries: list[tuple[str, ...]] = [()] * len(shape)
    for cuts, its_shape in zip(known, shapes, strict=True):
        if len(its_shape) == len(shape):
            for dim, entry in enumerate(cuts):
                if entry and not entries[dim] and its_shape[dim] == shape[dim]:
                    entries[dim] = entry
    return tuple(entries)


def _constraint(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    wished = cuts_of(step.params["sharding"].spec, len(shape))
    free = step.params["unconstrained_dims"]
    return tuple(known[0][dim] if dim in free else entry for dim, entry in enumerate(wished))


def _transposed(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    return tuple(known[0][dim] for dim in step.params["permutation"])


def _broadcast(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    entries: list[tuple[str, ...]] = [()] * len(shape)
    for dim, target in enumerate(step.params["broadcast_dimensions"]):
        if shapes[0][dim] == shape[target]:
            entries[target] = known[0][dim]
    return tuple(entries)


def _reshaped(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    """A dimension's pieces are pieces of the dimension that begins at the same place, if that has as many elements in it."""
    before = _strides(shapes[0])
    entries: list[tuple[str, ...]] = []
    for length, stride in zip(shape, _strides(shape), strict=True):
        end = length * stride
        # The dimensions begin at one place if as many elements lie between two of their starts.
        same = [dim for dim, n in enumerate(shapes[0]) if n > 1 and n * before[dim] == end]
        entries.append(known[0][same[0]] if same and length > 1 else ())
    return tuple(entries)


def _strides(shape: Sequence[int]) -> list[int]:
    strides, step = [], 1
    for length in reversed(shape):
        strides.append(step)
        step *= length
    return strides[::-1]


def _reduced(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    return tuple(entry for dim, entry in enumerate(known[0]) if dim not in step.params["axes"])


def _squeezed(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    return tuple(entry for dim, entry in enumerate(known[0]) if dim not in step.params["dimensions"])


def _product(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    a, b = step.params["sums"]
    return known[0][1 - a], known[1][1 - b]


def _dot(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    (sums_a, sums_b), (batch_a, batch_b) = step.params["dimension_numbers"]
    both = tuple(known[0][a] or known[1][b] for a, b in zip(batch_a, batch_b, strict=True))
    rest_a = tuple(entry for dim, entry in enumerate(known[0]) if dim not in (*sums_a, *batch_a))
    rest_b = tuple(entry for dim, entry in enumerate(known[1]) if dim not in (*sums_b, *batch_b))
    return both + rest_a + rest_b


def _convolved(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    numbers = step.params["dimension_numbers"]
    entries: list[tuple[str, ...]] = [()] * len(shape)
    entries[numbers.out_spec[0]] = known[0][numbers.lhs_spec[0]]
    entries[numbers.out_spec[1]] = known[1][numbers.rhs_spec[0]]
    return tuple(entries)


def _gathered(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    """Rows of a table lie where their indices are."""
    inner = step.params["dimension_numbers"].offset_dims
    entries: list[tuple[str, ...]] = [()] * len(shape)
    for target, entry in zip([dim for dim in range(len(shape)) if dim not in inner], known[1], strict=False):
        entries[target] = entry
    return tuple(entries)


def _unknown(step: Step, known: Sequence[Cuts], shapes: _Shapes, shape: tuple[int, ...]) -> Cuts:
    return ((),) * len(shape)


_RULES: dict[str, Callable[[Step, Sequence[Cuts], _Shapes, tuple[int, ...]], Cuts]] = {
    "sharding_constraint": _constraint,
    "transpose": _transposed,
    "broadcast_in_dim": _broadcast,
    "reshape": _reshaped,
    "squeeze": _squeezed,
    "torchlike_product": _product,
    "dot_general": _dot,
    "conv_general_dilated": _convolved,
    "gather": _gathered,
    "scatter-add": _unknown,
    **dict.fromkeys(("reduce_sum", "reduce_max", "reduce_min", "reduce_prod", "reduce_and", "reduce_or"), _reduced),
    **dict.fromkeys(("argmax", "argmin"), _reduced),
}  # fmt: skip
