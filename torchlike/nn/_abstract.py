"""Parameters and buffers with a shape and a dtype but no values: ``nnx.eval_shape`` returns modules with them."""

from __future__ import annotations

from typing import Any, NoReturn

from .._core import devices
from .._core.attributes import Instance, new
from .._core.fields import move_to_storage, requires_grad_flag, set_requires_grad, stored_value
from .._core.storage import Storage
from .._core.tensor import Tensor
from .._core.torch_function import disabled_torch_function_impl
from ..engine.aval import Aval
from ..engine.value import Value
from .parameter import Parameter

__all__ = ["AbstractTensor", "abstract"]


class _WithoutValues(Storage):
    """The storage of a tensor without values. Every operation reads the value, so this is where it is reported."""

    def __init__(self) -> None:
        pass

    def _raise(self, *_: object) -> NoReturn:
        raise RuntimeError(
            "this tensor has a shape and no values, since its module was made by nnx.eval_shape: give the module values with "
            "nnx.update(module, state), or merge its graph definition with a state that has them"
        )

    value = property(_raise, _raise)  # pyright: ignore[reportAssignmentType]


class AbstractTensor(Instance):
    """A tensor without values: it has a shape, a dtype and a device. ``fill`` makes it an ordinary tensor."""

    cls_to_become: Any  # Parameter or Tensor
    declared: Any  # flax's object for a shape and a dtype
    _requires_grad: bool

    @property
    def _aval(self) -> Aval:
        return Aval(tuple(self.declared.shape), self.declared.dtype, devices.placement("cpu"))

    def detach(self) -> Any:
        """Raises, as all that needs the values does."""
        return stored_value(self)  # pyright: ignore[reportArgumentType]  # a Tensor, by its subclasses

    def fill(self, value: Value) -> None:
        """Gives the tensor its values, and its ordinary class."""
        self.__class__ = self.cls_to_become
        del self.declared
        move_to_storage(self, Storage(value))  # pyright: ignore[reportArgumentType]  # the class is another now

    def __repr__(self, *, tensor_contents: object = None) -> str:
        kind = "Parameter" if self.cls_to_become is Parameter else "Tensor"
        return f"<{kind} of shape {tuple(self.declared.shape)} and dtype {self.declared.dtype}, without values>"

    def __deepcopy__(self, memo: dict[int, object]) -> object:
        copy = memo.get(id(self))
        if copy is None:
            flag = requires_grad_flag(self)  # pyright: ignore[reportArgumentType]  # a Tensor, by its subclasses
            copy = memo[id(self)] = abstract(self.cls_to_become, self.declared, flag)
        return copy


class AbstractParameter(AbstractTensor, Parameter):
    """A parameter without values."""

    cls_to_become = Parameter


class AbstractBuffer(AbstractTensor, Tensor):
    """A buffer without values."""

    __torch_function__ = disabled_torch_function_impl
    cls_to_become = Tensor


def abstract(kind: type[Tensor], declared: object, requires_grad: bool) -> AbstractParameter | AbstractBuffer:
    """A tensor of this kind without values."""
    tensor = new(AbstractParameter if kind is Parameter else AbstractBuffer)
    move_to_storage(tensor, _WithoutValues())
    tensor.declared = declared
    set_requires_grad(tensor, requires_grad)
    return tensor
