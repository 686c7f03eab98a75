"""torch._VF: functions that ``torch`` has beside those of ``torch.nn.functional`` and the methods, with PyTorch's inner arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ._core.dtypes import bool_
from ._core.tensor import Tensor
from .dispatch.autocast import under_autocast
from .dispatch.opdef import Autocast
from .nn import functional as F
from .nn.functional._activation import rrelu_ as rrelu_
from .ops import norm, where
from .ops.linalg.matrix_functions import linalg_svdvals
from .utils.dlpack import to_dlpack as to_dlpack

__all__ = [
    "_amp_foreach_non_finite_check_and_unscale_", "addmv_", "alpha_dropout_", "as_strided_", "binary_cross_entropy_with_logits",
    "convolution", "cosine_embedding_loss", "dropout_", "embedding_renorm_", "feature_alpha_dropout_", "feature_dropout_",
    "frobenius_norm", "get_device", "hinge_embedding_loss", "index_put_", "is_distributed", "is_inference", "is_same_size", "is_signed",
    "kl_div", "margin_ranking_loss", "native_dropout", "norm_except_dim", "nuclear_norm", "poisson_nll_loss", "rrelu_", "to_dlpack",
    "triplet_margin_loss",
]  # fmt: skip

_REDUCTIONS = ("none", "mean", "sum")


def _reduction(number: int) -> str:
    """The reduction that PyTorch's inner functions name by a number. As there, what is neither 1 nor 2 reduces nothing."""
    return _REDUCTIONS[number] if number in (1, 2) else "none"


# ---- losses, whose reduction is a number: 0 for none, which PyTorch's functions do by default, 1 for the mean, 2 for the sum


def binary_cross_entropy_with_logits(
    input: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None, reduction: int = 0
) -> Tensor:
    """``F.binary_cross_entropy_with_logits`` with a number for its reduction.

    >>> torch.binary_cross_entropy_with_logits(torch.zeros(2), torch.ones(2), reduction=2)
    tensor(1.3863)
    """
    return F.binary_cross_entropy_with_logits(
        input, target, weight, reduction=_reduction(reduction), pos_weight=pos_weight
    )


def kl_div(input: Tensor, target: Tensor, reduction: int = 0, *, log_target: bool = False) -> Tensor:
    """``F.kl_div`` with a number for its reduction.

    >>> torch.kl_div(torch.zeros(2), torch.ones(2), 2)
    tensor(0.)
    """
    if reduction == 1:  # the same without the warning that F gives
        return F.kl_div(input, target, reduction="none", log_target=log_target).mean()
    return F.kl_div(input, target, reduction=_reduction(reduction), log_target=log_target)


def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``F.cosine_embedding_loss`` with a number for its reduction."""
    return F.cosine_embedding_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float = 1.0, reduction: int = 0) -> Tensor:
    """``F.hinge_embedding_loss`` with a number for its reduction."""
    return F.hinge_embedding_loss(input, target, margin, reduction=_reduction(reduction))


def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = 0
) -> Tensor:
    """``F.margin_ranking_loss`` with a number for its reduction."""
    return F.margin_ranking_loss(input1, input2, target, margin, reduction=_reduction(reduction))


def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """``F.poisson_nll_loss`` with a number for its reduction."""
    return F.poisson_nll_loss(input, target, log_input, full, eps=eps, reduction=_reduction(reduction))


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2.0,
    eps: float = 1e-06,
    swap: bool = False,
    reduction: int = 0,
) -> Tensor:
    """``F.triplet_margin_loss`` with a number for its reduction."""
    return F.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, reduction=_reduction(reduction))


# ---- in place


def dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``F.dropout`` in place.

    >>> torch.dropout_(torch.ones(2), 0.5, False)
    tensor([1., 1.])
    """
    return F.dropout(input, p, train, inplace=True)


def alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``F.alpha_dropout`` in place."""
    return F.alpha_dropout(input, p, train, inplace=True)


def feature_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """Dropout of whole channels, in place."""
    return F.dropout2d(input, p, train, inplace=True)


def feature_alpha_dropout_(input: Tensor, p: float, train: bool) -> Tensor:
    """``F.feature_alpha_dropout`` in place."""
    return F.feature_alpha_dropout(input, p, train, inplace=True)


def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """Dropout, and which elements were kept.

    >>> torch.native_dropout(torch.ones(2), 0.5, False)
    (tensor([1., 1.]), tensor([True, True]))
    """
    if train is False:
        return input.clone(), input.new_ones(input.shape, dtype=bool_)
    mask = input.new_ones(input.shape).bernoulli_(1 - p)
    return input * mask * (0.0 if p == 1 else 1 / (1 - p)), mask.bool()


def addmv_(input: Tensor, mat: Tensor, vec: Tensor, *, beta: complex = 1, alpha: complex = 1) -> Tensor:
    """``input.addmv_``."""
    return input.addmv_(mat, vec, beta=beta, alpha=alpha)


def as_strided_(input: Tensor, size: Sequence[int], stride: Sequence[int], storage_offset: int | None = None) -> Tensor:
    """``input.as_strided_``."""
    return input.as_strided_(size, stride, storage_offset)


def index_put_(input: Tensor, indices: Sequence[Tensor], values: Tensor, accumulate: bool = False) -> Tensor:
    """``input.index_put_``."""
    return input.index_put_(indices, values, accumulate)


def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Shortens the rows that indices name to a norm of at most ``max_norm``, in place.

    >>> torch.embedding_renorm_(torch.full((2, 1), 4.0), torch.tensor([1]), 1.0, 2.0)
    tensor([[4.],
            [1.]])
    """
    rows = indices.unique()
    length = input[rows].norm(norm_type, dim=1, keepdim=True)
    input[rows] = input[rows] * where(length > max_norm, max_norm / (length + 1e-7), length.new_ones(()))
    return input


def _amp_foreach_non_finite_check_and_unscale_(grads: Sequence[Tensor], found_inf: Tensor, inv_scale: Tensor) -> None:
    """Multiplies gradients by a scale in place, and sets ``found_inf`` to 1 if one has an element that is not finite.

    >>> found = torch.zeros(1)
    >>> torch._amp_foreach_non_finite_check_and_unscale_([torch.tensor([float("inf")])], found, torch.tensor(0.5))
    >>> found
    tensor([1.])
    """
    for gradient in grads:
        gradient.data.mul_(inv_scale.to(gradient.dtype))  # PyTorch counts no write
        found_inf.data.copy_(where(gradient.isfinite().all(), found_inf, found_inf.new_ones(())))


# ---- norms


def frobenius_norm(
    input: Tensor, dim: int | Sequence[int], keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares over dimensions; none named: all.

    >>> torch.frobenius_norm(torch.eye(2), [0, 1])
    tensor(1.4142)
    """
    dims = [dim] if isinstance(dim, int) else list(dim)
    return norm(input, 2, dims or None, keepdim, out=out)


def nuclear_norm(
    input: Tensor, dim: Sequence[int] | bool = (0, 1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values of matrices.

    >>> torch.nuclear_norm(torch.eye(2))
    tensor(2.)
    """
    if isinstance(dim, bool):  # nuclear_norm(input, keepdim)
        dim, keepdim = (0, 1), dim
    if len(dim) != 2:
        raise RuntimeError(f"linalg.matrix_norm: dim must be a 2-tuple. Got {', '.join(map(str, dim))}")
    first, second = (d % input.dim() for d in dim)
    matrices = input.movedim((first, second), (-2, -1))
    result = linalg_svdvals(matrices).sum(-1)
    if keepdim:
        result = result.unsqueeze(min(first, second)).unsqueeze(max(first, second))
    return result if out is None else out.copy_(result)


def norm_except_dim(v: Tensor, pow: int = 2, dim: int = 0) -> Tensor:
    """The norms of the slices along one dimension, which stays, the others being of size 1. -1: of all elements.

    >>> torch.norm_except_dim(torch.ones(2, 4))
    tensor([[2.],
            [2.]])
    """
    last = v.dim() - 1
    if dim == -1:
        return v.norm(pow)
    if dim == 0:
        return v.contiguous().view(v.size(0), -1).norm(pow, 1).view(v.size(0), *[1] * last)
    if dim == last:
        return v.contiguous().view(-1, v.size(last)).norm(pow, 0).view(*[1] * last, v.size(last))
    return norm_except_dim(v.transpose(0, dim), pow, 0).transpose(0, dim)


# ---- what methods tell


def is_same_size(input: Tensor, other: Tensor) -> bool:
    """Whether both have one shape.

    >>> torch.is_same_size(torch.ones(2), torch.zeros(2))
    True
    """
    return input.shape == other.shape


def is_signed(input: Tensor) -> bool:
    """``input.is_signed()``."""
    return input.is_signed()


def is_inference(input: Tensor) -> bool:
    """``input.is_inference()``."""
    return input.is_inference()


def is_distributed(input: Tensor) -> bool:
    """False."""
    return False


def get_device(input: Tensor) -> int:
    """The number of the tensor's device; -1 on the CPU.

    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


@under_autocast(cpu=Autocast.KEEP, cuda=Autocast.LOWER)
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution, plain or transposed, over as many dimensions as the weight has beside two.

    >>> torch.convolution(torch.ones(1, 1, 3), torch.ones(1, 1, 2), None, [1], [0], [1], False, [0], 1)
    tensor([[[2., 2.]]])
    """
    dims = weight.dim() - 2
    every: dict[bool, tuple[Callable[..., Any], ...]] = {
        False: (F.conv1d, F.conv2d, F.conv3d),
        True: (F.conv_transpose1d, F.conv_transpose2d, F.conv_transpose3d),
    }
    function = every[transposed][dims - 1]
    if transposed:
        return function(input, weight, bias, stride, padding, output_padding, groups, dilation)
    return function(input, weight, bias, stride, padding, dilation, groups)
