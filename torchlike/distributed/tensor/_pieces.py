"""DTensors over several processes: each process keeps its piece, and knows the shape of the whole.

A piece is stored with zeros at its end where the whole does not divide, so that all processes run the same programs. Elementwise
functions compute with the pieces alone; those that reduce a whole tensor to one number exchange what each process has found. All others
raise NotImplementedError: they would need the elements of other processes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NamedTuple, NoReturn

from ..._core.fields import (
    grad_of,
    is_marked,
    mark_as_parameter,
    move_to_storage,
    requires_grad_flag,
    set_grad,
    set_requires_grad,
    storage_of,
    view_record,
)
from ..._core.size import Size
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor
from ..._core.torch_function import DisableTorchFunctionSubclass
from ...autograd.function import Function, FunctionCtx
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...ops import cat, narrow
from .._collectives import ALL_GATHER, ALL_REDUCE
from .._groups import ProcessGroup, ReduceOp
from .._tensors import broadcast, exchange
from ..device_mesh import DeviceMesh
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = ["PieceOfDTensor", "Spec", "distributed", "from_piece", "local_of", "wrapped"]


class Spec(NamedTuple):
    """How a tensor is spread over processes: the mesh, the placement along each of its dimensions, the shape of the whole."""

    mesh: DeviceMesh
    placements: tuple[Placement, ...]
    shape: tuple[int, ...]

    def cut(self) -> list[tuple[int, int]]:
        """The dimensions of the tensor that are cut, each with the dimension of the mesh."""
        return [(placement.dim, n) for n, placement in enumerate(self.placements) if isinstance(placement, Shard)]

    def checked(self) -> Spec:
        """The same, if it is supported.

        Raises:
            NotImplementedError: a partial placement, or a dimension that is cut twice.
        """
        for placement in self.placements:
            if isinstance(placement, Partial):
                raise NotImplementedError(f"torchlike does not support tensors with the placement {placement!r} yet")
        dims = [dim for dim, _ in self.cut()]
        if len(set(dims)) != len(dims):
            raise NotImplementedError(
                "torchlike does not support tensors over several processes of which two dimensions of the mesh cut the same dimension yet"
            )
        return self

    def stored(self, dim: int) -> int:
        """The length of the piece that a process keeps along a dimension."""
        parts = prod(self.mesh.size(n) for cut, n in self.cut() if cut == dim)
        return -(-self.shape[dim] // parts)

    def begin(self, dim: int) -> int:
        """Where this process's piece begins along a dimension."""
        return sum(self.stored(dim) * self.mesh.get_local_rank(n) for cut, n in self.cut() if cut == dim)

    def own(self, dim: int) -> int:
        """The length of this process's piece without the zeros."""
        return max(0, min(self.stored(dim), self.shape[dim] - self.begin(dim)))


class PieceOfDTensor(Tensor):
    """A DTensor over several processes. Its storage is this process's piece."""

    _spec: Spec

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return _call(func, args, kwargs or {})

    # ---- what it is, as a whole

    @property
    def shape(self) -> Size:  # pyright: ignore[reportIncompatibleVariableOverride]
        return Size(self._spec.shape)

    def size(self, dim: int | None = None) -> Size | int:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return prod(self._spec.shape)

    nelement = numel

    @property
    def nbytes(self) -> int:
        return self.numel() * self.element_size()

    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        strides = tuple(prod(self._spec.shape[n + 1 :]) for n in range(len(self._spec.shape)))
        return strides if dim is None else strides[dim]

    def __len__(self) -> int:
        if not self._spec.shape:
            raise TypeError("len() of a 0-d tensor")
        return self._spec.shape[0]

    @property
    def device_mesh(self) -> DeviceMesh:
        return self._spec.mesh

    @property
    def placements(self) -> tuple[Placement, ...]:
        return self._spec.placements

    @property
    def grad(self) -> Tensor | None:  # pyright: ignore[reportIncompatibleVariableOverride]
        # The engine accumulates plain tensors, as large as what is stored.
        grad = grad_of(self)
        if grad is not None and not isinstance(grad, PieceOfDTensor):
            grad = wrapped(grad, self._spec)
            set_grad(self, grad)
        return grad

    @grad.setter
    def grad(self, grad: Tensor | None) -> None:
        if grad is not None and not (isinstance(grad, PieceOfDTensor) and grad._spec == self._spec):
            raise RuntimeError("assigned grad has data of a different type")
        set_grad(self, grad)

    @grad.deleter
    def grad(self) -> None:
        set_grad(self, None)

    # ---- what each process has, and the whole

    def to_local(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Returns this process's piece. Gradients flow back."""
        piece: Any = local_of(self)
        for dim, _ in self._spec.cut():
            if self._spec.own(dim) != piece.shape[dim]:
                piece = narrow(piece, dim, 0, self._spec.own(dim))
        return piece

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Returns the whole tensor. All processes call it. Gradients flow back."""
        return _Whole.apply(local_of(self), self._spec)  # pyright: ignore[reportReturnType]

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: object = None,
        backward_dtype: object = None,
    ) -> Tensor:
        """Returns the tensor with other placements. All processes call it."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError(
                "torchlike does not support redistribute(forward_dtype=..., backward_dtype=...) yet"
            )
        for before, after in zip(self._spec.placements, placements, strict=True):
            if isinstance(after, Partial):
                raise RuntimeError(
                    f"Can not redistribute from {before} to {after}, redistributing to Partial is for internal use only!"
                )
        spec = Spec(self._spec.mesh, tuple(placements), self._spec.shape).checked()
        return wrapped(_cut(self.full_tensor(), spec), spec)

    def _as_its_kind(self, local: Tensor) -> Tensor:
        """A tensor like what this process stores, as the state that an optimizer keeps for the whole."""
        return wrapped(local, self._spec)

    # ---- copies and text

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        copy = memo.get(id(self))
        if copy is None:
            with no_grad():
                made: Any = local_of(self.detach()).clone()  # pyright: ignore[reportAttributeAccessIssue, reportArgumentType]
            copy = memo[id(self)] = wrapped(made, self._spec)
            set_requires_grad(copy, requires_grad_flag(self))
            if is_marked(self):
                mark_as_parameter(copy)
        return copy

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise NotImplementedError(
            "torchlike does not support pickling a DTensor over several processes yet: save its full_tensor()"
        )

    def __repr__(self, *, tensor_contents: object = None) -> str:
        with no_grad():
            local = self.detach().to_local()  # pyright: ignore[reportAttributeAccessIssue]
        text = f"DTensor(local_tensor={local!r}, device_mesh={self._spec.mesh!r}, placements={self._spec.placements!r})"
        return f"Parameter containing:\n{text}" if is_marked(self) else text

    __str__ = __repr__
    __hash__ = Tensor.__hash__

    def __format__(self, spec: str) -> str:
        return format(str(self), spec) if self._spec.shape else format(self.item(), spec)  # pyright: ignore[reportAttributeAccessIssue]

    # ---- what would take the piece for the whole: transforms, other libraries. ``local_of`` gives the piece as a plain tensor.

    def _value(self) -> NoReturn:
        raise NotImplementedError("torchlike does not support this operation with DTensors over several processes yet")

    def __jax_array__(self) -> NoReturn:
        raise NotImplementedError("torchlike does not support JAX's functions of DTensors over several processes yet")

    @property
    def jax(self) -> NoReturn:
        return self.__jax_array__()

    def __dlpack__(self, **options: object) -> NoReturn:
        raise NotImplementedError("torchlike does not support dlpack of DTensors over several processes yet")


PieceOfDTensor.__name__ = PieceOfDTensor.__qualname__ = "DTensor"  # what programs see


def wrapped(local: Tensor, spec: Spec) -> PieceOfDTensor:
    """A DTensor over what this process stores, history and all."""
    result: Any = as_class(PieceOfDTensor, local)
    result._spec = spec
    return result


class _Local(Function):
    """What a process stores of a leaf: the gradient of the one is that of the other."""

    @staticmethod
    def forward(ctx: FunctionCtx, piece: Any) -> Tensor:
        ctx.set_materialize_grads(False)  # a parameter that was not used has no gradient
        return as_class(Tensor, piece).detach().view_as(as_class(Tensor, piece))  # pyright: ignore[reportAttributeAccessIssue]

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> object:
        return grads[0]


def local_of(piece: PieceOfDTensor) -> Any:
    """What this process stores. Gradients flow back."""
    if is_grad_enabled() and requires_grad_flag(piece) and piece.is_leaf:
        with DisableTorchFunctionSubclass():
            return _Local.apply(piece)
    return as_class(Tensor, piece)


# ---- between pieces and wholes


def _cut(whole: Tensor, spec: Spec) -> Any:
    """This process's part of a whole tensor, as it is stored."""
    piece: Any = whole
    for dim, _ in spec.cut():
        begin = min(spec.begin(dim), spec.shape[dim])
        piece = narrow(piece, dim, begin, spec.own(dim))
        more = spec.stored(dim) - spec.own(dim)
        if more:
            shape = list(piece.shape)
            shape[dim] = more
            piece = cat([piece, piece.new_zeros(shape)], dim)
    return piece.clone()  # a view would keep the whole in memory


def _joined(piece: Tensor, spec: Spec) -> Tensor:
    """The whole tensor, from what all processes store."""
    whole: Any = piece
    for dim, n in reversed(spec.cut()):
        group = spec.mesh.get_group(n)
        if group.size() > 1:
            rows = exchange(ALL_GATHER, group, (), [whole.contiguous()])[0].unbind()
            whole = cat(list(rows), dim)
        whole = narrow(whole, dim, 0, spec.shape[dim])
    return whole


class _Whole(Function):
    """The whole tensor. Each process's gradient of it counts for its own piece, as in PyTorch."""

    @staticmethod
    def forward(ctx: FunctionCtx, piece: Tensor, spec: Spec) -> Tensor:
        ctx.spec = spec
        with no_grad():
            return _joined(piece, spec)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> object:
        with no_grad():
            return _cut(grads[0], ctx.spec), None


class _Stored(Function):
    """A piece with the zeros that are stored at its end."""

    @staticmethod
    def forward(ctx: FunctionCtx, piece: Any, spec: Spec) -> Tensor:
        ctx.shape, ctx.spec = tuple(piece.shape), spec
        for dim, _ in spec.cut():
            more = spec.stored(dim) - piece.shape[dim]
            if more:
                shape = list(piece.shape)
                shape[dim] = more
                piece = cat([piece, piece.new_zeros(shape)], dim)
        return piece.view_as(piece)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> object:
        grad: Any = grads[0]
        for dim, length in enumerate(ctx.shape):
            grad = narrow(grad, dim, 0, length)
        return grad, None


def distributed(
    tensor: Tensor, mesh: DeviceMesh, placements: tuple[Placement, ...], source: int | None
) -> PieceOfDTensor:
    """A leaf: the DTensor of a whole tensor, which all processes get from the first one of each dimension of the mesh."""
    spec = Spec(mesh, placements, tuple(tensor.shape)).checked()
    with no_grad():
        whole = tensor.detach().clone()
        if source is not None:
            for n in range(mesh.ndim):
                group = mesh.get_group(n)
                if group.size() > 1:
                    broadcast(whole, group=group, group_src=source)
        piece = _cut(whole, spec)
    piece._value().finish()  # what is pending would keep the whole in memory
    result = wrapped(piece, spec)
    set_requires_grad(result, requires_grad_flag(tensor))
    return result


def from_piece(
    local: Tensor, mesh: DeviceMesh, placements: tuple[Placement, ...], shape: Sequence[int] | None
) -> PieceOfDTensor:
    """The DTensor of the pieces of all processes. Gradients flow back.

    Raises:
        RuntimeError: the piece does not fit the shape of the whole.
    """
    if shape is None:
        whole = list(local.shape)
        for n, placement in enumerate(placements):
            if isinstance(placement, Shard):
                whole[placement.dim] *= mesh.size(n)
        shape = whole
    spec = Spec(mesh, placements, tuple(shape)).checked()
    expected = [spec.own(dim) for dim in range(len(spec.shape))]
    if list(local.shape) != expected:
        raise RuntimeError(
            f"this process's piece of a tensor of shape {list(shape)} has the shape {expected}, got {list(local.shape)}"
        )
    return wrapped(_Stored.apply(local, spec), spec)


# ---- functions of them

# Functions that compute each element of the result from the elements at its place.
ELEMENTWISE = {
    "abs", "add", "addcdiv", "addcmul", "ceil", "clamp", "clamp_max", "clamp_min", "clip", "clone", "contiguous", "copy_", "detach",
    "detach_", "div", "divide", "double", "empty_like", "eq", "exp", "fill_", "float", "floor", "full_like", "ge", "gt", "half", "bfloat16",
    "isfinite", "isinf", "isnan", "le", "lerp", "log", "lt", "maximum", "minimum", "mul", "multiply", "nan_to_num", "ne", "neg", "negative",
    "ones_like", "pow", "reciprocal", "relu", "round", "rsqrt", "rsub", "sigmoid", "sign", "sqrt", "square", "sub", "subtract", "tanh",
    "to", "true_divide", "trunc", "type_as", "where", "zero_", "zeros_like", "cpu",
}  # fmt: skip
# Those of which PyTorch has a form for a tensor and one for a number.
_OF_TENSOR_AND_NUMBER = {"add", "div", "eq", "ge", "gt", "le", "lt", "mul", "ne", "sub"}
# Functions that ask for something that is the same for the piece and the whole, or sets it.
FACTS = {
    "dim", "ndimension", "element_size", "is_floating_point", "is_complex", "requires_grad_", "get_device", "is_signed", "is_contiguous",
    "register_post_accumulate_grad_hook", "data_ptr", "is_shared", "is_same_size", "has_names", "is_inference", "is_pinned", "is_set_to",
}  # fmt: skip
# Reductions of a whole tensor to one number: what processes exchange.
REDUCTIONS = {
    "sum": ReduceOp.SUM, "mean": ReduceOp.SUM, "norm": ReduceOp.SUM, "vector_norm": ReduceOp.SUM, "max": ReduceOp.MAX, "amax": ReduceOp.MAX,
    "min": ReduceOp.MIN, "amin": ReduceOp.MIN, "all": ReduceOp.MIN, "any": ReduceOp.MAX,
}  # fmt: skip


def _base_name(func: Callable[..., object]) -> str:
    """The name of a function, without the marks of operators and of in-place forms."""
    name: str = func.__name__
    if name.startswith("__") and name.endswith("__"):
        inner = {"truediv": "div", "itruediv": "div", "rtruediv": "div"}.get(name[2:-2], name[2:-2])
        for prefix in ("i", "r"):
            if inner not in ELEMENTWISE and inner.removeprefix(prefix) in ELEMENTWISE:
                inner = inner.removeprefix(prefix)
        return inner
    name = name.removeprefix("linalg_")
    return name if name in ELEMENTWISE or name in FACTS else name.rstrip("_")


def _call(func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object]) -> object:
    name = _base_name(func)
    pieces = [each for each in _tensors((args, kwargs)) if isinstance(each, PieceOfDTensor)]
    if name in ("get", "set", "delete"):
        return _attribute(func, args)
    if name in FACTS:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    specs = list(dict.fromkeys(each._spec for each in pieces if each._spec.cut()))
    if not specs:
        return _everywhere(func, args, kwargs, pieces[0]._spec.mesh)
    if name in ELEMENTWISE and len(specs) == 1:
        return _elementwise(func, args, kwargs, specs[0])
    if name in REDUCTIONS and len(pieces) == 1:
        return _reduction(func, name, pieces[0], args, kwargs)
    raise NotImplementedError(f"torchlike does not support {name} of DTensors over several processes yet")


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
    with DisableTorchFunctionSubclass():
        found = func(*args)
    if not isinstance(found, Tensor):
        return found
    if name not in ("data", "grad"):
        raise NotImplementedError(
            f"torchlike does not support the attribute {name} of DTensors over several processes yet"
        )
    return wrapped(as_class(Tensor, found), args[0]._spec)


def _tensors(argument: object) -> list[Tensor]:
    if isinstance(argument, Mapping):
        return [tensor for each in argument.values() for tensor in _tensors(each)]
    if isinstance(argument, (list, tuple)):
        return [tensor for each in argument for tensor in _tensors(each)]
    return [argument] if isinstance(argument, Tensor) else []


def _locals(argument: object) -> Any:
    """The argument with what this process stores in place of DTensors."""
    if isinstance(argument, Mapping):
        return {key: _locals(each) for key, each in argument.items()}
    if isinstance(argument, (list, tuple)) and not hasattr(argument, "_fields"):
        return type(argument)(map(_locals, argument))
    return local_of(argument) if isinstance(argument, PieceOfDTensor) else argument


def _everywhere(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], mesh: DeviceMesh
) -> object:
    """Calls a function of tensors that each process has as a whole."""
    _refuse_mixture(func, args, kwargs, ())
    result = func(*_locals(tuple(args)), **_locals(kwargs))
    if not isinstance(result, Tensor):
        if isinstance(result, (list, tuple)) and any(isinstance(each, Tensor) for each in result):
            raise NotImplementedError(
                f"torchlike does not support {func.__name__} of DTensors over several processes yet"
            )
        return result
    if args and isinstance(args[0], PieceOfDTensor) and _is_in_place(func):
        return args[0]
    return wrapped(result, Spec(mesh, (Replicate(),) * mesh.ndim, tuple(result.shape)))


def _is_in_place(func: Callable[..., object]) -> bool:
    name: str = func.__name__
    operator = name.startswith("__i") and name.endswith("__") and name not in ("__invert__", "__index__", "__int__")
    return operator or (name.endswith("_") and not name.endswith("__"))


def _refuse_mixture(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], shape: tuple[int, ...]
) -> None:
    """Refuses plain tensors beside DTensors, as PyTorch does, but for numbers."""
    for each in _tensors((args, kwargs)):
        if not isinstance(each, PieceOfDTensor) and each.dim():
            name = _base_name(func)
            overload = "Tensor" if name in _OF_TENSOR_AND_NUMBER else "default"
            raise RuntimeError(
                f"aten.{name}.{overload} got mixed torch.Tensor and DTensor, need to convert all torch.Tensor to DTensor before calling "
                "distributed operators!"
            )
        if isinstance(each, PieceOfDTensor) and shape and each._spec.shape not in (shape, ()):
            raise NotImplementedError(
                f"torchlike does not support {func.__name__} of DTensors of several shapes over several processes yet"
            )


def _elementwise(
    func: Callable[..., object], args: Sequence[object], kwargs: Mapping[str, object], spec: Spec
) -> object:
    _refuse_mixture(func, args, kwargs, spec.shape)
    first: Any = args[0] if args else None
    if _is_in_place(func) and first._spec != spec:
        raise NotImplementedError(f"torchlike does not support {func.__name__} into a DTensor of other placements yet")
    result: Any = func(*_locals(tuple(args)), **_locals(kwargs))
    return first if _is_in_place(func) else wrapped(result, spec)


def _reduction(
    func: Callable[..., object], name: str, piece: PieceOfDTensor, args: Sequence[object], kwargs: Mapping[str, object]
) -> object:
    if is_grad_enabled() and piece.requires_grad:
        raise NotImplementedError(
            f"torchlike does not support gradients of {name} of DTensors over several processes yet"
        )
    options = dict(kwargs)
    order: Any = 2.0
    if name in ("norm", "vector_norm"):
        given: Any = options.pop("p", options.pop("ord", args[1] if len(args) > 1 else None))
        order = 2.0 if given in ("fro", None) else float(given)
        args = [args[0], *args[2:]]
    if any(value is not None and value is not False for value in (*args[1:], *options.values())):
        raise NotImplementedError(
            f"torchlike does not support {name} along dimensions of DTensors over several processes yet"
        )
    spec, local = piece._spec, piece.to_local()
    number = _of_one_process(local, name, order, piece)
    op = REDUCTIONS[name]
    if name in ("norm", "vector_norm"):
        op = {float("inf"): ReduceOp.MAX, -float("inf"): ReduceOp.MIN}.get(order, ReduceOp.SUM)
    for _, n in spec.cut():
        group: ProcessGroup = spec.mesh.get_group(n)
        if group.size() > 1:
            (number,) = exchange(ALL_REDUCE, group, (op,), [number])
    if name in ("norm", "vector_norm") and op is ReduceOp.SUM and order:
        number = number ** (1.0 / order)
    if name == "mean":
        number = number / piece.numel()
    return wrapped(number, Spec(spec.mesh, (Replicate(),) * spec.mesh.ndim, ()))


def _of_one_process(local: Any, name: str, order: float, piece: PieceOfDTensor) -> Any:
    """What one process's elements contribute to a reduction."""
    if name in ("norm", "vector_norm"):
        if abs(order) == float("inf"):
            name, local = ("max" if order > 0 else "min"), local.abs()
        else:
            return (local.abs() ** order).sum() if order else (local != 0).sum().to(local.dtype)
    if name in ("sum", "mean"):
        return local.sum()
    if name in ("all", "any"):
        return getattr(local, name)()
    if local.numel():
        return getattr(local, "max" if name in ("max", "amax") else "min")()
    # This process has no elements. Another one has some, and an element of its own stored piece would be a zero.
    raise NotImplementedError(f"torchlike does not support {name} of a DTensor of which a process has no elements yet")
