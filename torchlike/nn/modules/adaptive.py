"""A softmax over many classes that computes less for rare classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from ...ops.creation.from_data import tensor
from ...ops.indexing.selecting import where
from ...ops.shape.joining import cat
from .. import functional as F
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """``log_softmax`` over classes sorted by how frequent they are: rare ones share a place in the head and smaller projections.

    Args:
        in_features: size of the input's last dimension.
        n_classes: the number of classes.
        cutoffs: the class numbers at which a new cluster begins.
        div_value: the factor by which each cluster's projection is smaller than the one before.
        head_bias: whether the head has a bias.

    Shapes: input (N, in_features) and targets (N) give ``output`` (N), the log-probability of each target, and ``loss``, the mean
    of their negatives.

    Raises:
        RuntimeError: the shapes are inconsistent, or a target is no class.

    >>> layer = torch.nn.AdaptiveLogSoftmaxWithLoss(16, 20, [5, 10])
    >>> layer(torch.ones(3, 16), torch.tensor([1, 7, 19])).output.shape
    torch.Size([3])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.AdaptiveLogSoftmaxWithLoss.html; Grave et al.,
    https://arxiv.org/abs/1609.04309
    """

    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        rising = all(a < b for a, b in zip([0, *cutoffs], cutoffs, strict=False))
        if not rising or cutoffs[-1] > n_classes - 1 or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing order, where each value is "
                "between 1 and n_classes-1"
            )
        where = {"device": device, "dtype": dtype}
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for number in range(self.n_clusters):
            hidden = int(in_features // div_value ** (number + 1))
            size = self.cutoffs[number + 1] - self.cutoffs[number]
            self.tail.append(
                Sequential(Linear(in_features, hidden, bias=False, **where), Linear(hidden, size, bias=False, **where))
            )

    def reset_parameters(self) -> None:
        """Draws new weights."""
        self.head.reset_parameters()
        for first, second in self.tail:  # pyright: ignore[reportGeneralTypeIssues]
            first.reset_parameters()
            second.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        rank = target_.dim()
        if rank == 1:
            if input_.shape[0] != target_.shape[0]:
                raise RuntimeError("Input and target should have the same size in the batch dimension.")
            if input_.dim() != 2:
                raise RuntimeError(
                    f"1D target tensor expects 2D input tensors, but found inputs with size {input_.shape}"
                )
        elif rank == 0:
            if input_.dim() != 1:
                raise RuntimeError(
                    f"0D target tensor expects 1D input tensors, but found inputs with size {input_.shape}"
                )
        else:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        rows, targets = (input_, target_) if rank else (input_.unsqueeze(0), target_.unsqueeze(0))
        self._check(targets)
        output = self._target_log_probabilities(rows, targets)
        loss = (-output).mean()
        return _ASMoutput(output if rank else output.squeeze(), loss)

    def _check(self, targets: Tensor) -> None:
        """Raises for targets that are no class, if their values are on the host. Otherwise the look-up below reports them when it runs."""
        if targets.numel() and isinstance(targets._value().array, np.ndarray):
            low, high = targets.min().item(), targets.max().item()
            if low < 0 or high >= self.n_classes:
                raise RuntimeError(
                    f"Target values should be in [0, {self.n_classes - 1}], but values in range [{low}, {high}] were found. "
                )

    def _target_log_probabilities(self, rows: object, targets: Tensor) -> Tensor:
        """The log-probability of each row's target.

        Each row is computed for every cluster, and masked where it belongs to another one. So no shape depends on the targets, and all
        training steps are one program.
        """
        cluster_of = np.searchsorted(np.array(self.cutoffs[:-1]), np.arange(self.n_classes), side="right")
        cluster = tensor(cluster_of, device=targets.device)[targets]
        in_head = where(cluster == 0, targets, cluster + (self.shortlist_size - 1))
        result = F.log_softmax(self.head(rows), 1).gather(1, in_head.unsqueeze(1)).squeeze(1)
        for number, project in enumerate(self.tail, 1):
            low, high = self.cutoffs[number - 1], self.cutoffs[number]
            inside = (targets - low).clamp(0, high - low - 1)
            scores = F.log_softmax(project(rows), 1).gather(1, inside.unsqueeze(1)).squeeze(1)
            result = result + scores.masked_fill(cluster != number, 0)
        return result

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes: shape (N, n_classes)."""
        head = F.log_softmax(self.head(input), 1)
        parts = [head[:, : self.shortlist_size]]
        for number, project in enumerate(self.tail):
            scores = F.log_softmax(project(input), 1)
            parts.append(scores + head[:, self.shortlist_size + number].unsqueeze(1))
        return cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each row: shape (N)."""
        scores = self.log_prob(input)
        return scores.argmax(1)
