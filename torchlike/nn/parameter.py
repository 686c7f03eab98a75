"""Parameter and Buffer: tensors that a Module notices when they are assigned to it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._core import dtypes
from .._core.storage import Storage
from .._core.tensor import Tensor, alias, from_host, from_value
from ..engine import Value
from ..ops._options import dtype_of, placement_of, size_of

__all__ = ["Buffer", "Parameter"]

_new = object.__new__


class Parameter(Tensor):
    """A tensor that a Module registers as one of its parameters when it is assigned as an attribute.

    Args:
        data: the parameter's tensor, whose memory it shares. None: an empty one.
        requires_grad: whether it takes part in training.

    Raises:
        RuntimeError: a gradient is asked of a dtype that has none.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Parameter:
        if data is None:
            data = from_host(np.empty(0, dtypes.get_default_dtype().numpy))
        if not isinstance(data, Tensor):
            raise AttributeError(f"'{type(data).__name__}' object has no attribute 'detach'")
        if requires_grad and data.dtype.category < dtypes.FLOAT:
            raise RuntimeError("Only Tensors of floating point and complex dtype can require gradients")
        self: Any = alias(data, cls)
        self._requires_grad = bool(requires_grad)
        return self

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return "Parameter containing:\n" + super().__repr__(tensor_contents=tensor_contents)

    def __deepcopy__(self, memo: dict[int, Any]) -> Parameter:
        known = memo.get(id(self))
        if known is None:
            # The value itself is shared: it is immutable, and the copy has a storage of its own.
            known = memo[id(self)] = _new(type(self))
            known._storage = Storage(self._value())
            known._requires_grad = self._requires_grad
        return known


class _BufferKind(type):
    """Buffers are plain tensors with a mark, as PyTorch's are, so that operations on them need to know nothing."""

    def __instancecheck__(cls, instance: Any) -> bool:
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

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Any:
        if data is None:
            data = from_host(np.empty(0, dtypes.get_default_dtype().numpy))
        buffer: Any = alias(data)
        buffer._requires_grad = data.requires_grad
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer


def unfilled(size: Any, device: Any = None, dtype: Any = None) -> Tensor:
    """What ``torch.empty`` gives, for an initialiser to fill.

    Nothing is recorded for it: making a model must not be part of the program of its first training step.
    """
    shape, where = size_of("empty", (size,)), placement_of(device)
    return from_value(Value.on_host(np.zeros(shape, dtype_of("empty", dtype).numpy), where))
