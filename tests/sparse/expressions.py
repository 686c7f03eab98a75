"""Expressions with sparse tensors, by name: what PyTorch prints for each is recorded."""

from __future__ import annotations

import warnings
from types import ModuleType
from typing import Any

__all__ = ["EXPRESSIONS", "LOSSES", "OPTIMIZERS", "everything", "gradients", "shown", "trained"]


def namespace(torch: ModuleType) -> dict[str, object]:
    """Returns the names that the expressions may use."""
    index, values = torch.tensor([[0, 1, 1], [2, 0, 2]]), torch.tensor([3.0, 4.0, 5.0])
    coo = torch.sparse_coo_tensor
    crow, col = torch.tensor([0, 1, 3]), torch.tensor([2, 0, 2])
    again = torch.tensor([[1, 0, 1, 0], [2, 0, 2, 1]])
    return {
        "torch": torch,
        "coo": coo,
        "csr": torch.sparse_csr_tensor,
        "i": index,
        "v": values,
        "crow": crow,
        "col": col,
        "s": coo(index, values, (2, 3)),  # not known to be coalesced
        "c": coo(index, values, (2, 3)).coalesce(),
        "r": coo(index, values, (2, 3)).coalesce().requires_grad_(),
        "u": coo(again, torch.tensor([1.0, 2.0, 3.0, 4.0]), (2, 3)),  # an index comes twice
        "h": coo(index, torch.arange(6.0).reshape(3, 2), (2, 3, 2)).coalesce(),
        "a": torch.sparse_csr_tensor(crow, col, values, (2, 3)),
        "d": torch.arange(6.0).reshape(2, 3) + 1,
        "m": (torch.arange(6.0).reshape(3, 2) - 2).requires_grad_(),
    }


MAKING = """
coo(i, v)
coo((2, 3))
coo(size=(2, 3))
coo(i, v, (2, 2))
coo(i.float(), v, (2, 3))
coo(i, v, (2, 3, 4))
coo(i, v[:2], (2, 3))
coo(i, v, (2, 2), check_invariants=True)
coo(-i, v, (2, 3), check_invariants=True)
coo([[0, 1], [2, 0]], [3, 4], (2, 3))
coo([[0, 1], [2, 0]], [3.0, 4], (2, 3), dtype=torch.float64)
coo([0, 1], [3.0, 4.0])
coo(i, v, (2, 3), is_coalesced=True).is_coalesced()
coo(i, torch.ones(3, 2), (2, 3, 2))
coo(i, torch.ones(3, 2), (2, 3, 5))
coo(torch.zeros(2, 0, dtype=torch.int64), torch.zeros(0, dtype=torch.int32), (2, 3))
coo(i, v, (2, 3), requires_grad=True)
coo(i, v.clone().requires_grad_(), (2, 3))
coo(i.int(), v)._indices().dtype
coo([[1]], [2.0], (4,)).is_coalesced()
coo(torch.zeros(0, 1, dtype=torch.int64), torch.ones(1, 2), (2,))
csr(crow, col, v)
csr(crow, col, v, (2, 3))
csr(crow, col, v, (2, 3), dtype=torch.float64, requires_grad=True)
csr(crow.int(), col.int(), v, (2, 3)).crow_indices().dtype
csr([0, 1, 3], [2, 0, 2], [1, 2, 3])
csr(torch.tensor([0, 1, 2]), col, v, (2, 3), check_invariants=True)
csr(crow, col, v, (2, 2), check_invariants=True)
csr(crow, col, v, (3, 3), check_invariants=True)
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3) + 1, torch.tensor([0, -1, 2]), (3, 3))
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, 0, 2]), (3, 3))
torch.sparse.spdiags(torch.arange(9.0).reshape(3, 3), torch.tensor([0, 1]), (3, 3))
torch.nn.Parameter(c)
torch._convert_indices_from_coo_to_csr(torch.tensor([0, 1, 1, 3]), 5)
torch._convert_indices_from_coo_to_csr(torch.tensor([0, 1, 1, 3]), 4, out_int32=True)
torch._convert_indices_from_csr_to_coo(crow, col)
torch._convert_indices_from_csr_to_coo(crow, col, transpose=True, out_int32=True)
torch.sparse.FloatTensor(i, v, torch.Size([2, 3]))
torch.sparse.LongTensor(2, 3)
torch.sparse.DoubleTensor(torch.Size([2, 3]))
isinstance(c, torch.sparse.FloatTensor), isinstance(d, torch.sparse.FloatTensor), isinstance(c, torch.sparse.LongTensor)
torch.zeros_like(c)
c.new_zeros(3, 4)
c.new_empty((2,), dtype=torch.float64)
c.new_ones(2)
c.nan_to_num(0.0)
c.to_sparse(1)
torch.empty_like(c)
"""

ASKING = """
(c.is_sparse, c.is_sparse_csr, c.layout, c.is_coalesced(), s.is_coalesced())
(a.is_sparse, a.is_sparse_csr, a.layout)
(d.is_sparse, d.is_sparse_csr, d.layout, d.sparse_dim(), d.dense_dim())
(c._nnz(), c.sparse_dim(), c.dense_dim(), h.sparse_dim(), h.dense_dim(), a._nnz(), a.sparse_dim(), a.dense_dim())
(c.shape, c.size(0), c.dim(), c.numel(), len(c), c.dtype, c.device)
c.type()
c.indices()
c.values()
r.values()
r._values()
s.indices()
s.values()
s.crow_indices()
a.crow_indices()
a.col_indices()
a.values()
a.indices()
a.coalesce()
d.is_coalesced()
d.values()
d.indices()
d.coalesce()
d.crow_indices()
c.coalesce() is c
u.coalesce()
isinstance(c, torch.Tensor), type(c) is torch.Tensor
c.is_contiguous()
c.numpy()
a.numpy()
c.item()
bool(c)
c.data_ptr()
"""

COMPUTING = """
c * 2
2 * c
r * 2
s * 2
c * torch.tensor(2.0)
coo(i, torch.tensor([1, 2, 3]), (2, 3)) * 1.5
c / 2
coo(i, torch.tensor([1, 2, 3]), (2, 3)) / 2
c / c
c / d
-c
-s
r.neg()
c + c
c - c * 2
c + u.coalesce()
c.add(c, alpha=3)
c + d
d + c
d - c
d.add(c, alpha=2)
d.int() + c
c + 1
c * c
c * u.coalesce()
c * d
d * c
c * torch.ones(3)
c.abs()
u.abs()
c.sqrt()
c.pow(2)
c ** 2
c.square()
c.sgn()
c.sin()
c.tanh()
c.atan()
c.log1p()
c.floor()
c.round()
c.relu()
torch.relu(c)
torch.isnan(c)
c.exp()
torch.cos(c)
torch.sigmoid(c)
c == c
c.max()
c.cumsum(0)
c.view(3, 2)
c.clone()
c.detach()
r.detach()
r.clone()
c.double()
c.to(torch.int32)
c.long()
c.half().dtype
c.to(torch.float64).is_coalesced()
s.to(torch.float64).is_coalesced()
c.to_dense()
u.to_dense()
h.to_dense()
r.to_dense()
a.to_dense()
d.to_sparse()
torch.eye(3).to_sparse()
torch.eye(3).to_sparse().is_coalesced()
torch.ones(2, 3).to_sparse(1)
torch.eye(3, requires_grad=True).to_sparse()
torch.eye(2).to_sparse_csr()
torch.eye(2).to_sparse(layout=torch.sparse_csr)
c.to_sparse_csr()
r.to_sparse_csr()
u.to_sparse_csr()
a.to_sparse()
a.to_sparse_coo()
d.sparse_mask(c)
d.clone().requires_grad_().sparse_mask(c)
c.sparse_mask(c)
a * 2
a + a
a * a
-a
a.abs()
a.relu()
a.clone()
a.double()
a.sum()
d + a
"""

MULTIPLYING = """
torch.sparse.mm(c, m)
torch.sparse.mm(r, m)
torch.sparse.mm(u, m)
c @ m
r @ m
torch.mm(c, m)
torch.matmul(c, torch.ones(3))
torch.mv(c, torch.ones(3))
r.mv(torch.ones(3))
torch.ones(2, 2) @ c
torch.mm(torch.ones(2, 2), c)
torch.sparse.mm(c, c.t())
torch.sparse.mm(r, r.t())
torch.sparse.mm(c, torch.ones(2, 2))
torch.sparse.addmm(torch.ones(2, 2), c, m)
torch.sparse.addmm(torch.ones(2, 2), c, m, beta=2, alpha=3)
torch.addmm(torch.ones(2, 2), c, m)
torch.nn.functional.linear(c, d)
torch.smm(c, m.detach())
torch.hspmm(c, m.detach())
torch.spmm(c, m)
torch.dsmm(c, m)
torch.hsmm(c, m.detach())
a @ m
a @ torch.ones(3)
torch.sparse.mm(a, m)
torch.sparse.mm(a, m.detach(), "sum")
torch.sparse.mm(a, m.detach(), "mean")
torch.sparse.mm(a, m.detach(), "amax")
torch.sparse.mm(a, m.detach(), "amin")
torch.sparse.mm(csr([0, 0, 2], [1, 0], [-1.0, -2.0], (2, 3)), m.detach(), "amax")
torch.mm(torch.ones(2, 2), a)
torch.addmm(torch.ones(2, 2), a, m)
torch.sparse.sampled_addmm(a, torch.ones(2, 2), torch.ones(2, 3))
"""

SHAPING = """
c.t()
c.t().is_coalesced()
r.t()
c.T
c.transpose(0, 1)
c.permute(1, 0)
h.transpose(0, 1)
c.unsqueeze(0)
r.unsqueeze(1)
torch.cat([c, c])
torch.cat([c, c], 1)
torch.cat([c, c]).is_coalesced()
torch.cat([c, d])
torch.stack([c, c])
c.index_select(0, torch.tensor([1]))
c.index_select(1, torch.tensor([2, 0]))
c.index_select(0, torch.tensor([2]))
r.index_select(0, torch.tensor([1]))
c.select(0, 1)
c[0]
c[0, 2]
c[1].is_coalesced()
list(c)
a[0]
"""

REDUCING = """
c.sum()
r.sum()
torch.sparse.sum(r)
torch.sparse.sum(c, 0)
torch.sparse.sum(r, 1)
torch.sparse.sum(c, (0, 1))
torch.sparse.sum(h, 0)
torch.sparse.sum(h, 2)
torch.sum(c, dim=0)
c.norm()
c.any()
c.mean()
torch.sparse.softmax(c, 1)
torch.sparse.softmax(r, 0)
torch.sparse.softmax(h, 2)
torch.sparse.log_softmax(r, 1)
torch.sparse.softmax(c, 1, dtype=torch.float64)
"""

WRITING = """
c.mul_(2)
c.neg_()
c.add_(c)
c.add_(d)
c.zero_()
c.clone().copy_(u.coalesce())
d.add_(c)
d.mul_(c)
c._values().mul_(10), c
c.requires_grad_().mul_(2)
c._coalesced_(False).is_coalesced()
"""

EXPRESSIONS = [
    line
    for group in (MAKING, ASKING, COMPUTING, MULTIPLYING, SHAPING, REDUCING, WRITING)
    for line in group.strip().split("\n")
]


def shown(torch: ModuleType, expression: str) -> str:
    """Returns an expression's result as text, or its error: the type, and the first 60 characters of the message."""
    names = namespace(torch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return repr(eval(expression, names))
        except Exception as error:
            if isinstance(error, NotImplementedError):  # PyTorch names the overload too
                return f"NotImplementedError: {str(error)[:21]}"
            return f"{type(error).__name__}: {str(error)[:60]}"


# Losses for which the gradients of ``r``, ``w`` (the values of a sparse tensor), ``m`` and ``e`` (dense) are recorded.
LOSSES = """
torch.sparse.mm(r, m).square().sum()
(r @ m).sin().sum()
torch.mv(r, m[:, 0]).square().sum()
(m.t() @ r.t()).square().sum()
torch.sparse.addmm(e @ e.t(), r, m, beta=2, alpha=3).square().sum()
torch.addmm(m[:2], r, m, beta=0.5).square().sum()
r.to_dense().square().sum()
(r * 3).to_dense().square().sum()
(r * r).to_dense().sum()
(r * e).to_dense().square().sum()
(r + r * 2).to_dense().square().sum()
(e + r).square().to_sparse().values().sum()
(r / 2).values().square().sum()
(-r).coalesce().values().exp().sum()
(r ** 3).values().sum()
torch.sparse.sum(r).square()
torch.sparse.sum(r, 0).to_dense().square().sum()
torch.sparse.sum(r, 1).values().square().sum()
torch.sparse.softmax(r, 1).values().square().sum()
torch.sparse.log_softmax(r, 0).to_dense().square().sum()
torch.sparse.mm(r, r.t()).to_dense().square().sum()
torch.sparse.mm(torch.sparse.mm(r, r.t()), m[:2]).square().sum()
r.t().to_dense().square().sum()
e.sparse_mask(c).values().square().sum()
e.to_sparse().values().square().sum()
coo(i, w, (2, 3)).to_dense().square().sum()
torch.sparse.mm(coo(i, w, (2, 3)), m).square().sum()
torch.sparse.mm(coo(i, w * w, (2, 3)).coalesce(), m).square().sum()
coo(torch.tensor([[1, 0, 1], [2, 0, 2]]), w, (2, 3)).coalesce().values().square().sum()
torch.sparse.mm(coo(torch.tensor([[1, 0, 1], [2, 0, 2]]), w, (2, 3)), m).square().sum()
torch.nn.functional.embedding(torch.tensor([1, 0, 1]), e, sparse=True).square().sum()
torch.nn.functional.embedding(torch.tensor([1, 0, 1]), e, padding_idx=1, sparse=True).square().sum()
torch.nn.functional.embedding(torch.tensor([1, 0]), e * 2, sparse=True).square().sum()
torch.nn.functional.embedding_bag(torch.tensor([[1, 0], [1, 1]]), e, sparse=True).square().sum()
torch.nn.functional.embedding_bag(torch.tensor([1, 0, 1]), e, torch.tensor([0, 2]), mode="sum", sparse=True).square().sum()
torch.nn.functional.embedding_bag(torch.tensor([[1, 0, 1]]), e, mode="sum", per_sample_weights=w[None], sparse=True).square().sum()
""".strip().split("\n")


def gradients(torch: ModuleType, loss: str) -> dict[str, list[float]]:
    """Returns a loss's gradients for the leaves that have one, with all elements, and the sum with those of a second pass."""
    names = namespace(torch)
    leaves = {
        "r": names["r"],
        "m": names["m"],
        "w": torch.tensor([1.5, -2.0, 0.5], requires_grad=True),
        "e": torch.tensor([[0.5, 0.0, 2.0], [-1.0, 3.0, 0.0]], requires_grad=True),
    }
    found = {}
    for again in (1, 2):
        eval(loss, names | leaves).backward()
        for name, leaf in leaves.items():
            if leaf.grad is not None:
                # PyTorch gives some gradients of a sparse tensor dense. At the tensor's own elements they are the same.
                gradient = (
                    leaf.grad.to_dense() * (leaf.detach().to_dense() != 0) if name == "r" else leaf.grad.to_dense()
                )
                found[f"{name}{again}"] = gradient.tolist()
    return found


OPTIMIZERS = {
    "SGD": ("SGD", {"lr": 0.1}),
    "SGD momentum": ("SGD", {"lr": 0.1, "momentum": 0.9}),
    "SGD nesterov": ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "SGD dampening": ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.5, "maximize": True}),
    "Adagrad": ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    "SparseAdam": ("SparseAdam", {"lr": 0.1}),
    "SparseAdam maximize": ("SparseAdam", {"lr": 0.1, "betas": (0.5, 0.9), "maximize": True}),
    "LBFGS": ("LBFGS", {"lr": 0.1}),
} | {
    name: (name, {})
    for name in ("Adam", "AdamW", "RMSprop", "Adadelta", "Adamax", "NAdam", "RAdam", "Rprop", "ASGD", "Adafactor")
}


def trained(torch: ModuleType, name: str) -> Any:
    """Returns a table with a sparse gradient after three steps, or the error of the first."""
    kind, options = OPTIMIZERS[name]
    table = torch.nn.Embedding.from_pretrained(torch.arange(8.0).reshape(4, 2) / 4, freeze=False, sparse=True)
    optimizer = getattr(torch.optim, kind)(table.parameters(), **options)

    def closure() -> object:
        optimizer.zero_grad()
        loss = (table(torch.tensor([[0, 2], [2, 2]])).sin() * torch.tensor([1.0, 2.0])).sum()
        loss.backward()
        return loss

    steps = []
    for _ in range(3):
        try:
            optimizer.step(closure)
        except RuntimeError as error:
            return str(error)
        steps.append(table.weight.tolist())
    return steps


def everything(torch: ModuleType) -> dict[str, object]:
    return {
        "shown": {expression: shown(torch, expression) for expression in EXPRESSIONS},
        "gradients": {loss: gradients(torch, loss) for loss in LOSSES},
        "trained": {name: trained(torch, name) for name in OPTIMIZERS},
    }
