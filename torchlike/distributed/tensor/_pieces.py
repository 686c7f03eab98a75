"""DTensors over several processes: each process keeps its piece, and knows the shape of the whole.

``_calls.py`` says what functions of them compute, and ``_moving.py`` how pieces are exchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, NoReturn

from ..._core.fields import grad_of, is_marked, mark_as_parameter, requires_grad_flag, set_grad, set_requires_grad
from ..._core.size import Size
from ..._core.subclasses import as_class
from ..._core.tensor import Tensor, alias
from ..._core.torch_function import DisableTorchFunctionSubclass
from ...autograd.function import Function, FunctionCtx
from ...autograd.grad_mode import is_grad_enabled, no_grad
from ...ops import clone, narrow
from .._tensors import broadcast
from ..device_mesh import DeviceMesh
from ._layouts import normalized
from ._moving import moved, own_part, with_zeros
from ._specs import Spec, of_gradient
from .placement_types import Partial, Placement, Replicate, Shard

__all__ = [
    "PieceOfDTensor", "as_parameter", "distributed", "from_piece", "local_of", "replicate_in_processes", "stored", "wrapped",
]  # fmt: skip


class PieceOfDTensor(Tensor):
    """A DTensor over several processes. Its storage is this process's piece."""

    _spec: Spec
    _shared: dict[object, Tensor] | None = None  # see ``taken``
    _call: Callable[..., object]  # what a function computes: set by ``_calls.py``, which needs this class

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        return cls._call(func, args, kwargs or {})

    @staticmethod
    def of_all(tensor: Tensor, mesh: DeviceMesh) -> PieceOfDTensor:
        """A DTensor of a tensor that all processes have."""
        return wrapped(tensor, Spec(mesh, (Replicate(),) * mesh.ndim, tuple(tensor.shape)))

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
    def grad_fn(self) -> Any:
        return as_class(Tensor, self).grad_fn

    @property
    def _tracked(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return as_class(Tensor, self)._tracked

    @property
    def is_leaf(self) -> bool:
        return self.grad_fn is None

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
        """Returns this process's piece. Gradients flow back.

        Args:
            grad_placements: how the pieces make up the gradient; by default like those of the tensor, and whole where these are terms.
        """
        spec, piece = self._spec, local_of(self)
        if grad_placements is not None and requires_grad_flag(self):
            piece = _WithGradient.apply(piece, spec.replaced(grad_placements), of_gradient(spec))
        for dim, _ in spec.cut():
            if spec.own(dim) != piece.shape[dim]:
                piece = narrow(piece, dim, 0, spec.own(dim))
        return piece

    def full_tensor(self, *, grad_placements: Sequence[Placement] | None = None) -> Tensor:
        """Returns the whole tensor. All processes call it. Gradients flow back."""
        everywhere = [Replicate()] * self._spec.mesh.ndim
        return self.redistribute(placements=everywhere).to_local(grad_placements=grad_placements)

    def redistribute(
        self,
        device_mesh: DeviceMesh | None = None,
        placements: Sequence[Placement] | None = None,
        *,
        async_op: bool = False,
        forward_dtype: object = None,
        backward_dtype: object = None,
    ) -> PieceOfDTensor:
        """Returns the tensor with other placements. All processes call it."""
        if placements is None:
            raise RuntimeError("placements is needed for redistribute!")
        if device_mesh is not None and device_mesh != self._spec.mesh:
            raise NotImplementedError("Cross device mesh comm not supported yet!")
        if forward_dtype is not None or backward_dtype is not None:
            raise NotImplementedError(
                "torchlike does not support redistribute(forward_dtype=..., backward_dtype=...) yet"
            )
        wanted = normalized(placements, self._spec.mesh, len(self._spec.shape))
        for before, after in zip(self._spec.placements, wanted, strict=True):
            if isinstance(after, Partial) and before != after:
                raise RuntimeError(
                    f"Can not redistribute from {before} to {after}, redistributing to Partial is for internal use only!"
                )
        spec = self._spec.replaced(wanted).checked()
        return wrapped(moved(local_of(self), self._spec, spec), spec)

    def backward(
        self,
        gradient: Tensor | None = None,
        retain_graph: bool | None = None,
        create_graph: bool = False,
        inputs: Any = None,
    ) -> None:
        """The gradients of a number, or of what ``gradient`` weighs. All processes call it."""
        if gradient is not None:
            if not isinstance(gradient, PieceOfDTensor):
                raise RuntimeError("the gradient of a DTensor has to be a DTensor")
            spec = of_gradient(self._spec)
            gradient = local_of(gradient.redistribute(placements=spec.placements))
        elif self.numel() != 1:
            raise RuntimeError("grad can be implicitly created only for scalar outputs")
        local_of(self).backward(gradient, retain_graph, create_graph, inputs=inputs)

    def _write_part_of(self, whole: Tensor) -> None:
        """Takes the elements of a tensor that all processes have."""
        with no_grad():
            local_of(self).copy_(own_part(whole, self._spec))

    def _as_its_kind(self, local: Tensor) -> Tensor:
        """A tensor like what this process stores, as the state that an optimizer keeps for the whole."""
        return wrapped(local, of_gradient(self._spec))

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


def _cut(whole: Tensor, spec: Spec) -> Tensor:
    """This process's part of a whole tensor, as it is stored."""
    piece = whole
    for dim in {dim for dim, _ in spec.cut()}:
        begin = min(spec.begin(dim), spec.shape[dim])
        piece = with_zeros(narrow(piece, dim, begin, spec.own(dim)), dim, spec.stored(dim))
    return clone(piece)  # a view would keep the whole in memory


class _WithGradient(Function):
    """The same piece, whose gradient arrives in one layout and is passed on in another."""

    @staticmethod
    def forward(ctx: FunctionCtx, piece: Tensor, arriving: Spec, wanted: Spec) -> Tensor:
        ctx.arriving, ctx.wanted = arriving, wanted
        return alias(piece)

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> object:
        return moved(grads[0], ctx.arriving, ctx.wanted), None, None


def stored(piece: Tensor, spec: Spec) -> Tensor:
    """A process's elements, with the zeros that are stored at their end. Gradients flow back."""
    for dim, _ in spec.cut():
        piece = with_zeros(piece, dim, spec.stored(dim))
    return piece


def distributed(
    tensor: Tensor, mesh: DeviceMesh, placements: tuple[Placement, ...], source: int | None
) -> PieceOfDTensor:
    """A leaf: the DTensor of a whole tensor, which all processes get from the first one of each dimension of the mesh."""
    spec = Spec(mesh, placements, tuple(tensor.shape)).checked()
    for placement in placements:
        if isinstance(placement, Partial):
            raise NotImplementedError(f"torchlike does not support distribute_tensor to {placement!r} yet")
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
    local: Tensor,
    mesh: DeviceMesh,
    placements: tuple[Placement, ...],
    shape: Sequence[int] | None,
    grad_placements: Sequence[Placement] | None = None,
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
    expected = list(spec.local_shape())
    if list(local.shape) != expected:
        raise RuntimeError(
            f"this process's piece of a tensor of shape {list(shape)} has the shape {expected}, got {list(local.shape)}"
        )
    piece: Any = local
    if grad_placements is not None and requires_grad_flag(local):
        piece = _WithGradient.apply(stored(piece, spec), of_gradient(spec), spec.replaced(grad_placements))
    piece = stored(piece, spec)
    return wrapped(piece.view_as(piece) if piece is local else piece, spec)


def as_parameter(piece: PieceOfDTensor, requires_grad: bool) -> PieceOfDTensor:
    """Makes a leaf a parameter of a module."""
    set_requires_grad(piece, requires_grad)
    mark_as_parameter(piece)
    return piece


def replicate_in_processes(module: Any, mesh: DeviceMesh) -> None:
    """Makes the parameters and buffers of one module DTensors, where they are plain tensors: all processes have the same, as in PyTorch."""
    for own in (module._parameters, module._buffers):
        for name, tensor in own.items():
            if isinstance(tensor, Tensor) and not isinstance(tensor, PieceOfDTensor):
                made = PieceOfDTensor.of_all(tensor.detach(), mesh)  # pyright: ignore[reportAttributeAccessIssue]
                own[name] = as_parameter(made, tensor.requires_grad) if is_marked(tensor) else made
