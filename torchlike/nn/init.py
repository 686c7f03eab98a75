"""Initialisers: fill a tensor in place, without a gradient history."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .._core.meta import on_meta
from .._core.overridable import offer
from .._core.tensor import Tensor, from_value
from ..autograd.grad_mode import no_grad
from ..dispatch.inplace import write
from ..engine import Value
from ..ops.creation.filled import zeros, zeros_like
from ..random_streams.rng import Generator

__all__ = [
    "calculate_gain", "constant", "constant_", "dirac", "dirac_", "eye", "eye_", "kaiming_normal", "kaiming_normal_",
    "kaiming_uniform", "kaiming_uniform_", "normal", "normal_", "ones_", "orthogonal", "orthogonal_", "sparse", "sparse_",
    "trunc_normal_", "uniform", "uniform_", "xavier_normal", "xavier_normal_", "xavier_uniform", "xavier_uniform_", "zeros_",
]  # fmt: skip

_GAINS = dict.fromkeys(
    ["linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "sigmoid"], 1.0
) | {"tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 3.0 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor by which weights before a nonlinearity are multiplied to keep the variance.

    Args:
        nonlinearity: the name of a function of ``nn.functional``.
        param: the slope, for "leaky_relu". Default 0.01.

    >>> torch.nn.init.calculate_gain("leaky_relu", 0.2)
    1.3867504905630728

    Source: https://docs.pytorch.org/docs/stable/nn.init.html
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, bool) or not isinstance(param, (int, float)):
            raise ValueError(f"negative_slope {param} not a valid number")
        else:
            slope = param
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    gain = _GAINS[nonlinearity]
    return 1 if gain == 1.0 else gain


def _without_gradients(tensor: Tensor, fill: Callable[..., object]) -> Any:
    with no_grad():
        return fill(tensor)


def _set_array(tensor: Tensor, array: np.ndarray) -> Any:
    """Makes an array the tensor's value, without a copy. The caller must not use the array afterwards."""
    with no_grad():
        return write(tensor, from_value(Value.on_host(array, tensor._aval.placement)))


def _is_spread(tensor: Tensor) -> bool:
    """Whether this is a DTensor over several processes, each of which has a piece."""
    return hasattr(tensor, "_write_part_of")


def _from_whole(tensor: Any, fill: Callable[..., object], *args: object) -> Any:
    """Fills a whole tensor in each process, which keeps its part."""
    whole = zeros(*tensor.shape, dtype=tensor.dtype)
    fill(whole, *args)
    tensor._write_part_of(whole)
    return tensor


def _fill(tensor: Tensor, value: float) -> Tensor:
    if (
        tensor.is_floating_point()
        and isinstance(value, (int, float))
        and not on_meta(tensor)
        and not _is_spread(tensor)
    ):
        return _set_array(tensor, np.full(tensor.shape, value, tensor.dtype.numpy))
    return _without_gradients(tensor, lambda t: t.fill_(value))


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform between ``a`` and ``b``.

    >>> w = torch.nn.init.uniform_(torch.empty(3, 5))
    """
    return _without_gradients(tensor, lambda t: t.uniform_(a, b, generator=generator))


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal, with this mean and standard deviation.

    >>> _ = torch.manual_seed(0)
    >>> nn.init.normal_(torch.empty(2, 2))
    tensor([[ 1.5410, -0.2934],
            [-2.1788,  0.5684]])
    """
    return _without_gradients(tensor, lambda t: t.normal_(mean, std, generator=generator))


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal, but between ``a`` and ``b``: a number outside is drawn again.

    >>> w = torch.nn.init.trunc_normal_(torch.empty(3, 5), std=0.02)
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. The distribution of values may be incorrect.",
            stacklevel=2,
        )

    if _is_spread(tensor):
        return _from_whole(tensor, trunc_normal_, mean, std, a, b, generator)
    if on_meta(tensor):
        return normal_(tensor, mean, std, generator)

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    def draw(method: str, *args: float) -> np.ndarray:
        # Numbers are drawn in the order of the memory. ``zeros_like`` keeps that order, but leaves no gaps.
        fresh = zeros_like(tensor.detach())
        return getattr(fresh, method)(*args, generator=generator)._array()

    if below(b) - below(a) > 0.3:
        low, high = tensor.dtype.numpy.type(a), tensor.dtype.numpy.type(b)
        # For memory with gaps PyTorch draws in another order, so the first numbers go into the tensor itself. PyTorch draws the rest
        # into new memory without gaps.
        with no_grad():
            numbers = np.array(tensor.normal_(mean, std, generator=generator)._array())
        while (outside := (numbers < low) | (numbers > high)).any():
            numbers = np.where(outside, draw("normal_", mean, std), numbers)
        return _set_array(tensor, np.array(numbers))

    # Few normal numbers would lie between the bounds, so draw uniform numbers and accept each with the probability of its density.
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2

    def rejected(candidates: np.ndarray) -> np.ndarray:
        kind = candidates.dtype.type
        density = ((candidates - kind(mean)) / kind(std)) ** 2 * kind(-0.5) - kind(peak)
        with np.errstate(divide="ignore"):
            return np.log(draw("uniform_", 0.0, 1.0)) > density

    numbers = draw("uniform_", a, b)
    pending = rejected(numbers)
    while pending.any():
        candidates = draw("uniform_", a, b)
        numbers = np.where(pending, candidates, numbers)
        pending &= rejected(candidates)
    return _set_array(tensor, np.array(numbers))


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere.

    >>> torch.nn.init.constant_(torch.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    return _fill(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """One everywhere.

    >>> nn.init.ones_(torch.empty(2))
    tensor([1., 1.])
    """
    return _fill(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zero everywhere.

    >>> nn.init.zeros_(torch.empty(2))
    tensor([0., 0.])
    """
    return _fill(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity matrix, for a 2-dimensional tensor."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if _is_spread(tensor):
        return _from_whole(tensor, eye_)
    if on_meta(tensor):
        return zeros_(tensor)
    return _set_array(tensor, np.eye(*tensor.shape, dtype=tensor.dtype.numpy))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """Weights of a convolution that passes on as many channels as it can, in each group.

    Args:
        tensor: 3, 4 or 5 dimensions, the first divisible by ``groups``.
    """
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    outs, ins, *kernel = tensor.shape
    if outs % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    if _is_spread(tensor):
        return _from_whole(tensor, dirac_, groups)
    if on_meta(tensor):
        return zeros_(tensor)
    array = np.zeros(tensor.shape, tensor.dtype.numpy)
    group_outs = outs // groups
    centre = tuple(k // 2 for k in kernel)
    for group in range(groups):
        for channel in range(min(group_outs, ins)):
            array[(group * group_outs + channel, channel, *centre)] = 1
    return _set_array(tensor, array)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    """The number of inputs of each output, and the number of outputs of each input."""
    if tensor.dim() < 2:
        raise ValueError("Fan in and fan out can not be computed for tensor with fewer than 2 dimensions")
    outs, ins, *kernel = tensor.shape
    field = math.prod(kernel)
    return ins * field, outs * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return fan_in if mode == "fan_in" else fan_out


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Uniform between ±gain sqrt(6 / (fan_in + fan_out)).

    >>> _ = torch.manual_seed(0)
    >>> nn.init.xavier_uniform_(torch.empty(2, 2))
    tensor([[-0.0092,  0.6570],
            [-1.0080, -0.9013]])

    Source: Glorot and Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    """Normal, with standard deviation gain sqrt(2 / (fan_in + fan_out)).

    >>> _ = torch.manual_seed(0)
    >>> nn.init.xavier_normal_(torch.empty(2, 2))
    tensor([[ 1.0896, -0.2075],
            [-1.5406,  0.4019]])

    Source: Glorot and Bengio 2010, https://proceedings.mlr.press/v9/glorot10a.html
    """
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Uniform between ±gain sqrt(3 / fan).

    Args:
        a: the slope of the leaky ReLU that follows.
        mode: "fan_in" keeps the variance of the forward pass, "fan_out" that of the backward pass.
        nonlinearity: as in ``calculate_gain``.

    >>> _ = torch.manual_seed(0)
    >>> nn.init.kaiming_uniform_(torch.empty(2, 2))
    tensor([[-0.0130,  0.9291],
            [-1.4256, -1.2747]])

    Source: He et al. 2015, https://arxiv.org/abs/1502.01852
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    """Normal, with standard deviation gain / sqrt(fan); the arguments are those of ``kaiming_uniform_``.

    >>> _ = torch.manual_seed(0)
    >>> nn.init.kaiming_normal_(torch.empty(2, 2))
    tensor([[ 1.5410, -0.2934],
            [-2.1788,  0.5684]])

    Source: He et al. 2015, https://arxiv.org/abs/1502.01852
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A (semi-)orthogonal matrix, times ``gain``. All dimensions after the first count as one.

    >>> _ = torch.manual_seed(0)
    >>> nn.init.orthogonal_(torch.empty(2, 2))
    tensor([[ 0.5774,  0.8164],
            [-0.8164,  0.5774]])

    Source: Saxe et al. 2013, https://arxiv.org/abs/1312.6120
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if _is_spread(tensor):
        return _from_whole(tensor, orthogonal_, gain, generator)
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    columns = tensor.numel() // rows
    if on_meta(tensor):
        return normal_(tensor, 0, 1, generator)
    noise = normal_(tensor.new_empty((rows, columns)), 0, 1, generator)
    array = noise._array()
    if rows < columns:
        array = array.T
    q, r = np.linalg.qr(array)
    q = q * np.sign(np.diag(r))  # makes the distribution uniform
    if rows < columns:
        q = q.T
    return _set_array(tensor, np.ascontiguousarray(q * array.dtype.type(gain)).reshape(tensor.shape))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None) -> Tensor:
    """Normal, with the fraction ``sparsity`` of each column set to zero.

    Source: Martens 2010, Deep learning via Hessian-free optimization
    """
    from ..ops.creation.random import randperm

    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    if _is_spread(tensor):
        return _from_whole(tensor, sparse_, sparsity, std, generator)
    if on_meta(tensor):
        return normal_(tensor, 0, std, generator)
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    array = normal_(tensor, 0, std, generator)._array().copy()
    for column in range(columns):
        array[randperm(rows)._array()[:zeros], column] = 0
    return _set_array(tensor, array)


def _deprecated(new: Callable[..., object]) -> Callable[..., Any]:
    old = new.__name__[:-1]

    def call(*args: object, **kwargs: object) -> Any:
        warnings.warn(
            f"`nn.init.{old}` is now deprecated in favor of `nn.init.{new.__name__}`.", FutureWarning, stacklevel=2
        )
        return new(*args, **kwargs)

    call.__name__ = call.__qualname__ = old
    call.__doc__ = f"The old name of ``{new.__name__}``, deprecated."
    return call


uniform = _deprecated(uniform_)
normal = _deprecated(normal_)
constant = _deprecated(constant_)
eye = _deprecated(eye_)
dirac = _deprecated(dirac_)
xavier_uniform = _deprecated(xavier_uniform_)
xavier_normal = _deprecated(xavier_normal_)
kaiming_uniform = _deprecated(kaiming_uniform_)
kaiming_normal = _deprecated(kaiming_normal_)
orthogonal = _deprecated(orthogonal_)
sparse = _deprecated(sparse_)


offer("torch.nn.init", globals())
