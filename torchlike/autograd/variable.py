"""Variable, the name tensors had before they could require gradients themselves."""

from __future__ import annotations

from collections.abc import Callable

from .._core.modes import modes
from .._core.tensor import Tensor, alias
from .engine import queue_callback

__all__ = ["ImperativeEngine", "Variable"]


class ImperativeEngine:
    """What runs backward passes, as programs reach it: ``Variable._execution_engine``."""

    @staticmethod
    def queue_callback(callback: Callable[[], object]) -> None:
        """Has a function called when the backward pass that is running in this thread is done.

        Raises:
            RuntimeError: none is running.
        """
        queue_callback(callback)

    @staticmethod
    def is_checkpoint_valid() -> bool:
        """Whether a reentrant checkpoint may run its backward pass now: not in one for given inputs."""
        running = modes.backward_pass
        return running is None or running.runs is None


class _IsTensor(type):
    _execution_engine = ImperativeEngine()

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor)


class Variable(metaclass=_IsTensor):
    """``Variable(data, requires_grad)`` gives a tensor over the same memory.

    >>> torch.autograd.Variable(torch.tensor([1.0]), requires_grad=True)
    tensor([1.], requires_grad=True)
    """

    def __new__(cls, data: Tensor, requires_grad: bool = False, volatile: bool = False) -> Tensor:
        return alias(data)._require_grad(requires_grad)
