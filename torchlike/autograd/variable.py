"""Variable, the name tensors had before they could require gradients themselves."""

from __future__ import annotations

from .._core.tensor import Tensor, alias

__all__ = ["Variable"]


class _IsTensor(type):
    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_IsTensor):
    """``Variable(data, requires_grad)`` gives a tensor over the same memory.

    >>> torch.autograd.Variable(torch.tensor([1.0]), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return alias(data).requires_grad_(requires_grad)
