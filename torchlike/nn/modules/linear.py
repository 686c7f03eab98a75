"""Linear and bilinear layers."""

from __future__ import annotations

import math
from typing import Any

from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from .. import functional as F, init
from ..parameter import Parameter, UninitializedParameter, unfilled
from .lazy import LazyModuleMixin
from .module import Module, member

__all__ = ["Bilinear", "Identity", "LazyLinear", "Linear", "NonDynamicallyQuantizableLinear"]


class Identity(Module):
    """Returns its input; any arguments to the constructor are ignored.

    >>> torch.nn.Identity(54, unused=0.1)(torch.ones(2))
    tensor([1., 1.])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Identity.html
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        super().__init__()

    def forward(self, input: Tensor) -> Tensor:
        return input


class Linear(Module):
    """``y = x A^T + b``.

    Args:
        in_features: size of the input's last dimension.
        out_features: size of the output's last dimension.
        bias: whether there is a ``b``.

    Shapes: (..., in_features) gives (..., out_features); weight (out_features, in_features), bias (out_features).
    Both start uniform between ±1/sqrt(in_features).

    >>> torch.nn.Linear(20, 30)(torch.ones(128, 20)).shape
    torch.Size([128, 30])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Linear.html
    """

    in_features: int
    out_features: int
    weight: Tensor = member()
    bias: Any = member()

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(unfilled((out_features, in_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(unfilled(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input: Tensor) -> Tensor:
        return F.linear(input, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}"


class NonDynamicallyQuantizableLinear(Linear):
    """``Linear`` under the name that ``MultiheadAttention`` gives to its last layer."""


class Bilinear(Module):
    """``y = x1^T A x2 + b``.

    Shapes: (..., in1_features) and (..., in2_features) give (..., out_features).

    >>> torch.nn.Bilinear(2, 3, 4)(torch.ones(5, 2), torch.ones(5, 3)).shape
    torch.Size([5, 4])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Bilinear.html
    """

    weight: Tensor = member()
    bias: Any = member()

    def __init__(
        self,
        in1_features: int,
        in2_features: int,
        out_features: int,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        if in1_features <= 0:
            raise ValueError(f"in1_features must be > 0, but got (in1_features={in1_features})")
        self.in1_features = in1_features
        self.in2_features = in2_features
        self.out_features = out_features
        self.weight = Parameter(unfilled((out_features, in1_features, in2_features), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(unfilled(out_features, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws new weights and biases."""
        bound = 1 / math.sqrt(self.weight.size(1))
        init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            init.uniform_(self.bias, -bound, bound)

    def forward(self, input1: Tensor, input2: Tensor) -> Tensor:
        return F.bilinear(input1, input2, self.weight, self.bias)

    def extra_repr(self) -> str:
        return (
            f"in1_features={self.in1_features}, in2_features={self.in2_features}, out_features={self.out_features}, "
            f"bias={self.bias is not None}"
        )


class LazyLinear(LazyModuleMixin, Linear):
    """``Linear`` whose ``in_features`` is that of the first input.

    >>> torch.nn.LazyLinear(3)(torch.ones(2, 4)).shape
    torch.Size([2, 3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyLinear.html
    """

    cls_to_become = Linear

    def __init__(
        self, out_features: int, bias: bool = True, device: DeviceLike | None = None, dtype: Dtype | None = None
    ) -> None:
        super().__init__(0, 0, False)
        self.out_features = out_features
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)

    def reset_parameters(self) -> None:
        """Draws new weights and biases, if they have a shape."""
        if not self.has_uninitialized_params() and self.in_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gives the weight the shape that the input's last dimension requires."""
        if self.has_uninitialized_params():
            with no_grad():
                self.in_features = input.shape[-1]
                weight: Any = self.weight
                weight.materialize((self.out_features, self.in_features))
                if self.bias is not None:
                    self.bias.materialize((self.out_features,))
                self.reset_parameters()
        elif self.in_features == 0:  # loading a state_dict has already set the values
            self.in_features = self.weight.shape[-1]
