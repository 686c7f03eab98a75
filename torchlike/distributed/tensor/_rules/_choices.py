"""What a rule says: along one dimension of the mesh, the placements of a function's arguments and of its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from ...._core.tensor import Tensor
from ..._groups import ProcessGroup
from ...device_mesh import DeviceMesh
from .._pieces import PieceOfDTensor
from .._specs import Spec
from ..placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "Call",
    "Choice",
    "Plan",
    "Taken",
    "along",
    "along_others",
    "changes_placement",
    "cheapest",
    "dims_of",
    "replaced",
]

R = Replicate()


class Call(NamedTuple):
    """A call of a function, and the DTensors among its arguments in their order."""

    func: Callable[..., Any]
    name: str
    args: Sequence[Any]
    kwargs: Mapping[str, Any]
    pieces: list[PieceOfDTensor]

    @property
    def shapes(self) -> list[tuple[int, ...]]:
        return [piece._spec.shape for piece in self.pieces]

    @property
    def ndim(self) -> int:
        """The number of dimensions of the first DTensor."""
        return len(self.shapes[0])

    def option(self, place: int, name: str, default: object = None) -> Any:
        """An argument that is given by its place or by its name."""
        return self.args[place] if len(self.args) > place else self.kwargs.get(name, default)

    def dim(self, place: int, name: str = "dim", default: object = None) -> int:
        """An argument that is a dimension of the first DTensor, counted from the front."""
        return int(self.option(place, name, default)) % max(self.ndim, 1)


class Choice(NamedTuple):
    """Placements along one dimension of the mesh, of all DTensors and of the result (or all results)."""

    inputs: tuple[Placement, ...]
    output: Placement


class Taken(NamedTuple):
    """The choices that were made, for each dimension of the mesh."""

    mesh: DeviceMesh
    choices: list[Choice]

    def inputs(self, number: int) -> list[Placement]:
        return [choice.inputs[number] for choice in self.choices]

    @property
    def output(self) -> list[Placement]:
        return [choice.output for choice in self.choices]

    def group(self, n: int) -> ProcessGroup:
        return self.mesh.get_group(n)


class Plan(NamedTuple):
    """The choices; a function of ``(call, taken, *args, **kwargs)`` that computes with the pieces, where it is not the called one; and the
    shape of the result, where it does not follow from those of the arguments.
    """

    choices: Sequence[Choice]
    run: Callable[..., object] | None = None
    shape: tuple[int, ...] | None = None
    made_whole: bool = False  # whether terms become whole tensors, and not pieces, where that takes more


def dims_of(dim: Any, ndim: int) -> list[int]:
    """Dimensions, one or several or None for all, counted from the front."""
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return list(range(ndim))
    return [int(each) % max(ndim, 1) for each in (dim if isinstance(dim, (list, tuple)) else [dim])]


def along_others(call: Call, dims: Sequence[int], moved: Mapping[int, int] | None = None) -> list[Choice]:
    """The choices of a function of one DTensor that needs all elements along some dimensions.

    Args:
        moved: where the other dimensions are in the result; by default at the same places.
    """
    copies = (R,) * (len(call.pieces) - 1)
    others = [dim for dim in range(call.ndim) if dim not in dims]
    return [
        Choice((R, *copies), R),
        *(Choice((Shard(dim), *copies), Shard(dim if moved is None else moved[dim])) for dim in others),
    ]


def along(place: int, default: object = None) -> Callable[[Call], Plan]:
    """The rule of a function that needs all elements along one dimension, which remains in the result.

    Args:
        place: of the argument ``dim``, with its default. Without a dimension the function needs all elements.
    """

    def rule(call: Call) -> Plan:
        if call.option(place, "dim", default) is None:
            return Plan([Choice((R,) * len(call.pieces), R)])
        return Plan(along_others(call, [call.dim(place, "dim", default)]))

    return rule


def _cost(spec: Spec, n: int, after: Placement, made_whole: bool) -> float:
    """What it takes to bring a tensor into another placement: the elements that a process receives, and a little for each exchange."""
    before = spec.placements[n]
    if before == after or (isinstance(before, Replicate) and isinstance(after, Shard)):
        return 0.0
    size = float(prod(spec.shape))
    if isinstance(after, Partial):
        return 0.0 if isinstance(before, Replicate) and after.reduce_op == "sum" else float("inf")
    if isinstance(before, Partial):
        return (2.0 if isinstance(after, Replicate) else 3.0 if made_whole else 1.0) * size + 2.0
    # Cutting along another dimension takes less than gathering, but PyTorch gathers.
    return size + 1.0 if isinstance(after, Replicate) else 1.5 * size + 1.0


def cheapest(call: Call, plan: Plan, n: int) -> Choice:
    """The choice for which the least has to be exchanged along a dimension of the mesh; the first of several."""
    specs = [piece._spec for piece in call.pieces]

    def cost(choice: Choice) -> float:
        pairs = zip(specs, choice.inputs, strict=True)
        return sum(_cost(spec, n, after, plan.made_whole) for spec, after in pairs)

    return min(plan.choices, key=cost)


def replaced(argument: object, locals_: Iterator[Tensor]) -> Any:
    """The argument with the next ones of these tensors in place of its DTensors."""
    if isinstance(argument, Mapping):
        return {key: replaced(each, locals_) for key, each in argument.items()}
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        return type(argument)([replaced(each, locals_) for each in argument])
    return next(locals_) if isinstance(argument, PieceOfDTensor) else argument


# Those of which PyTorch has a form for a tensor and one for a number.
OF_TENSOR_AND_NUMBER = {"add", "div", "eq", "ge", "gt", "le", "lt", "mul", "ne", "sub"}


def changes_placement(call: Call) -> RuntimeError:
    """PyTorch's error for a function that would write a tensor in another layout than its own."""
    name = call.func.__name__
    name = f"{call.name}_" if name.startswith("__") else name
    overload = "Tensor" if call.name in OF_TENSOR_AND_NUMBER else "default"
    return RuntimeError(
        f"aten.{name}.{overload}: in-place operations that require placement changes are not supported. The input has placement "
        f"{call.pieces[0].placements}, but no valid strategy preserves this placement. Please use the out-of-place version of this "
        "operation instead."
    )
