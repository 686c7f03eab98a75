"""Activations under PyTorch's signatures, with ``inplace``; softmax and related functions."""

from __future__ import annotations

import warnings

from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...ops.elementwise import activation, gated, pointwise
from ...ops.elementwise.elementary import sigmoid as sigmoid, tanh as tanh
from ...ops.nn.norm import log_softmax as _log_softmax, softmax as _softmax
from ._into import into

__all__ = [
    "celu", "celu_", "elu", "elu_", "gelu", "glu", "gumbel_softmax", "hardshrink", "hardsigmoid", "hardswish", "hardtanh",
    "hardtanh_", "leaky_relu", "leaky_relu_", "log_softmax", "logsigmoid", "mish", "prelu", "relu", "relu6", "relu_", "rrelu",
    "rrelu_", "selu", "selu_", "sigmoid", "silu", "softmax", "softmin", "softplus", "softshrink", "softsign", "tanh", "tanhshrink",
    "threshold", "threshold_",
]  # fmt: skip


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """Every negative element replaced by 0.

    >>> F.relu(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return into(input, inplace, activation.relu(input))


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """``min(max(input, 0), 6)``."""
    return into(input, inplace, activation.relu6(input))


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``negative_slope * input``."""
    return into(input, inplace, activation.leaky_relu(input, negative_slope))


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``input`` where it is positive, else ``alpha * (exp(input) - 1)``."""
    return into(input, inplace, activation.elu(input, alpha))


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """``elu`` with the constants that keep mean 0 and variance 1 through the layers."""
    return into(input, inplace, activation.selu(input))


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """``max(0, input) + min(0, alpha * (exp(input / alpha) - 1))``."""
    return into(input, inplace, activation.celu(input, alpha))


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * sigmoid(input)``."""
    return into(input, inplace, activation.silu(input))


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * tanh(softplus(input))``."""
    return into(input, inplace, activation.mish(input))


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """The input kept within ``min_val`` and ``max_val``."""
    if min_val > max_val:
        raise ValueError("min_val cannot be greater than max_val")
    return into(input, inplace, activation.hardtanh(input, min_val, max_val))


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """``relu6(input + 3) / 6``."""
    return into(input, inplace, activation.hardsigmoid(input))


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """``input * relu6(input + 3) / 6``."""
    return into(input, inplace, activation.hardswish(input))


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """``input`` where it is over the threshold, else ``value``."""
    return into(input, inplace, activation.threshold(input, threshold, value))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """``leaky_relu`` with slopes drawn from [lower, upper) in training, and their mean otherwise."""
    return into(input, inplace, gated.rrelu(input, lower, upper, training))


def relu_(input: Tensor) -> Tensor:
    """``relu`` in place."""
    return relu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """``leaky_relu`` in place."""
    return leaky_relu(input, negative_slope, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``elu`` in place."""
    return elu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """``selu`` in place."""
    return selu(input, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """``celu`` in place."""
    return celu(input, alpha, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """``hardtanh`` in place."""
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """``threshold`` in place."""
    return into(input, True, activation.threshold(input, threshold, value))


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """``rrelu`` in place."""
    return rrelu(input, lower, upper, training, inplace=True)


gelu = activation.gelu
logsigmoid = activation.logsigmoid
softplus = activation.softplus
softshrink = activation.softshrink
hardshrink = activation.hardshrink
softsign = activation.softsign
tanhshrink = activation.tanhshrink
glu = gated.glu
prelu = gated.prelu


def _implicit_dim(name: str, ndim: int) -> int:
    warnings.warn(
        f"Implicit dimension choice for {name} has been deprecated. Change the call to include dim=X as an argument.",
        stacklevel=3,
    )
    return 0 if ndim in (0, 1, 3) else 1


def softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """``exp(input) / sum(exp(input))`` along a dimension.

    >>> F.softmax(torch.tensor([0.0, 0.0]), dim=0)
    tensor([0.5000, 0.5000])
    """
    dim = _implicit_dim("softmax", input.dim()) if dim is None else dim
    return _softmax(input, dim, dtype)


def softmin(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """``softmax(-input)``."""
    dim = _implicit_dim("softmin", input.dim()) if dim is None else dim
    return _softmax(pointwise.neg(input), dim, dtype)


def log_softmax(input: Tensor, dim: int | None = None, _stacklevel: int = 3, dtype: Dtype | None = None) -> Tensor:
    """The logarithm of ``softmax``, computed without overflow."""
    dim = _implicit_dim("log_softmax", input.dim()) if dim is None else dim
    return _log_softmax(input, dim, dtype)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """Samples of the Gumbel-softmax distribution: ``softmax((logits + noise) / tau)``.

    Args:
        hard: give one-hot rows, whose gradient is that of the soft ones.

    Source: Jang, Gu, Poole, "Categorical reparameterization with Gumbel-softmax" (2017).
    """
    noise = -logits.detach().clone().exponential_().log()
    soft = softmax((logits + noise) / tau, dim)
    if not hard:
        return soft
    index = soft.max(dim, keepdim=True)[1]
    return logits.detach().clone().zero_().scatter_(dim, index, 1.0) - soft.detach() + soft
