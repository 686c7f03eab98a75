"""Batch normalisation, and the running statistics that it and instance normalisation keep."""

from __future__ import annotations

from typing import Any

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from ...autograd.grad_mode import no_grad
from ...distributed._groups import get_world_size, is_initialized
from ...distributed.nn.functional import all_gather
from ...ops import cat, stack
from ...ops.creation.from_data import tensor
from .. import functional as F, init
from ..parameter import Parameter, UninitializedBuffer, UninitializedParameter, unfilled
from .lazy import LazyModuleMixin
from .module import Module, member

__all__ = [
    "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "LazyBatchNorm1d", "LazyBatchNorm2d", "LazyBatchNorm3d", "SyncBatchNorm",
]  # fmt: skip


class _NormBase(Module):
    """The base class of batch and instance normalisation: affine parameters and running statistics."""

    _version = 2  # from this version on, the state has ``num_batches_tracked``

    running_mean: Tensor | None = member()
    running_var: Tensor | None = member()
    num_batches_tracked: Any = member()
    weight: Any = member()
    bias: Any = member()

    def __init__(
        self,
        num_features: int,
        eps: float,
        momentum: float | None,
        affine: bool,
        track_running_stats: bool,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
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
        """Resets the running statistics: mean 0, variance 1."""
        if self.track_running_stats:
            self.running_mean.zero_()  # pyright: ignore[reportOptionalMemberAccess]
            self.running_var.fill_(1)  # pyright: ignore[reportOptionalMemberAccess]
            self.num_batches_tracked.zero_()

    def reset_parameters(self) -> None:
        """Resets statistics and parameters: weight 1, bias 0."""
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

    def _load_from_state_dict(self, state_dict: Any, prefix: str, local_metadata: dict[str, Any], *args: Any) -> None:
        key = prefix + "num_batches_tracked"
        version = local_metadata.get("version")
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            # The file is older than the count: the module keeps the count that it has.
            count = self.num_batches_tracked
            state_dict[key] = tensor(0, dtype=dtypes.int64) if count is None else count
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class _BatchNorm(_NormBase):
    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        share = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:  # momentum None: the mean over all batches so far
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

    >>> nn.BatchNorm1d(2)(torch.tensor([[1.0, 2.0], [3.0, 6.0]])).detach()
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BatchNorm1d.html
    """

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() not in (2, 3):
            raise ValueError(f"expected 2D or 3D input (got {input.dim()}D input)")


class BatchNorm2d(_BatchNorm):
    """``(x - mean) / sqrt(var + eps) weight + bias`` for each channel of (N, C, H, W).

    In training, mean and variance are the batch's, and update the running statistics; evaluation uses the running statistics.

    Args:
        num_features: C.
        momentum: the weight of a batch in the running statistics; None: they are the mean of all batches.
        affine: whether there are weight and bias; ``bias=False`` leaves out the bias.
        track_running_stats: whether running statistics are kept; if not, the batch's are always used.

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


class SyncBatchNorm(_BatchNorm):
    """Batch normalisation over (N, C, ...) with statistics of all processes together; in a single one it is ``BatchNorm``.

    Args:
        process_group: the processes (default: all).

    >>> torch.nn.SyncBatchNorm.convert_sync_batchnorm(torch.nn.BatchNorm1d(3))
    SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.SyncBatchNorm.html
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: object = None,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias)
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.dim() < 2:
            raise ValueError(f"expected at least 2D input (got {input.dim()}D input)")
        if input.size(1) == 0:
            raise ValueError("SyncBatchNorm number of input channels should be non-zero")

    def forward(self, input: Tensor) -> Tensor:
        self._check_input_dim(input)
        if not self.training or not is_initialized() or get_world_size(self.process_group) == 1:
            return super().forward(input)
        if input.numel() == 0:
            raise NotImplementedError("torchlike does not support SyncBatchNorm of an empty batch yet")
        share = 0.0 if self.momentum is None else self.momentum
        if self.track_running_stats and self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if self.momentum is None:
                share = 1.0 / float(self.num_batches_tracked)
        mean, var, count = self._statistics(input)
        if self.track_running_stats and self.running_mean is not None and self.running_var is not None:
            with no_grad():
                self.running_mean.mul_(1 - share).add_(mean.detach() * share)
                self.running_var.mul_(1 - share).add_(var.detach() * (count / (count - 1)) * share)
        shape = [1, -1] + [1] * (input.dim() - 2)
        scale = (var + self.eps).rsqrt()
        normal = (input - mean.reshape(shape)) * scale.reshape(shape)
        if self.weight is not None:
            normal = normal * self.weight.reshape(shape)
        if self.bias is not None:
            normal = normal + self.bias.reshape(shape)
        return normal.to(input.dtype)

    def _statistics(self, input: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns mean and variance of each channel over all processes, and the number of elements.

        Each process sends its own mean, and the sum of squares around it: sums of squares around zero would lose digits.
        """
        dims = [dim for dim in range(input.dim()) if dim != 1]
        at_least_float32 = input.float() if input.dtype.itemsize < 4 else input
        own_mean = at_least_float32.mean(dims)
        shape = [1, -1] + [1] * (input.dim() - 2)
        squares = (at_least_float32 - own_mean.reshape(shape)).square().sum(dims)
        number = own_mean.new_full((1, own_mean.numel()), input.numel() / input.size(1))
        parts = stack(all_gather(cat([stack([own_mean, squares]), number]), self.process_group))
        means, around, counts = parts[:, 0], parts[:, 1], parts[:, 2]
        total = counts.sum(0)
        mean = (means * counts).sum(0) / total
        var = (around + counts * (means - mean).square()).sum(0) / total
        return mean, var, total

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: object = None) -> Module:
        """Replaces every batch normalisation in a module by a ``SyncBatchNorm`` with the same parameters. Returns the module."""
        converted = module
        if isinstance(module, _BatchNorm):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            if module.affine:
                converted.weight, converted.bias = module.weight, module.bias
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(converted, name, getattr(module, name))
            converted.training = module.training
        for name, child in module.named_children():
            converted.add_module(name, cls.convert_sync_batchnorm(child, process_group))
        return converted


# ---- lazy ones


class _LazyNormBase(LazyModuleMixin, _NormBase):
    """The base class of lazy normalisations, whose ``num_features`` is the number of the first input's channels."""

    weight: Any
    bias: Any
    running_mean: Any
    running_var: Any

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False, device, dtype)
        self.affine = affine
        self.track_running_stats = track_running_stats
        where = {"device": device, "dtype": dtype}
        if affine:
            self.weight = UninitializedParameter(**where)
            if bias:
                self.bias = UninitializedParameter(**where)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(**where)
            self.running_var = UninitializedBuffer(**where)
            self.num_batches_tracked = tensor(0, dtype=dtypes.int64, device=device)

    def reset_parameters(self) -> None:
        """Resets statistics and parameters, if they have a shape."""
        if not self.has_uninitialized_params() and self.num_features != 0:
            super().reset_parameters()

    def initialize_parameters(self, input: Tensor) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Gives the parameters the shape that the number of the input's channels requires."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            for tensor in (self.weight, self.bias, self.running_mean, self.running_var):
                if tensor is not None:
                    tensor.materialize((self.num_features,))
            self.reset_parameters()
        elif self.num_features == 0:  # loading a state_dict has already set the values
            self.num_features = input.shape[1]


class LazyBatchNorm1d(_LazyNormBase, _BatchNorm):
    """``BatchNorm1d`` whose ``num_features`` is the number of the first input's channels.

    >>> layer = nn.LazyBatchNorm1d()
    >>> layer(torch.ones(2, 3)).shape, layer.weight.shape
    (torch.Size([2, 3]), torch.Size([3]))
    """

    cls_to_become = BatchNorm1d
    _check_input_dim = BatchNorm1d._check_input_dim


class LazyBatchNorm2d(_LazyNormBase, _BatchNorm):
    """``BatchNorm2d`` whose ``num_features`` is the number of the first input's channels.

    >>> torch.nn.LazyBatchNorm2d()(torch.ones(2, 3, 4, 4)).shape
    torch.Size([2, 3, 4, 4])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyBatchNorm2d.html
    """

    cls_to_become = BatchNorm2d
    _check_input_dim = BatchNorm2d._check_input_dim


class LazyBatchNorm3d(_LazyNormBase, _BatchNorm):
    """``BatchNorm3d`` whose ``num_features`` is the number of the first input's channels."""

    cls_to_become = BatchNorm3d
    _check_input_dim = BatchNorm3d._check_input_dim
