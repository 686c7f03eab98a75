"""Functions that compute the gradients of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._core.annotations import IntOrInts
from .._core.tensor import Tensor
from ..autograd.engine import grad as _grad
from ..autograd.grad_mode import enable_grad
from ..ops.creation.filled import zeros
from . import functional as F

__all__ = ["conv1d_input", "conv1d_weight", "conv2d_input", "conv2d_weight", "conv3d_input", "conv3d_weight"]


def _gradient(
    function: Any,
    input: Tensor,
    weight: Tensor,
    grad_output: Tensor,
    position: int,
    stride: IntOrInts | None,
    padding: str | IntOrInts,
    dilation: IntOrInts | None,
    groups: int,
) -> Tensor:
    """The gradient with respect to input (0) or weight (1). A convolution is linear in it, so its value does not matter."""
    pair = [input.detach(), weight.detach()]
    pair[position]._require_grad()
    with enable_grad():
        output = function(*pair, None, stride, padding, dilation, groups)
        (grad,) = _grad(output, pair[position], grad_output)
    assert grad is not None
    return grad


def _input_gradient(
    function: object,
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: IntOrInts,
    padding: IntOrInts,
    dilation: IntOrInts,
    groups: int,
) -> Tensor:
    empty = zeros(tuple(input_size), dtype=grad_output.dtype, device=grad_output.device)
    return _gradient(function, empty, weight, grad_output, 0, stride, padding, dilation, groups)


def _weight_gradient(
    function: object,
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: IntOrInts,
    padding: IntOrInts,
    dilation: IntOrInts,
    groups: int,
) -> Tensor:
    empty = zeros(tuple(weight_size), dtype=grad_output.dtype, device=grad_output.device)
    return _gradient(function, input, empty, grad_output, 1, stride, padding, dilation, groups)


def conv1d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its input.

    Args:
        input_size: the input's shape.
        grad_output: the gradient with respect to the result.

    >>> torch.nn.grad.conv1d_input((1, 1, 3), torch.ones(1, 1, 2), torch.ones(1, 1, 2))
    tensor([[[1., 2., 1.]]])
    """
    return _input_gradient(F.conv1d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv1d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv1d`` with respect to its weight, which has the shape ``weight_size``."""
    return _weight_gradient(F.conv1d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv2d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its input, which has the shape ``input_size``."""
    return _input_gradient(F.conv2d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv2d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv2d`` with respect to its weight, which has the shape ``weight_size``."""
    return _weight_gradient(F.conv2d, input, weight_size, grad_output, stride, padding, dilation, groups)


def conv3d_input(
    input_size: Sequence[int],
    weight: Tensor,
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its input, which has the shape ``input_size``."""
    return _input_gradient(F.conv3d, input_size, weight, grad_output, stride, padding, dilation, groups)


def conv3d_weight(
    input: Tensor,
    weight_size: Sequence[int],
    grad_output: Tensor,
    stride: IntOrInts = 1,
    padding: IntOrInts = 0,
    dilation: IntOrInts = 1,
    groups: int = 1,
) -> Tensor:
    """The gradient of ``conv3d`` with respect to its weight, which has the shape ``weight_size``."""
    return _weight_gradient(F.conv3d, input, weight_size, grad_output, stride, padding, dilation, groups)
