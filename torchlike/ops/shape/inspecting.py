"""Questions about tensors and dtypes that are answered without computing anything."""

from __future__ import annotations

import numpy as np

from ..._core import devices, dtypes
from ..._core.tensor import Tensor
from ...dispatch.lowering import result_type_of
from ...dispatch.signature_lists import invalid_arguments
from .storages import TypedStorage, UntypedStorage

__all__ = [
    "can_cast",
    "get_default_device",
    "is_complex",
    "is_floating_point",
    "is_storage",
    "is_tensor",
    "numel",
    "result_type",
]


def is_tensor(obj: object) -> bool:
    """Whether an object is a tensor.

    >>> torch.is_tensor(torch.ones(2)), torch.is_tensor([1.0])
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj: object) -> bool:
    """Whether an object is what ``tensor.untyped_storage()`` or ``tensor.storage()`` gives."""
    return isinstance(obj, (TypedStorage, UntypedStorage))


def numel(input: Tensor) -> int:
    """The number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    return _tensor("numel", input).numel()


def is_floating_point(input: Tensor) -> bool:
    """Whether the dtype is a floating-point one.

    >>> torch.is_floating_point(torch.ones(1, dtype=torch.int32))
    False
    """
    return _tensor("is_floating_point", input).is_floating_point()


def is_complex(input: Tensor) -> bool:
    """Whether the dtype is a complex one.

    >>> torch.is_complex(torch.tensor(1j))
    True
    """
    return _tensor("is_complex", input).is_complex()


def can_cast(from_: dtypes.dtype, to: dtypes.dtype) -> bool:
    """Whether PyTorch puts a result of one dtype into an output of the other: never into a lower category.

    >>> torch.can_cast(torch.float64, torch.float32), torch.can_cast(torch.float32, torch.int32)
    (True, False)
    """
    return dtypes.can_cast(from_, to)


# How the two are called by name: two tensors or a tensor and a number, a number and a tensor, two numbers.
_PAIRS = (("tensor", "other"), ("scalar", "tensor"), ("scalar1", "scalar2"))


def result_type(*args: object, **kwargs: object) -> dtypes.dtype:
    """The dtype in which an operation on these two, tensors or numbers, computes.

    Args:
        args: two tensors or numbers; by name they are ``tensor`` and ``other``, ``scalar`` and ``tensor``, or ``scalar1`` and ``scalar2``.

    >>> torch.result_type(torch.tensor([1, 2]), 1.0)
    torch.float32
    """
    named = [
        (*args, *(kwargs[name] for name in pair[len(args) :])) for pair in _PAIRS if {*pair[len(args) :]} == {*kwargs}
    ]
    tensors = named[0] if named else ()
    if len(tensors) != 2 or not all(isinstance(x, (Tensor, int, float, complex, np.number, np.bool_)) for x in tensors):
        raise TypeError(invalid_arguments("result_type", False, args, kwargs))
    return result_type_of(
        [x._aval for x in tensors if isinstance(x, Tensor)], [x for x in tensors if not isinstance(x, Tensor)]
    )


def get_default_device() -> devices.device:
    """The device that tensors made without one are put on.

    >>> torch.get_default_device()
    device(type='cpu')
    """
    return devices.default_device()


def _tensor(name: str, input: object) -> Tensor:
    if not isinstance(input, Tensor):
        raise TypeError(f"{name}(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}")
    return input
