"""GradBucket: gradients of DistributedDataParallel that are exchanged together, as a communication hook gets them."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops import cat

__all__ = ["GradBucket"]


class GradBucket:
    """Gradients of one dtype.

    Args:
        number: which bucket of the step it is.
        is_last: whether it is the last one.
        parameters: the parameters to which the gradients belong.
        gradients: the gradients.
    """

    def __init__(self, number: int, is_last: bool, parameters: Sequence[Tensor], gradients: Sequence[Tensor]) -> None:
        self._number, self._is_last, self._parameters = number, is_last, list(parameters)
        self._shapes = [tuple(gradient.shape) for gradient in gradients]
        with no_grad():
            self._buffer: Any = cat([gradient.detach().reshape(-1) for gradient in gradients])

    def index(self) -> int:
        """Which bucket of the step it is."""
        return self._number

    def is_last(self) -> bool:
        """Whether it is the last bucket of the step."""
        return self._is_last

    def buffer(self) -> Tensor:
        """All gradients, one after another."""
        return self._buffer

    def set_buffer(self, buffer: Tensor) -> None:
        """Puts another tensor in place of the buffer."""
        self._buffer = buffer

    def parameters(self) -> list[Tensor]:
        """The parameters to which the gradients belong."""
        return list(self._parameters)

    def gradients(self) -> list[Tensor]:
        """The gradients, as views of the buffer."""
        return self.split(self._buffer)

    def split(self, flat: Any) -> list[Tensor]:
        """The parts of a tensor like the buffer that belong to the gradients."""
        parts = flat.reshape(-1).split([prod(shape) for shape in self._shapes])
        return [part.view(shape) for part, shape in zip(parts, self._shapes, strict=True)]
