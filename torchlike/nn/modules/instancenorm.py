"""Instance normalisation: batch normalisation of each sample separately."""

from __future__ import annotations

import warnings

from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from .. import functional as F
from .batchnorm import _LazyNormBase, _NormBase

__all__ = [
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d", "LazyInstanceNorm1d", "LazyInstanceNorm2d", "LazyInstanceNorm3d",
]  # fmt: skip


class _InstanceNorm(_NormBase):
    _dimensions: int  # of the input, with the batch

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._dimensions
        if input.dim() not in (n - 1, n):
            raise ValueError(f"expected {n - 1}D or {n}D input (got {input.dim()}D input)")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        channels = input.dim() - self._dimensions + 1
        if input.size(channels) != self.num_features:
            if self.affine:
                raise ValueError(
                    f"expected input's size at dim={channels} to match num_features ({self.num_features}), but got: "
                    f"{input.size(channels)}."
                )
            warnings.warn(
                f"input's size at dim={channels} does not match num_features. You can silence this warning by not passing in "
                "num_features, which is not used because affine=False",
                stacklevel=2,
            )
        alone = input.dim() < self._dimensions
        result = F.instance_norm(
            input.unsqueeze(0) if alone else input,
            self.running_mean,
            self.running_var,
            self.weight,
            self.bias,
            self.training or not self.track_running_stats,
            0.0 if self.momentum is None else self.momentum,
            self.eps,
        )
        return result.squeeze(0) if alone else result


class InstanceNorm1d(_InstanceNorm):
    """``BatchNorm`` of each sample separately, over (N, C, L) or (C, L) (https://arxiv.org/abs/1607.08022).

    >>> nn.InstanceNorm1d(1)(torch.tensor([[[1.0, 2.0, 3.0]]]))
    tensor([[[-1.2247,  0.0000,  1.2247]]])
    """

    _dimensions = 3


class InstanceNorm2d(_InstanceNorm):
    """``BatchNorm`` of each sample separately, over (N, C, H, W) or (C, H, W) (https://arxiv.org/abs/1607.08022).

    >>> nn.InstanceNorm2d(1)(torch.tensor([[[[1.0, 3.0]]]]))
    tensor([[[[-1.0000,  1.0000]]]])
    """

    _dimensions = 4


class InstanceNorm3d(_InstanceNorm):
    """``BatchNorm`` of each sample separately, over (N, C, D, H, W) or (C, D, H, W) (https://arxiv.org/abs/1607.08022)."""

    _dimensions = 5


class LazyInstanceNorm1d(_LazyNormBase, _InstanceNorm):
    """``InstanceNorm1d`` whose ``num_features`` is the number of the first input's channels."""

    cls_to_become = InstanceNorm1d
    _dimensions = 3


class LazyInstanceNorm2d(_LazyNormBase, _InstanceNorm):
    """``InstanceNorm2d`` whose ``num_features`` is the number of the first input's channels."""

    cls_to_become = InstanceNorm2d
    _dimensions = 4


class LazyInstanceNorm3d(_LazyNormBase, _InstanceNorm):
    """``InstanceNorm3d`` whose ``num_features`` is the number of the first input's channels."""

    cls_to_become = InstanceNorm3d
    _dimensions = 5
