"""What functions of DTensors over several processes compute: a rule says how arguments are to be spread, and how the result then is.

Of the ways that a rule allows, the one is taken for which the least is to be exchanged, for each dimension of the mesh. Functions without a
rule raise NotImplementedError if a process has not all elements.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..._core.fields import move_to_storage, requires_grad_flag, storage_of, version_of, view_record
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor
from ..._core.torch_function import DisableTorchFunctionSubclass
from ...autograd.grad_mode import is_grad_enabled
from ...ops import narrow
from .._collectives import ALL_REDUCE
from .._groups import ReduceOp
from .._tensors import exchange
from ._moving import moved
from ._pieces import PieceOfDTensor, local_of, stored, wrapped
from ._rules import COMPOSED, ELEMENTWISE, FILLS, RULES, Call, Choice, Plan
from ._rules._choices import OF_TENSOR_AND_NUMBER, Taken, changes_placement, cheapest, replaced
from ._rules._elementwise import elementwise, rounds
from ._specs import Spec
from .placement_types import Partial, Placement, Replicate, Shard, _StridedShard

__all__ = ["call"]

# Functions that ask for something that is the same for the piece and the whole, or sets it.
FACTS = {
    "dim", "ndimension", "element_size", "is_floating_point", "is_complex", "requires_grad_", "get_device", "is_signed", "is_contiguous",
    "register_post_accumulate_grad_hook", "data_ptr", "is_shared", "has_names", "is_inference", "is_pinned", "is_set_to",
    "retain_grad", "grad",
}  # fmt: skip
# Functions that give the elements to the host: those of the whole.
_READ = {"item", "float", "int", "bool", "complex", "index"}
# Functions with sizes of their own: what they make is the same in all processes.
_MADE = {"new_zeros", "new_ones", "new_full", "new_empty", "new_tensor"}
_PYTORCHS_NAMES = {"cross_entropy": "nll_loss_forward", "matmul": "mm", "linear": "mm"}
_OPERATORS = {
    "truediv": "div",
    "itruediv": "div",
    "rtruediv": "rdiv",
    "imatmul": "matmul",
    "rmatmul": "matmul",
    "invert": "logical_not",
    **dict.fromkeys(["floordiv", "ifloordiv", "rfloordiv"], "floor_divide"),
    **dict.fromkeys(["mod", "imod", "rmod"], "remainder"),
}


def _base_name(func: Callable[..., object]) -> str:
    """The name of a function, without the marks of operators and of in-place forms."""
    name: str = func.__name__
    if name.startswith("__") and name.endswith("__"):
        inner = _OPERATORS.get(name[2:-2], name[2:-2])
        for prefix in ("i", "r"):
            if inner not in ELEMENTWISE and inner.removeprefix(prefix) in ELEMENTWISE:
                inner = inner.removeprefix(prefix)
        return {"and": "logical_and", "or": "logical_or", "xor": "logical_xor"}.get(inner, inner)
    name = name.removeprefix("linalg_")
    return name if name in ELEMENTWISE or name in FACTS or name in FILLS else name.rstrip("_")


def call(func: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a function of DTensors gives."""
    name = _base_name(func)
    if name in ("get", "set", "delete"):
        return _attribute(func, args)
    if name in FACTS:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    pieces = [each for each in _tensors((args, kwargs)) if isinstance(each, PieceOfDTensor)]
    asked = Call(func, name, args, kwargs, pieces)
    if name in FILLS:
        return FILLS[name](asked)
    if name in COMPOSED and not _alike(pieces):
        found = COMPOSED[name](asked, _by_rule)
        if found is not None:
            return found
    _refuse_mixture(asked)
    if func.__name__.strip("_") in _READ and func.__name__ in ("item", f"__{func.__name__.strip('_')}__"):
        return func(local_of(pieces[0].redistribute(placements=[Replicate()] * pieces[0]._spec.mesh.ndim)))
    if name in _MADE or _alike(pieces):
        return _everywhere(asked)
    return _of_pieces(asked)


def _alike(pieces: Sequence[PieceOfDTensor]) -> bool:
    """Whether all processes have all elements."""
    return all(isinstance(each, Replicate) for piece in pieces for each in piece._spec.placements)


def _of_pieces(asked: Call) -> object:
    name, func, pieces = asked.name, asked.func, asked.pieces
    first: Any = asked.args[0] if asked.args else None
    if name in ELEMENTWISE:
        if _is_in_place(func) and isinstance(first, PieceOfDTensor):
            return _in_place(asked, first)
        specs = dict.fromkeys(piece._spec for piece in pieces)
        if len(specs) == 1 and not pieces[0]._spec.partial():
            # What is stored behind the end of a piece is computed too, so that all processes run the same programs.
            return wrapped(func(*_locals(tuple(asked.args)), **_locals(asked.kwargs)), pieces[0]._spec)
        return _by_rule(asked, Plan(elementwise(asked), made_whole=True))
    if name in ("norm", "vector_norm", "var", "std"):
        found = _of_moments(asked)
        if found is not None:
            return found
    rule = RULES.get(name)
    plan = None if rule is None or _is_in_place(func) else rule(asked)
    if plan is None:
        raise NotImplementedError(f"torchlike does not support {name} of DTensors over several processes yet")
    return _by_rule(asked, plan)


# ---- rules


def _by_rule(asked: Call, plan: Plan) -> Any:
    """Brings the arguments where the cheapest choice wants them, computes with the pieces, and says how the results are spread."""
    mesh = asked.pieces[0]._spec.mesh
    if any(piece._spec.mesh != mesh for piece in asked.pieces):
        raise NotImplementedError(f"torchlike does not support {asked.name} of DTensors on several meshes yet")
    taken = Taken(mesh, [cheapest(asked, plan, n) for n in range(mesh.ndim)])
    terms = frozenset(n for n, choice in enumerate(taken.choices) if not isinstance(choice.output, Replicate))
    locals_ = [
        _taken(piece, piece._spec.replaced(taken.inputs(number)).checked(), terms)
        for number, piece in enumerate(asked.pieces)
    ]
    remaining = iter(locals_)
    args, kwargs = replaced(tuple(asked.args), remaining), replaced(dict(asked.kwargs), remaining)
    result = asked.func(*args, **kwargs) if plan.run is None else plan.run(asked, taken, *args, **kwargs)
    return _results(result, asked, plan, taken)


def _taken(piece: PieceOfDTensor, spec: Spec, terms: frozenset[int]) -> Any:
    """A process's elements for a computation.

    Args:
        terms: the dimensions of the mesh along which the result differs between processes. If they all have an argument, each finds a term
            of its gradient.
    """
    added = frozenset(n for n in terms if isinstance(spec.placements[n], Replicate))
    local = local_of(piece)
    if not (is_grad_enabled() and requires_grad_flag(piece)):
        local = moved(local, piece._spec, spec)
    else:
        # Several functions of one tensor share what they take, so that its gradient is exchanged once.
        shared = piece._shared = {} if piece._shared is None or piece.is_leaf else piece._shared
        key = (spec.placements, added, version_of(piece))
        found = shared.get(key)
        local = moved(local, piece._spec, spec, added) if found is None else found
        if not piece.is_leaf:
            shared[key] = local
    for dim, _ in spec.cut():
        if local.shape[dim] != spec.own(dim):
            local = narrow(local, dim, 0, spec.own(dim))
    return local


def _results(result: Any, asked: Call, plan: Plan, taken: Taken) -> object:
    if isinstance(result, (list, tuple)):
        parts = [_results(each, asked, plan, taken) for each in result]
        kind: Any = type(result)
        return kind(*parts) if hasattr(result, "_fields") else kind(parts)
    if not isinstance(result, Tensor):
        return result
    shape = list(result.shape) if plan.shape is None else list(plan.shape)
    if plan.shape is None:
        for choice in taken.choices:
            if isinstance(choice.output, Shard):
                shape[choice.output.dim] = _length(asked, choice)
    spec = Spec(taken.mesh, tuple(taken.output), tuple(shape)).checked()
    return wrapped(stored(result, spec), spec)


def _length(asked: Call, choice: Choice) -> int:
    """The length of the result along the dimension that is cut: that of the argument that is cut."""
    for piece, placement in zip(asked.pieces, choice.inputs, strict=True):
        if isinstance(placement, Shard):
            return piece._spec.shape[placement.dim]
    raise AssertionError("a result is cut, and no argument")


def _in_place(asked: Call, first: PieceOfDTensor) -> PieceOfDTensor:
    """Writes into a DTensor, which remains spread as it is."""
    spec, others = first._spec, []
    written = frozenset(n for n, own in enumerate(spec.placements) if not isinstance(own, Replicate))
    # Terms of others can be added to terms, and terms can be multiplied.
    fitting = [choice for choice in elementwise(asked) if isinstance(choice.inputs[0], Partial)]
    for number, piece in enumerate(asked.pieces[1:], 1):
        placements = [_beside(own, piece, spec, number, fitting, asked) for own in spec.placements]
        added = frozenset(n for n in written if isinstance(placements[n], Replicate))
        others.append(moved(local_of(piece), piece._spec, piece._spec.replaced(placements), added))
    scales = asked.name in ("zero_", "mul", "multiply", "div", "divide") and not rounds(asked)
    if spec.partial() and len(asked.pieces) == 1 and not scales:
        raise changes_placement(asked)
    remaining = iter([local_of(first), *others])
    args = replaced(tuple(asked.args), remaining)
    asked.func(*args, **replaced(dict(asked.kwargs), remaining))
    return first


def _beside(
    own: Placement, piece: PieceOfDTensor, spec: Spec, number: int, fitting: Sequence[Choice], asked: Call
) -> Placement:
    """The placement of another argument beside that of the tensor that is written to."""
    if isinstance(own, Partial):
        for choice in fitting:
            if choice.inputs[0] == own:
                return choice.inputs[number]
        raise changes_placement(asked)
    if not isinstance(own, (Shard, _StridedShard)):
        return Replicate()
    shape = piece._spec.shape
    dim = own.dim - len(spec.shape) + len(shape)
    return Replicate() if dim < 0 or shape[dim] == 1 else dataclasses.replace(own, dim=dim)


def _of_moments(asked: Call) -> object:
    """Norms and variances by the sums that they are made of."""
    (piece, *_), name = asked.pieces, asked.name
    options, args = dict(asked.kwargs), list(asked.args[1:])
    if name in ("var", "std"):
        if (
            len(args) > 1
            or isinstance(args and args[0], bool)
            or set(options) - {"dim", "keepdim", "unbiased", "correction"}
        ):
            return None
        dim, keepdim = args[0] if args else options.get("dim"), options.get("keepdim", False)
        correction = options.get("correction", 1 if options.get("unbiased", True) else 0)
        x: Any = piece
        dims = list(range(x.dim())) if dim is None else dim
        count = x.numel() if dim is None else _product(x.shape, dim)
        centred = x - x.mean(dims, keepdim=True)
        found = centred.square().sum(dims, keepdim=keepdim) / max(0, count - correction)
        return found.sqrt() if name == "std" else found
    given: Any = options.pop("p", options.pop("ord", args.pop(0) if args else None))
    order = 2.0 if given in ("fro", None) else float(given)
    dim = options.pop("dim", args.pop(0) if args else None)
    keepdim = bool(options.pop("keepdim", args.pop(0) if args else False))
    if args or any(value is not None for value in options.values()):
        return None
    if dim is None and not keepdim and not (is_grad_enabled() and piece.requires_grad) and not piece._spec.partial():
        return _norm(piece, order)
    magnitudes: Any = piece.abs()  # pyright: ignore[reportAttributeAccessIssue]
    dims = list(range(piece.dim())) if dim is None else dim
    if abs(order) == float("inf"):
        return getattr(magnitudes, "amax" if order > 0 else "amin")(dims, keepdim)
    if order == 0:
        return (magnitudes != 0).to(piece.dtype).sum(dims, keepdim)
    if order == 2:
        return piece.square().sum(dims, keepdim).sqrt()  # pyright: ignore[reportAttributeAccessIssue]
    return (magnitudes**order).sum(dims, keepdim) ** (1.0 / order)


def _product(shape: Sequence[int], dim: list[int] | tuple[int, ...] | int) -> int:
    count = 1
    for each in dim if isinstance(dim, (list, tuple)) else [dim]:
        count *= shape[each]
    return count


def _norm(piece: PieceOfDTensor, order: float) -> PieceOfDTensor:
    """The norm of a whole tensor, without a gradient: one number is exchanged."""
    spec, local = piece._spec, piece.to_local()
    op = {float("inf"): ReduceOp.MAX, -float("inf"): ReduceOp.MIN}.get(order, ReduceOp.SUM)
    magnitudes: Any = local.abs()  # pyright: ignore[reportAttributeAccessIssue]
    if op is not ReduceOp.SUM:
        if not magnitudes.numel():
            magnitudes = magnitudes.new_full((1,), 0.0 if order > 0 else float("inf"))
        number = magnitudes.max() if order > 0 else magnitudes.min()
    else:
        number = (magnitudes**order).sum() if order else (local != 0).sum().to(local.dtype)  # pyright: ignore[reportAttributeAccessIssue]
    for _, n in spec.cut():
        group = spec.mesh.get_group(n)
        if group.size() > 1:
            (number,) = exchange(ALL_REDUCE, group, (op,), [number])
    if op is ReduceOp.SUM and order:
        number = number ** (1.0 / order)
    return wrapped(number, Spec(spec.mesh, (Replicate(),) * spec.mesh.ndim, ()))


# ---- attributes


_VIEWS_OF = {"T", "mT"}


def _attribute(func: Callable[..., object], args: Sequence[Any]) -> object:
    getter = getattr(getattr(func, "__self__", None), "fget", None)
    name = getattr(getter, "__name__", "")
    new = args[1] if len(args) > 1 else None
    if isinstance(new, Tensor):
        if name != "data" or not isinstance(new, PieceOfDTensor) or new._spec != args[0]._spec:
            raise RuntimeError(
                f"torchlike does not support setting the attribute {name} of a DTensor over several processes to a tensor that is spread "
                "in another way"
            )
        new = as_class(Tensor, new)
        move_to_storage(args[0], storage_of(new), view_record(new))
        return None
    if name in _VIEWS_OF:
        return _by_rule(*_with_plan(func, name, args))
    with DisableTorchFunctionSubclass():
        found = func(*args)
    if not isinstance(found, Tensor):
        return found
    if name not in ("data", "grad"):
        raise NotImplementedError(
            f"torchlike does not support the attribute {name} of DTensors over several processes yet"
        )
    return wrapped(as_class(Tensor, found), args[0]._spec)


def _with_plan(func: Callable[..., object], name: str, args: Sequence[PieceOfDTensor]) -> tuple[Call, Plan]:
    asked = Call(func, name, args, {}, [args[0]])
    plan = RULES[name](asked)
    assert plan is not None
    return asked, plan


# ---- arguments


def _tensors(argument: object) -> Iterator[Tensor]:
    if isinstance(argument, Mapping):
        argument = tuple(argument.values())
    if isinstance(argument, (list, tuple)):
        for each in argument:
            yield from _tensors(each)
    elif isinstance(argument, Tensor):
        yield argument


def _locals(argument: object) -> Any:
    """The argument with what this process stores in place of DTensors."""
    if isinstance(argument, Mapping):
        return {key: _locals(each) for key, each in argument.items()}
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        return type(argument)(map(_locals, argument))
    return local_of(argument) if isinstance(argument, PieceOfDTensor) else argument


def _everywhere(asked: Call) -> object:
    """Calls a function of tensors that each process has as a whole."""
    result = asked.func(*_locals(tuple(asked.args)), **_locals(asked.kwargs))
    first = asked.args[0] if asked.args else None
    if isinstance(first, PieceOfDTensor) and _is_in_place(asked.func):
        return first
    mesh = asked.pieces[0]._spec.mesh
    return _results(result, asked, Plan([]), Taken(mesh, [Choice((), Replicate())] * mesh.ndim))


def _is_in_place(func: Callable[..., object]) -> bool:
    name: str = func.__name__
    operator = name.startswith("__i") and name.endswith("__") and name not in ("__invert__", "__index__", "__int__")
    return operator or (name.endswith("_") and not name.endswith("__"))


def _refuse_mixture(asked: Call) -> None:
    """Refuses plain tensors beside DTensors, as PyTorch does, but for numbers."""
    for each in _tensors((tuple(asked.args), asked.kwargs)):
        if not isinstance(each, PieceOfDTensor) and each.dim():
            name = _PYTORCHS_NAMES.get(asked.name, asked.name)
            overload = "Tensor" if name in OF_TENSOR_AND_NUMBER else "default"
            raise RuntimeError(
                f"aten.{name}.{overload} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
                "distributed operators!"
            )


PieceOfDTensor._call = staticmethod(call)  # pyright: ignore[reportPrivateUsage]
