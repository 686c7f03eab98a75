"""Reductions: along a dimension that is cut, each process has a term of the result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from ...._core.fields import requires_grad_flag
from ....autograd.grad_mode import is_grad_enabled
from ..placement_types import Partial, Replicate, Shard
from ._choices import Call, Choice, Plan, Taken, dims_of

__all__ = ["REDUCTIONS"]


def _remaining(ndim: int, reduced: list[int], keepdim: bool) -> dict[int, int]:
    """Where the other dimensions are in the result."""
    others = [dim for dim in range(ndim) if dim not in reduced]
    return {dim: dim if keepdim else place for place, dim in enumerate(others)}


def _others(call: Call, reduced: list[int], keepdim: bool) -> list[Choice]:
    moved: Mapping[int, int] = _remaining(call.ndim, reduced, keepdim)
    return [Choice((Replicate(),), Replicate()), *(Choice((Shard(a),), Shard(b)) for a, b in moved.items())]


def _divides(call: Call, dim: int) -> bool:
    spec = call.pieces[0]._spec
    return all(spec.shape[dim] % size == 0 for size in spec.mesh.shape)


def _sum(call: Call) -> Plan:
    reduced, keepdim = dims_of(call.option(1, "dim"), call.ndim), bool(call.option(2, "keepdim", False))
    terms = [Choice((Shard(dim),), Partial()) for dim in reduced]
    return Plan([*_others(call, reduced, keepdim), *terms, Choice((Partial(),), Partial())])


def _mean(call: Call) -> Plan:
    reduced, keepdim = dims_of(call.option(1, "dim"), call.ndim), bool(call.option(2, "keepdim", False))
    shape = call.shapes[0]
    if all(_divides(call, dim) for dim in reduced):
        terms = [Choice((Shard(dim),), Partial("avg")) for dim in reduced]
        return Plan([*_others(call, reduced, keepdim), *terms, Choice((Partial(),), Partial())])
    count = prod(shape[dim] for dim in reduced)

    def run(call: Call, taken: Taken, tensor: Any, *args: object, **kwargs: object) -> object:
        # Each element counts the same, and not each process's mean.
        return tensor.sum(tuple(reduced), keepdim, dtype=kwargs.get("dtype")) / count

    return Plan([*_others(call, reduced, keepdim), *(Choice((Shard(dim),), Partial()) for dim in reduced)], run)


def _every_process_has_some(call: Call, dim: int) -> bool:
    spec = call.pieces[0]._spec
    return all(-(-spec.shape[dim] // size) * (size - 1) < spec.shape[dim] for size in spec.mesh.shape)


def _extreme(op: str) -> Callable[[Call], Plan | None]:
    def rule(call: Call) -> Plan | None:
        if len(call.pieces) > 1:
            return None
        with_dim = len(call.args) > 1 or "dim" in call.kwargs
        reduced, keepdim = dims_of(call.option(1, "dim"), call.ndim), bool(call.option(2, "keepdim", False))
        choices = _others(call, reduced, keepdim)
        # The gradient goes to the elements that are the largest of all, and an index is one in the whole.
        learns = is_grad_enabled() and requires_grad_flag(call.pieces[0])
        if not learns and not (with_dim and call.name in ("max", "min")):
            choices += [Choice((Shard(d),), Partial(op)) for d in reduced if _every_process_has_some(call, d)]
        return Plan(choices)

    return rule


def _truth(op: str) -> Callable[[Call], Plan]:
    def rule(call: Call) -> Plan:
        reduced, keepdim = dims_of(call.option(1, "dim"), call.ndim), bool(call.option(2, "keepdim", False))
        return Plan([*_others(call, reduced, keepdim), *(Choice((Shard(dim),), Partial(op)) for dim in reduced)])

    return rule


def _whole(place: int, name: str = "dim") -> Callable[[Call], Plan]:
    """The rule of a reduction that needs all elements along its dimensions."""

    def rule(call: Call) -> Plan:
        reduced = dims_of(call.option(place, name), call.ndim)
        keepdim = bool(call.kwargs.get("keepdim", call.args[place + 1] if len(call.args) > place + 1 else False))
        return Plan(_others(call, reduced, keepdim))

    return rule


REDUCTIONS: dict[str, Callable[[Call], Plan | None]] = {
    "sum": _sum, "mean": _mean, "max": _extreme("max"), "amax": _extreme("max"), "min": _extreme("min"), "amin": _extreme("min"),
    "all": _truth("min"), "any": _truth("max"), "prod": _whole(1), "argmax": _whole(1), "argmin": _whole(1), "logsumexp": _whole(1),
    "norm": _whole(2), "vector_norm": _whole(2),
}  # fmt: skip
