"""torch.onnx.operators: shapes as tensors, which an exported model would compute."""

from __future__ import annotations

from typing import Any

from .._core.tensor import Tensor
from ..ops.creation.from_data import tensor

__all__ = ["reshape_from_tensor_shape", "shape_as_tensor"]


def shape_as_tensor(x: Tensor) -> Tensor:
    """The shape as a tensor of integers."""
    return tensor(list(x.shape))


def reshape_from_tensor_shape(x: Any, shape: Tensor) -> Tensor:
    """The tensor in a shape that a tensor of integers gives."""
    return x.reshape(shape.tolist())
