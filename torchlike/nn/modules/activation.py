"""Activations as layers; the functions themselves are in ``nn.functional``."""

from __future__ import annotations

import warnings

from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from .. import functional as F
from ..init import constant_
from ..parameter import Parameter, unfilled
from .module import Module
from .multihead import MultiheadAttention as MultiheadAttention  # PyTorch's pickles refer to the class by this place


class _InPlace(Module):
    """An activation whose only argument is ``inplace``."""

    inplace: bool

    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class ReLU(_InPlace):
    """``max(0, x)``.

    >>> torch.nn.ReLU()(torch.tensor([-1.0, 2.0]))
    tensor([0., 2.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.ReLU.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.relu(input, inplace=self.inplace)


class SiLU(_InPlace):
    """``x sigmoid(x)``, also known as swish (https://arxiv.org/abs/1710.05941).

    >>> nn.SiLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2689,  0.0000,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.silu(input, inplace=self.inplace)


class Mish(_InPlace):
    """``x tanh(softplus(x))`` (https://arxiv.org/abs/1908.08681).

    >>> nn.Mish()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3034,  0.0000,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.mish(input, inplace=self.inplace)


class SELU(_InPlace):
    """The scaled ELU whose outputs normalise themselves (https://arxiv.org/abs/1706.02515).

    >>> nn.SELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.1113,  0.0000,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.selu(input, self.inplace)


class Hardsigmoid(_InPlace):
    """``clamp(x / 6 + 1/2, 0, 1)``.

    >>> nn.Hardsigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3333, 0.5000, 0.8333])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardswish(_InPlace):
    """``x clamp(x / 6 + 1/2, 0, 1)`` (https://arxiv.org/abs/1905.02244).

    >>> nn.Hardswish()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.3333,  0.0000,  1.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        return ""


class Hardtanh(Module):
    """``clamp(x, min_val, max_val)``.

    >>> nn.Hardtanh()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  1.])
    """

    def __init__(
        self,
        min_val: float = -1.0,
        max_val: float = 1.0,
        inplace: bool = False,
        min_value: float | None = None,
        max_value: float | None = None,
    ) -> None:
        super().__init__()
        for old, new, value in (("min_value", "min_val", min_value), ("max_value", "max_val", max_value)):
            if value is not None:
                warnings.warn(
                    f"keyword argument `{old}` is deprecated and renamed to `{new}`", FutureWarning, stacklevel=2
                )
        self.min_val = min_val if min_value is None else min_value
        self.max_val = max_val if max_value is None else max_value
        self.inplace = inplace
        if not self.max_val > self.min_val:
            raise AssertionError(f"max_val ({self.max_val}) must be greater than min_val ({self.min_val})")

    def forward(self, input: Tensor) -> Tensor:
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        return f"min_val={self.min_val}, max_val={self.max_val}" + (", inplace=True" if self.inplace else "")


class ReLU6(Hardtanh):
    """``clamp(x, 0, 6)``.

    >>> nn.ReLU6()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0., 0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        return "inplace=True" if self.inplace else ""


class RReLU(Module):
    """A leaky ReLU whose slope is drawn between ``lower`` and ``upper`` while training, and their mean otherwise.

    Source: https://arxiv.org/abs/1505.00853
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        return f"lower={self.lower}, upper={self.upper}" + (", inplace=True" if self.inplace else "")


class Threshold(Module):
    """``x`` where it is above ``threshold``, else ``value``.

    >>> nn.Threshold(0.5, 9.0)(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([9., 9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        return f"threshold={self.threshold}, value={self.value}" + (", inplace=True" if self.inplace else "")


class ELU(Module):
    """``x`` where it is positive, else ``alpha (exp(x) - 1)`` (https://arxiv.org/abs/1511.07289).

    >>> nn.ELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        return f"alpha={self.alpha}" + (", inplace=True" if self.inplace else "")


class CELU(ELU):
    """``max(0, x) + min(0, alpha (exp(x / alpha) - 1))`` (https://arxiv.org/abs/1704.07483).

    >>> nn.CELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.6321,  0.0000,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """``x`` where it is positive, else ``negative_slope x``.

    >>> nn.LeakyReLU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.0100,  0.0000,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        return f"negative_slope={self.negative_slope}" + (", inplace=True" if self.inplace else "")


class PReLU(Module):
    """A leaky ReLU whose slope is learnt: one for all channels, or one for each.

    Args:
        num_parameters: 1, or the size of the input's second dimension.
        init: the initial value of the slopes.

    >>> nn.PReLU(init=0.25)(torch.tensor([-1.0, 0.0, 2.0])).detach()
    tensor([-0.2500,  0.0000,  2.0000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.PReLU.html; https://arxiv.org/abs/1502.01852
    """

    def __init__(
        self, num_parameters: int = 1, init: float = 0.25, device: DeviceLike | None = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = Parameter(unfilled(num_parameters, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Sets the slopes to their initial value."""
        constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        return f"num_parameters={self.num_parameters}"


class _NoChoice(Module):
    """An activation without arguments; the constructor ignores any."""

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()


class Sigmoid(_NoChoice):
    """``1 / (1 + exp(-x))``.

    >>> nn.Sigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.2689, 0.5000, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.sigmoid()


class Tanh(_NoChoice):
    """``tanh(x)``.

    >>> nn.Tanh()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.7616,  0.0000,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        return input.tanh()


class LogSigmoid(_NoChoice):
    """``log(sigmoid(x))``.

    >>> nn.LogSigmoid()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.3133, -0.6931, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.logsigmoid(input)


class Softsign(_NoChoice):
    """``x / (1 + |x|)``.

    >>> nn.Softsign()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softsign(input)


class Tanhshrink(_NoChoice):
    """``x - tanh(x)``.

    >>> nn.Tanhshrink()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.2384,  0.0000,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.tanhshrink(input)


class Softmax2d(_NoChoice):
    """``Softmax`` over the channels of (N, C, H, W) or (C, H, W)."""

    def forward(self, input: Tensor) -> Tensor:
        if input.dim() not in (3, 4):
            raise ValueError(f"Softmax2d: expected input to be 3D or 4D, got {input.dim()}D instead")
        return F.softmax(input, -3)


class GELU(Module):
    """``x`` times the normal distribution function at ``x``; "tanh" approximates it (https://arxiv.org/abs/1606.08415).

    >>> nn.GELU()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.1587,  0.0000,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        return f"approximate={self.approximate!r}"


class GLU(Module):
    """``a sigmoid(b)``, where a and b are the halves of the input along ``dim`` (https://arxiv.org/abs/1612.08083).

    >>> nn.GLU()(torch.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class _Shrink(Module):
    lambd: float

    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        return str(self.lambd)


class Hardshrink(_Shrink):
    """``x`` where it is outside ±lambd, else 0.

    >>> nn.Hardshrink()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-1.,  0.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """``x`` moved by lambd towards 0, and 0 within ±lambd.

    >>> nn.Softshrink()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([-0.5000,  0.0000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softshrink(input, self.lambd)


class Softplus(Module):
    """``log(1 + exp(beta x)) / beta``, and ``x`` where ``beta x`` is above ``threshold``.

    >>> nn.Softplus()(torch.tensor([-1.0, 0.0, 2.0]))
    tensor([0.3133, 0.6931, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        return f"beta={self.beta}, threshold={self.threshold}"


class _AlongDim(Module):
    dim: int | None

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def extra_repr(self) -> str:
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """``exp(x) / sum(exp(x))`` along ``dim``.

    >>> torch.nn.Softmax(dim=0)(torch.zeros(2))
    tensor([0.5000, 0.5000])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Softmax.html
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmax(input, self.dim, _stacklevel=5)


class Softmin(_AlongDim):
    """``softmax(-x)`` along ``dim``.

    >>> nn.Softmin(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([0.6652, 0.2447, 0.0900])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.softmin(input, self.dim, _stacklevel=5)


class LogSoftmax(_AlongDim):
    """``log(softmax(x))`` along ``dim``.

    >>> nn.LogSoftmax(dim=0)(torch.tensor([1.0, 2.0, 3.0]))
    tensor([-2.4076, -1.4076, -0.4076])
    """

    def forward(self, input: Tensor) -> Tensor:
        return F.log_softmax(input, self.dim, _stacklevel=5)


__all__ = [  # pyright: ignore[reportUnsupportedDunderAll]  # every layer of this file
    name
    for name, value in list(globals().items())
    if getattr(value, "__module__", "") == __name__ and not name.startswith("_")
]
