"""Functions that only move elements: views, and what joins and divides tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from ...._core.tensor import Tensor
from ..placement_types import Partial, Replicate, Shard
from ._choices import Call, Choice, Plan, Taken, along, along_others, dims_of

__all__ = ["VIEWS"]

_TERMS = [Choice((Partial(kind),), Partial(kind)) for kind in ("sum", "avg", "max", "min", "product")]


def _mapped(call: Call, moved: Mapping[int, int]) -> list[Choice]:
    """The choices where the dimensions of one tensor are at other places in the result; those that are missing must not be cut."""
    return [
        Choice((Replicate(),), Replicate()),
        *(Choice((Shard(before),), Shard(after)) for before, after in moved.items()),
        *_TERMS,
    ]


def _permuted(order: Sequence[int]) -> dict[int, int]:
    return {before: after for after, before in enumerate(order)}


def _permute(call: Call) -> Plan:
    dims = call.args[1] if len(call.args) == 2 else call.args[1:] or call.kwargs["dims"]
    return Plan(_mapped(call, _permuted(dims_of(dims if isinstance(dims, (list, tuple)) else [dims], call.ndim))))


def _swapped(call: Call, a: int, b: int) -> Plan:
    order = list(range(call.ndim))
    order[a], order[b] = b, a
    return Plan(_mapped(call, _permuted(order)))


def _transpose(call: Call) -> Plan:
    return _swapped(call, call.dim(1, "dim0"), call.dim(2, "dim1"))


def _t(call: Call) -> Plan:
    return _swapped(call, 0, call.ndim - 1) if call.ndim > 1 else Plan(_mapped(call, {0: 0}))


def _reversed(call: Call) -> Plan:
    return Plan(_mapped(call, _permuted(list(range(call.ndim))[::-1])))


def _matrix_transpose(call: Call) -> Plan:
    return _swapped(call, call.ndim - 2, call.ndim - 1)


def _movedim(call: Call) -> Plan:
    sources = dims_of(call.option(1, "source"), call.ndim)
    targets = dims_of(call.option(2, "destination"), call.ndim)
    order: list[int | None] = [None] * call.ndim
    for source, target in zip(sources, targets, strict=True):
        order[target] = source
    rest = iter(dim for dim in range(call.ndim) if dim not in sources)
    return Plan(_mapped(call, _permuted([next(rest) if dim is None else dim for dim in order])))


def _unsqueeze(call: Call) -> Plan:
    at = int(call.option(1, "dim")) % (call.ndim + 1)
    return Plan(_mapped(call, {dim: dim + (dim >= at) for dim in range(call.ndim)}))


def _squeeze(call: Call) -> Plan:
    given = call.option(1, "dim")
    shape = call.shapes[0]
    gone = [dim for dim in (range(call.ndim) if given is None else dims_of(given, call.ndim)) if shape[dim] == 1]
    remaining = [dim for dim in range(call.ndim) if dim not in gone]

    def run(call: Call, taken: Taken, tensor: Any, *args: object, **kwargs: object) -> object:
        return tensor.squeeze(tuple(gone))  # a piece may have one element where the whole has several

    return Plan(_mapped(call, _permuted(remaining)), run)


def _sizes(call: Call, name: str) -> list[int]:
    given = call.args[1:] or (call.kwargs[name],)
    return list(given[0] if len(given) == 1 and isinstance(given[0], (list, tuple)) else given)


def _expand(call: Call) -> Plan:
    shape, sizes = call.shapes[0], _sizes(call, "size")
    more = len(sizes) - len(shape)
    whole = [(shape[n - more] if n >= more else size) if size == -1 else size for n, size in enumerate(sizes)]
    kept = {dim: dim + more for dim in range(len(shape)) if shape[dim] == whole[dim + more]}

    def run(call: Call, taken: Taken, tensor: Any, *args: object, **kwargs: object) -> object:
        return tensor.expand([tensor.shape[n - more] if n - more in kept else size for n, size in enumerate(whole)])

    return Plan(_mapped(call, kept), run, tuple(whole))


# ---- reshaping


def _groups(before: Sequence[int], after: Sequence[int]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of two shapes that make up one another."""
    found, a, b = [], 0, 0
    while a < len(before) or b < len(after):
        mine, others = [a] if a < len(before) else [], [b] if b < len(after) else []
        a, b = a + len(mine), b + len(others)
        while (x := prod(before[n] for n in mine)) != (y := prod(after[n] for n in others)):
            if x < y and a < len(before):
                mine.append(a)
                a += 1
            elif y < x and b < len(after):
                others.append(b)
                b += 1
            else:
                return found
        found.append((mine, others))
    return found


def _head(dims: Sequence[int], shape: Sequence[int]) -> int | None:
    return next((dim for dim in dims if shape[dim] != 1), None)


def _reshape_to(call: Call, sizes: Sequence[int]) -> Plan:
    shape, spec = call.shapes[0], call.pieces[0]._spec
    whole = list(sizes)
    if -1 in whole:
        rest = prod(size for size in whole if size != -1)
        whole[whole.index(-1)] = prod(shape) // rest if rest else 0
    moved = {}
    if 0 not in shape:
        for mine, others in _groups(shape, whole):
            before, after = _head(mine, shape), _head(others, whole)
            if before is None or after is None:
                continue
            parts = max(spec.parts(before), 1)
            # Where they do not divide, the pieces of the result would begin elsewhere.
            if (mine, others) == ([before], [after]) or not (shape[before] % parts or whole[after] % parts):
                moved[before] = after

    def run(call: Call, taken: Taken, tensor: Any, *args: object, **kwargs: object) -> object:
        local = list(whole)
        for before, after in zip(taken.inputs(0), taken.output, strict=True):
            if isinstance(before, Shard) and isinstance(after, Shard):
                local[after.dim] = whole[after.dim] * tensor.shape[before.dim] // shape[before.dim]
        return tensor.reshape(local)

    return Plan(_mapped(call, moved), run, tuple(whole))


def _view(call: Call) -> Plan | None:
    given = call.args[1:] or tuple(call.kwargs.values())
    if given and not isinstance(given[0], (int, list, tuple)):
        return None  # another dtype
    return _reshape_to(call, [int(size) for size in _sizes(call, "shape" if "shape" in call.kwargs else "size")])


def _like(call: Call) -> Plan | None:
    return None if len(call.pieces) > 1 else _reshape_to(call, list(call.option(1, "other").shape))


def _flatten(call: Call) -> Plan:
    shape = call.shapes[0]
    first, last = call.dim(1, "start_dim", 0), call.dim(2, "end_dim", -1)
    return _reshape_to(call, [*shape[:first], prod(shape[first : last + 1]), *shape[last + 1 :]])


def _unflatten(call: Call) -> Plan:
    shape, dim, sizes = call.shapes[0], call.dim(1), list(call.option(2, "sizes"))
    if -1 in sizes:
        sizes[sizes.index(-1)] = shape[dim] // prod(size for size in sizes if size != -1)
    return _reshape_to(call, [*shape[:dim], *sizes, *shape[dim + 1 :]])


# ---- parts, and what is joined


def _in_terms(rule: Callable[[Call], Plan]) -> Callable[[Call], Plan]:
    def with_terms(call: Call) -> Plan:
        plan = rule(call)
        return plan._replace(choices=[*plan.choices, *(_TERMS if len(call.pieces) == 1 else [])])

    return with_terms


def _without(place: int, default: object = None) -> Callable[[Call], Plan]:
    """The rule of a function whose result does not have the dimension."""

    def rule(call: Call) -> Plan:
        dim = call.dim(place, "dim", default)
        remaining = [each for each in range(call.ndim) if each != dim]
        return Plan(_mapped(call, _permuted(remaining)))

    return rule


def _cat(call: Call) -> Plan:
    dim, count = call.dim(1, "dim", 0), len(call.pieces)
    others = [Choice((Shard(d),) * count, Shard(d)) for d in range(call.ndim) if d != dim]
    return Plan([Choice((Replicate(),) * count, Replicate()), *others, Choice((Partial(),) * count, Partial())])


def _stack(call: Call) -> Plan:
    dim, count = int(call.option(1, "dim", 0)) % (call.ndim + 1), len(call.pieces)
    others = [Choice((Shard(d),) * count, Shard(d + (d >= dim))) for d in range(call.ndim)]
    return Plan([Choice((Replicate(),) * count, Replicate()), *others, Choice((Partial(),) * count, Partial())])


def _getitem(call: Call) -> Plan | None:
    index = call.args[1] if isinstance(call.args[1], tuple) else (call.args[1],)
    if any(isinstance(each, (Tensor, list, bool)) for each in index):
        return None
    given = sum(isinstance(each, (int, slice)) for each in index)
    full: list[Any] = []
    for each in index:
        full += [slice(None)] * (call.ndim - given) if each is Ellipsis else [each]
    full += [slice(None)] * (call.ndim - sum(isinstance(each, (int, slice)) for each in full))
    moved, before, after = {}, 0, 0
    for each in full:
        if each is None:
            after += 1
            continue
        if each == slice(None):
            moved[before] = after
        after += isinstance(each, slice)
        before += 1
    return Plan(_mapped(call, moved))


def _repeat(call: Call) -> Plan:
    times = _sizes(call, "repeats")
    more = len(times) - call.ndim
    return Plan(_mapped(call, {dim: dim + more for dim in range(call.ndim) if times[dim + more] == 1}))


def _flip(call: Call) -> Plan:
    return Plan(along_others(call, dims_of(_sizes(call, "dims"), call.ndim)))


def _roll(call: Call) -> Plan:
    return Plan(along_others(call, dims_of(call.option(2, "dims"), call.ndim)))


VIEWS: dict[str, Callable[[Call], Plan | None]] = {
    "permute": _permute, "transpose": _transpose, "swapaxes": _transpose, "swapdims": _transpose, "t": _t, "T": _reversed,
    "mT": _matrix_transpose, "movedim": _movedim, "moveaxis": _movedim, "unsqueeze": _unsqueeze, "squeeze": _squeeze, "expand": _expand,
    "view": _view, "reshape": _view, "view_as": _like, "reshape_as": _like, "flatten": _flatten, "unflatten": _unflatten,
    "split": _in_terms(along(2, 0)), "chunk": _in_terms(along(2, 0)), "tensor_split": _in_terms(along(2, 0)),
    "narrow": _in_terms(along(1)), "index_select": along(1), "repeat_interleave": along(2), "select": _without(1),
    "unbind": _without(1, 0), "cat": _cat, "concat": _cat, "stack": _stack, "getitem": _getitem, "repeat": _repeat,
    "flip": _flip, "roll": _roll,
}  # fmt: skip
