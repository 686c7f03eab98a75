"""SparseAdam, which takes sparse gradients and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._core.sparse import is_sparse
from .._core.tensor import Tensor
from ..autograd.grad_mode import no_grad
from ..ops.creation.filled import zeros_like
from ..sparse._construction import sparse_coo_tensor
from ._options import check_betas, check_learning_rate
from .optimizer import Optimizer, loss_of

__all__ = ["SparseAdam"]


class SparseAdam(Optimizer):
    """Adam for sparse gradients: parameter and state change only where the gradient has elements.

    There ``m = m + (1 - beta1)(g - m)``, ``v = v + (1 - beta2)(g^2 - v)``, and
    ``p = p - lr sqrt(1 - beta2^t) / (1 - beta1^t) m / (sqrt(v) + eps)``.

    Args:
        params: tensors or groups of them.
        lr, betas, eps: as for ``Adam``; the first and the last are larger than zero.
        maximize: increase the loss, where other steps decrease it.

    Raises:
        ValueError: a number is out of its range, or a parameter is sparse itself.
        RuntimeError: in ``step``, where a parameter has a dense gradient.

    >>> table = torch.nn.Embedding.from_pretrained(torch.ones(3, 1), freeze=False, sparse=True)
    >>> optimizer = torch.optim.SparseAdam(table.parameters(), lr=0.1)
    >>> table(torch.tensor([2])).sum().backward()
    >>> optimizer.step()
    >>> table.weight.detach()
    tensor([[1.0000],
            [1.0000],
            [0.9000]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
    """

    _by_elements = False

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
        sparse = [
            [number, place]
            for number, group in enumerate(self.param_groups)
            for place, param in enumerate(group["params"])
            if is_sparse(param)
        ]
        if sparse:
            raise ValueError(f"Sparse params at indices {sparse}: SparseAdam requires dense parameter tensors")

    @no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Updates the parameters where their gradients have elements.

        Args:
            closure: computes the loss and its gradients, and returns the loss.
        """
        loss = loss_of(closure)
        for group in self.param_groups:
            params = [param for param in group["params"] if param.grad is not None]
            if not all(is_sparse(param.grad) for param in params):
                raise RuntimeError("SparseAdam does not support dense gradients, please consider Adam instead")
            for param in params:
                self._step_parameter(group, param)
        return loss

    def _step_parameter(self, group: dict[str, Any], param: Any) -> None:
        own = self.state[param]
        if not own:
            own |= {"step": 0, "exp_avg": zeros_like(param), "exp_avg_sq": zeros_like(param)}
        own["step"] += 1
        grad = (-param.grad if group["maximize"] else param.grad).coalesce()
        if not grad._nnz():
            return
        values = grad.values()

        def at_indices(new: Tensor) -> Tensor:
            return sparse_coo_tensor(grad.indices(), new, grad.shape, is_coalesced=True)

        averages = []
        for name, beta, new in zip(("exp_avg", "exp_avg_sq"), group["betas"], (values, values * values), strict=True):
            old = own[name].sparse_mask(grad).values()
            change = (new - old) * (1 - beta)
            own[name].add_(at_indices(change))
            averages.append(old + change)
        mean, square = averages
        beta1, beta2 = group["betas"]
        rate = float(group["lr"]) * (1 - beta2 ** own["step"]) ** 0.5 / (1 - beta1 ** own["step"])
        param.add_(at_indices(-rate * (mean / (square.sqrt() + group["eps"]))))
