"""Conversion between parameters and one vector of all their elements."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..._core.tensor import Tensor
from ...ops.shape.joining import cat

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Iterable[Any]) -> Tensor:
    """One vector of the elements of all parameters, in order.

    >>> torch.nn.utils.parameters_to_vector([torch.ones(2), torch.zeros(1, 2)])
    tensor([1., 1., 0., 0.])
    """
    return cat([p.reshape(-1) for p in parameters])


def vector_to_parameters(vec: object, parameters: Iterable[Any]) -> None:
    """Gives each parameter its part of a vector from ``parameters_to_vector``."""
    if not isinstance(vec, Tensor):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__module__}.{type(vec).__qualname__}")
    start = 0
    for parameter in parameters:
        end = start + parameter.numel()
        parameter.data = vec[start:end].view_as(parameter).data
        start = end
