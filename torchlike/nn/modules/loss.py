"""Losses as layers; the functions themselves are in ``nn.functional``."""

from __future__ import annotations

import warnings

from ..._core.tensor import Tensor
from .. import functional as F
from ._pure import Pure
from .module import Module

__all__ = [
    "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss", "GaussianNLLLoss", "HingeEmbeddingLoss", "HuberLoss", "KLDivLoss", "L1Loss",
    "MSELoss", "MarginRankingLoss", "NLLLoss", "PoissonNLLLoss", "SmoothL1Loss", "SoftMarginLoss",
]  # fmt: skip


def _reduction(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """What the two old flags say, where they are given."""
    if size_average is None and reduce is None:
        return reduction
    averages, reduces = size_average is not False, reduce is not False
    said = "none" if not reduces else "mean" if averages else "sum"
    warnings.warn(
        f"size_average and reduce args will be deprecated, please use reduction='{said}' instead.", stacklevel=4
    )
    return said


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduction(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class CrossEntropyLoss(_WeightedLoss):
    """``-log(softmax(input))`` at the target class, averaged.

    Args:
        weight: a weight for each class.
        ignore_index: targets of this class count nothing.
        reduction: "mean", "sum" or "none".
        label_smoothing: how much of each target is spread over all classes.

    Shapes: logits (N, C) or (N, C, d1, ...) and class numbers (N) or (N, d1, ...), or probabilities of the logits' shape.

    Raises:
        IndexError: a class number is out of range.

    >>> torch.nn.CrossEntropyLoss()(torch.zeros(3, 5), torch.tensor([1, 0, 4]))
    tensor(1.6094)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html
    """

    _pure = Pure("ignore_index", "reduction", "label_smoothing", several=True)

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.cross_entropy(
            input,
            target,
            weight=self.weight,
            ignore_index=self.ignore_index,
            reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )


class NLLLoss(_WeightedLoss):
    """``-input`` at the target class, averaged; the input holds logarithms of probabilities.

    Args and shapes: as for ``CrossEntropyLoss``, class numbers only.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.NLLLoss.html
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class MSELoss(_Loss):
    """``(input - target)^2``, averaged.

    Args:
        reduction: "mean", "sum" or "none".

    >>> torch.nn.MSELoss()(torch.zeros(2), torch.tensor([1.0, 3.0]))
    tensor(5.)

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MSELoss.html
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.mse_loss(input, target, reduction=self.reduction)


class L1Loss(_Loss):
    """``|input - target|``, averaged."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.l1_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """``(input - target)^2 / (2 beta)`` where the difference is below ``beta``, ``|input - target| - beta / 2`` elsewhere."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """``(input - target)^2 / 2`` where the difference is below ``delta``, ``delta (|input - target| - delta / 2)`` elsewhere."""

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (int, float)):
            raise TypeError(f"delta must be a float or int, got: {type(delta)}")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class KLDivLoss(_Loss):
    """``target (log(target) - input)``; the input holds logarithms, the target too if ``log_target``."""

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class BCELoss(_WeightedLoss):
    """``-(t log(x) + (1 - t) log(1 - x))``, averaged; logarithms are at least -100.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BCELoss.html
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """``BCELoss`` of ``sigmoid(input)``, computed so that it does not overflow.

    Args:
        weight: factors for the elements.
        pos_weight: a factor for the positive part of each class.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.BCEWithLogitsLoss.html
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class SoftMarginLoss(_Loss):
    """``log(1 + exp(-target input))``; targets are 1 or -1."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class _MarginLoss(_Loss):
    margin: float

    def __init__(
        self,
        margin: float,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin


class HingeEmbeddingLoss(_MarginLoss):
    """``x`` where the target is 1, ``max(0, margin - x)`` where it is -1."""

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_MarginLoss):
    """``max(0, -target (x1 - x2) + margin)``; targets are 1 where the first is to be larger, else -1."""

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(margin, size_average, reduce, reduction)

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class PoissonNLLLoss(_Loss):
    """``exp(x) - target x``, or ``x - target log(x + eps)`` without ``log_input``; ``full`` adds Stirling's term."""

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """``(log(max(var, eps)) + (input - target)^2 / max(var, eps)) / 2``; ``full`` adds the constant term."""

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Tensor | float) -> Tensor:
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)
