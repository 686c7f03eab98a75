"""SparseAdam, which takes sparse gradients and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.tensor import Tensor
from ..autograd.grad_mode import enable_grad
from ._options import check_betas, check_learning_rate
from .optimizer import Optimizer

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients. Tensors are dense here so far, so that ``step`` refuses every gradient in PyTorch's words.

    Args:
        params: tensors or groups of them.
        lr, betas, eps: as for ``Adam``; the first and the last are larger than zero.
        maximize: increase the loss, where other steps decrease it.

    Raises:
        ValueError: a number is out of its range.
        RuntimeError: in ``step``, where a parameter has a dense gradient.

    >>> optimizer = torch.optim.SparseAdam([torch.nn.Parameter(torch.ones(2))])
    >>> optimizer.param_groups[0]["lr"]
    0.001

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
    """

    def __init__(
        self,
        params: object,
        lr: float | Tensor = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        maximize: bool = False,
    ) -> None:
        check_learning_rate(lr)
        if not lr > 0.0:
            raise ValueError(f"Invalid learning rate: {lr}")
        if not eps > 0.0:
            raise ValueError(f"Invalid epsilon value: {eps}")
        check_betas(betas)
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "maximize": maximize})

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Refuses dense gradients; without any it changes nothing.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if any(p.grad is not None for group in self.param_groups for p in group["params"]):
            raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
        return loss
