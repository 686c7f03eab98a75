"""Parameter and Buffer: tensors that a Module registers when they are assigned to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Self

import numpy as np

from .._core import dtypes
from .._core.annotations import DeviceLike, Dtype, IntOrInts
from .._core.attributes import Instance, new
from .._core.devices import default_device, device
from .._core.fields import leaf_alias, move_to_storage, requires_grad_flag, set_requires_grad, storage_of, stored_value
from .._core.modes import asks, hooks
from .._core.storage import Storage
from .._core.tensor import Tensor, from_host, from_value
from .._core.torch_function import disabled_torch_function_impl, know_plain
from ..dispatch.options import dtype_of, placement_of, size_of
from ..engine import Value
from ..engine.aval import Meshed
from ..interop import admit_to_jax

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter", "is_lazy"]


class _ParameterKind(type):
    """The metaclass of Parameter. A parameter made from a subclass of Tensor keeps that class, and is marked as a parameter instead."""

    def __instancecheck__(cls, instance: object) -> bool:
        if type.__instancecheck__(cls, instance):
            return True
        return cls is Parameter and isinstance(instance, Tensor) and instance._is_param


class Parameter(Tensor, metaclass=_ParameterKind):
    """A tensor that a Module registers as one of its parameters when it is assigned as an attribute.

    Args:
        data: the parameter's tensor, whose memory it shares. None: an empty one.
        requires_grad: whether the parameter is trained.

    Raises:
        RuntimeError: ``requires_grad`` is set for a dtype that has no gradients.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    def __new__(cls, data: Tensor | None = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = from_host(np.empty(0, dtypes.get_default_dtype().numpy))
        if not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        if requires_grad and data.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        if type(data) not in _AS_THEY_ARE and not is_lazy(data):
            return _of_subclass(data, requires_grad)
        return leaf_alias(data, cls, bool(requires_grad))

    __torch_function__ = disabled_torch_function_impl  # operations return plain tensors
    _is_param = True

    def __repr__(self, *, tensor_contents: object = None) -> str:
        text = self._shown(plain=type(self) is Parameter)
        return text if isinstance(self._aval.placement, Meshed) else f"Parameter containing:\n{text}"

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        copy = memo.get(id(self))
        if copy is None:
            # Both share the value, which is immutable. The copy has a storage of its own.
            copy = memo[id(self)] = leaf_alias(from_value(self._value().fresh()), type(self), requires_grad_flag(self))
        return copy


_AS_THEY_ARE = (Tensor, Parameter)


def _of_subclass(data: Any, requires_grad: bool) -> Any:
    """Makes a parameter that keeps the class of its data, a subclass of Tensor."""
    result = data.detach()._require_grad(requires_grad)
    if type(result) is not type(data):
        raise RuntimeError(
            f"Creating a Parameter from an instance of type {type(data).__name__} requires that detach() returns an instance of the "
            f"same type, but return type {type(result).__name__} was found instead. To use the type as a Parameter, please correct "
            "the detach() semantics defined by its __torch_dispatch__() implementation."
        )
    result._is_param = True
    return result


class _BufferKind(type):
    """The metaclass of Buffer. A buffer is a plain tensor with a mark, as in PyTorch, so that operations treat it as any tensor."""

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)


class Buffer(Tensor, metaclass=_BufferKind):
    """A tensor that a Module registers as one of its buffers when it is assigned as an attribute.

    Args:
        data: the tensor, whose memory it shares. None: an empty one.
        persistent: whether ``state_dict`` holds it.

    >>> isinstance(torch.nn.Buffer(torch.ones(2)), torch.nn.Buffer)
    True

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Buffer.html
    """

    __torch_function__ = disabled_torch_function_impl

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Tensor:
        if data is None:
            data = from_host(np.empty(0, dtypes.get_default_dtype().numpy))
        buffer = leaf_alias(data, Tensor, data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


# ---- parameters and buffers whose shape is not known yet

_NO_SHAPE = (
    "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in `load_state_dict` when trying to "
    "load an uninitialized parameter into an initialized one. Call `forward` to initialize the parameters before accessing their "
    "attributes."
)


class _WithoutShape(Storage):
    """The storage of a tensor without a shape. Every operation reads the value, so this is where the missing shape is reported."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def _raise(self, *_: object) -> NoReturn:
        raise ValueError(
            "Attempted to use an uninitialized parameter in an operation. This error happens when you are using a `LazyModule` or "
            f"explicitly manipulating `torch.nn.parameter.{self.kind}` objects. When using LazyModules Call `forward` with "
            "a dummy batch to initialize the parameters before calling torch functions"
        )

    value = property(_raise, _raise)  # pyright: ignore[reportAssignmentType]


class UninitializedTensorMixin(Instance):
    """A tensor that has a dtype and a device, but no shape. It can be used after ``materialize``."""

    cls_to_become: Any
    _requires_grad: bool
    _empty_tensor: Tensor  # an empty tensor with this dtype and device

    def materialize(self, shape: Sequence[int], device: DeviceLike | None = None, dtype: Dtype | None = None) -> None:
        """Gives the tensor a shape, and uninitialised memory.

        Args:
            device, dtype: the new ones (default: its own).
        """
        empty = self._empty_tensor
        filled = unfilled(shape, device=device or empty.device, dtype=dtype or empty.dtype)
        self.__class__ = self.cls_to_become
        del self._empty_tensor
        move_to_storage(self, storage_of(filled))  # pyright: ignore[reportArgumentType]  # the class is another now

    @property
    def _aval(self) -> Any:
        return self._empty_tensor._aval

    @property
    def shape(self) -> Any:
        raise RuntimeError(_NO_SHAPE)

    @property
    def data(self) -> Tensor:
        return self._empty_tensor

    @data.setter
    def data(self, new: Tensor) -> None:
        self._empty_tensor = new._empty_tensor if is_lazy(new) else new

    def to(self, *args: object, **kwargs: object) -> Self:
        """A tensor without a shape, of another dtype or on another device."""
        converted = self._empty_tensor.to(*args, **kwargs)
        return type(self)(self._requires_grad, converted.device, converted.dtype)  # pyright: ignore[reportCallIssue]

    def copy_(self, src: Tensor, non_blocking: bool = False) -> Self:
        """Takes the dtype and the device of another tensor without a shape."""
        if not is_lazy(src):
            return stored_value(self)  # pyright: ignore[reportArgumentType,reportReturnType]  # raises
        return self

    def share_memory_(self) -> Any:
        """Raises a RuntimeError, since there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters before "
            "calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: object = None) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        copy = memo.get(id(self))
        if copy is None:
            copy = memo[id(self)] = self.to()
        return copy

    def __reduce_ex__(self, protocol: object) -> tuple[type[Self], tuple[bool, device, Dtype]]:
        return type(self), (self._requires_grad, self._empty_tensor.device, self._empty_tensor.dtype)


def _without_shape(cls: type, requires_grad: bool, device: DeviceLike | None, dtype: Dtype | None) -> Any:
    self: Any = new(cls)
    move_to_storage(self, _WithoutShape(cls.__name__))
    self._empty_tensor = unfilled(0, device=device, dtype=dtype)
    set_requires_grad(self, requires_grad)
    return self


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet. A lazy layer sets the shape at its first call.

    >>> parameter = torch.nn.UninitializedParameter()
    >>> parameter.materialize((2, 3))
    >>> parameter.shape
    torch.Size([2, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.UninitializedParameter.html
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: DeviceLike | None = None, dtype: Dtype | None = None
    ) -> UninitializedParameter:
        return _without_shape(cls, requires_grad, device, dtype)


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet.

    Args:
        persistent: whether ``state_dict`` holds it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.UninitializedBuffer.html
    """

    cls_to_become = Tensor
    __torch_function__ = disabled_torch_function_impl

    def __new__(
        cls,
        requires_grad: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        persistent: bool = True,
    ) -> UninitializedBuffer:
        self = _without_shape(cls, requires_grad, device, dtype)
        self.persistent = persistent
        self._is_buffer = True
        return self


def is_lazy(tensor: object) -> bool:
    """Whether a parameter or buffer has no shape yet."""
    return isinstance(tensor, UninitializedTensorMixin)


def unfilled(size: IntOrInts, device: DeviceLike | None = None, dtype: Dtype | None = None) -> Tensor:
    """A tensor as ``torch.empty`` returns it, for an initialiser to fill.

    It records no operation, because creating a model must not become part of the program of its first training step.
    """
    if asks():
        kind = {} if dtype is None else {"dtype": dtype}
        place = default_device() if device is None else device
        shape = list(size_of("empty", (size,)))
        return hooks.operator("empty", "memory_format", shape, **kind, device=place, pin_memory=False)
    shape, where = size_of("empty", (size,)), placement_of(device)
    return from_value(Value.full(shape, dtype_of("empty", dtype).numpy, where))


know_plain(Parameter, UninitializedParameter, UninitializedBuffer)
admit_to_jax(Parameter)
