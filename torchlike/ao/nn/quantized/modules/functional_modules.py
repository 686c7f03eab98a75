"""Additions and products as modules, so that their outputs are observed; and what quantization makes of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

from ..... import ops
from ....._core.tensor import Tensor
from .....nn import functional as F
from .....nn.modules.linear import Identity
from .....nn.modules.module import Module
from .. import _kernels as kernels
from .utils import Scaled

__all__ = ["FXFloatFunctional", "FloatFunctional", "QFunctional"]


class FloatFunctional(Module):
    """Operations whose results ``prepare`` observes: ``self.plus = FloatFunctional()``, and ``self.plus.add(x, y)`` for ``x + y``.

    >>> from torchlike.ao.nn.quantized import FloatFunctional
    >>> FloatFunctional().add(torch.tensor(3.0), torch.tensor(4.0))
    tensor(7.)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.FloatFunctional.html
    """

    def __init__(self) -> None:
        super().__init__()
        self.activation_post_process: Module = Identity()

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return self.activation_post_process(ops.add(x, y))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number; it is not observed."""
        return ops.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``."""
        return self.activation_post_process(ops.mul(x, y))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number; it is not observed."""
        return ops.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """``torch.cat(x, dim)``."""
        return self.activation_post_process(ops.cat(x, dim=dim))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self.activation_post_process(F.relu(ops.add(x, y)))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return self.activation_post_process(ops.matmul(x, y))


class FXFloatFunctional(Module):
    """``FloatFunctional`` whose results nothing observes."""

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("FloatFunctional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return ops.add(x, y)

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number."""
        return ops.add(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``."""
        return ops.mul(x, y)

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number."""
        return ops.mul(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """``torch.cat(x, dim)``."""
        return ops.cat(x, dim=dim)

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return F.relu(ops.add(x, y))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return ops.matmul(x, y)


class QFunctional(Scaled):
    """``FloatFunctional`` for quantized tensors. ``convert`` makes it.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.ao.nn.quantized.QFunctional.html
    """

    def __init__(self) -> None:
        super().__init__()
        self.scale, self.zero_point = 1.0, 0
        self.activation_post_process: Module = Identity()

    @classmethod
    def from_float(cls, mod: Any, use_precomputed_fake_quant: bool = False) -> Self:
        """The module for quantized tensors of an observed one."""
        scale, zero_point = mod.activation_post_process.calculate_qparams()
        result = cls()
        result.scale, result.zero_point = float(scale), int(zero_point)
        return result

    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("Functional is not intended to use the 'forward'. Please use the underlying operation")

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """``x + y``."""
        return self.activation_post_process(kernels.added(x, y, self.scale, self.zero_point))

    def add_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x + y`` for a number: the scale or the zero point changes, and where possible no integer."""
        return kernels.moved(x, y)

    def mul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x * y``."""
        return self.activation_post_process(kernels.multiplied(x, y, self.scale, self.zero_point))

    def mul_scalar(self, x: Tensor, y: float) -> Tensor:
        """``x * y`` for a number: the scale changes, and no integer where the number is positive."""
        return kernels.scaled(x, y)

    def cat(self, x: Sequence[Tensor], dim: int = 0) -> Tensor:
        """``torch.cat(x, dim)``."""
        return self.activation_post_process(kernels.joined(x, dim, self.scale, self.zero_point))

    def add_relu(self, x: Tensor, y: Tensor) -> Tensor:
        """``relu(x + y)``."""
        return self.activation_post_process(kernels.added(x, y, self.scale, self.zero_point, relu=True))

    def matmul(self, x: Tensor, y: Tensor) -> Tensor:
        """``x @ y``."""
        return self.activation_post_process(kernels.product(x, y, self.scale, self.zero_point))

    def _get_name(self) -> str:
        return "QFunctional"

    def extra_repr(self) -> str:
        return f"scale={self.scale}, zero_point={self.zero_point}"
