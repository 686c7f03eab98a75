"""Batch and instance normalisation, and the running statistics they keep."""

from __future__ import annotations

import warnings
from typing import Any

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...ops.from_data import tensor
from .. import functional as F, init
from ..parameter import Parameter, unfilled
from .module import Module

__all__ = ["BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d"]


class _NormBase(Module):
    """What both share: the affine parameters and the running statistics."""

    _version = 2  # since which ``num_batches_tracked`` is in the state

    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Any
    weight: Any
    bias: Any

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        where = {"device": device, "dtype": dtype}
        self.register_parameter("weight", Parameter(unfilled(num_features, **where)) if affine else None)
        self.register_parameter("bias", Parameter(unfilled(num_features, **where)) if affine and bias else None)
        track = track_running_stats
        self.register_buffer("running_mean", unfilled(num_features, **where) if track else None)
        self.register_buffer("running_var", unfilled(num_features, **where) if track else None)
        self.register_buffer("num_batches_tracked", tensor(0, dtype=dtypes.int64, device=device) if track else None)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Starts the running statistics anew: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # pyright: ignore[reportOptionalMemberAccess]
            self.running_var.fill_(1)  # pyright: ignore[reportOptionalMemberAccess]
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Starts statistics and parameters anew: weight 1, bias 0."""
        self.reset_running_stats()
        if self.affine:
            init.ones_(self.weight)
            if self.bias is not None:
                init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        raise NotImplementedError

    def extra_repr(self) -> str:
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *rest: Any) -> None:
        key = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # Written before there was a count: it goes on from where it is.
            known = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=dtypes.int64) if known is None else known
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *rest)


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share: Any = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # the mean over all batches so far
                share = 1.0 / float(self.num_batches_tracked)
        use_batch = self.training or (self.running_mean is None and self.running_var is None)
        keep = not self.training or self.track_running_stats
        return F.batch_norm(
            input,
            self.running_mean if keep else None,
            self.running_var if keep else None,
            self.weight,
            self.bias,
            use_batch,
            share,
            self.eps,
        )


class BatchNorm1d(_BatchNorm):
    """Batch normalisation over (N, C) or (N, C, L); arguments as for ``BatchNorm2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """``(x - mean) / sqrt(var + eps) weight + bias`` for each channel of (N, C, H, W).

    While training, mean and variance are the batch's, and running ones are kept; in evaluation those are used.

    Args:
        num_features: C.
        momentum: how much a batch counts in the running statistics; None: the mean of all batches.
        affine: whether there are weight and bias; ``bias=False`` leaves out the second.
        track_running_stats: whether running statistics are kept; without them the batch's are always used.

    >>> torch.nn.BatchNorm2d(100)(torch.ones(20, 100, 35, 45)).shape
    torch.Size([20, 100, 35, 45])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm2d.html; https://arxiv.org/abs/1502.03167
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 4:
            raise ValueError(f"expected 4D input (got {input.dim()}D input)")


class BatchNorm3d(_BatchNorm):
    """Batch normalisation over (N, C, D, H, W); arguments as for ``BatchNorm2d``.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm3d.html
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() != 5:
            raise ValueError(f"expected 5D input (got {input.dim()}D input)")


class _InstanceNorm(_NormBase):
    _dimensions: int  # with the batch

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def _check_input_dim(self, input: Tensor) -> None:
        n = self._dimensions
        if input.dim() not in (n - 1, n):
            raise ValueError(f"expected {n - 1}D or {n}D input (got {input.dim()}D input)")

    def forward(self, input: Any) -> Tensor:
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
    """``BatchNorm`` of each sample by itself, over (N, C, L) or (C, L) (https://arxiv.org/abs/1607.08022)."""

    _dimensions = 3


class InstanceNorm2d(_InstanceNorm):
    """``BatchNorm`` of each sample by itself, over (N, C, H, W) or (C, H, W) (https://arxiv.org/abs/1607.08022)."""

    _dimensions = 4


class InstanceNorm3d(_InstanceNorm):
    """``BatchNorm`` of each sample by itself, over (N, C, D, H, W) or (C, D, H, W) (https://arxiv.org/abs/1607.08022)."""

    _dimensions = 5
