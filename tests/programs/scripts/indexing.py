"""Reading and writing by every kind of index, and what Python's operators do with tensors."""

import torch, numpy as np

torch.manual_seed(0)
x = torch.arange(24).reshape(2, 3, 4)
P = print


def t(f):
    try:
        r = f()
        P(r if not isinstance(r, torch.Tensor) or r.numel() < 30 else r.shape)
    except Exception as e:
        P(type(e).__name__, str(e)[:200])


for f in (
    lambda: x[0],
    lambda: x[-1, ..., -1],
    lambda: x[:, None, 1:, ::2].shape,
    lambda: x[..., None].shape,
    lambda: x[[0, 1], [1, 2]],
    lambda: x[torch.tensor([[0, 1], [1, 0]])].shape,
    lambda: x[x > 20],
    lambda: x[:, [True, False, True]].shape,
    lambda: x[:, torch.tensor([1, 0]), :, None].shape,
    lambda: x[0, torch.tensor([0, 2])[:, None], torch.tensor([1, 3])],
    lambda: x[:, :, np.array([0, 3])],
    lambda: x[np.int64(1)],
    lambda: x[torch.tensor(1), 2],
    lambda: x[True].shape,
    lambda: x[False].shape,
    lambda: x[None, True].shape,
    lambda: x[()].shape,
    lambda: x[[[0, 1], [1, 1]]].shape,
    lambda: x[(0, 1)],
    lambda: x[[0]],
    lambda: x[slice(None), slice(1, None)].shape,
    lambda: x[5],
    lambda: x[:, 7],
    lambda: x[0, 0, 0, 0],
    lambda: x[1.5],
    lambda: x["a"],
    lambda: x[torch.tensor([9])],
    lambda: x[x[:, :, :3] > 1],
    lambda: x[::-1],
    lambda: x[1:1].shape,
    lambda: x[:, 10:].shape,
    lambda: x[torch.ones(2, 3, dtype=torch.bool)].shape,
    lambda: x[torch.ones(2, dtype=torch.uint8)],
    lambda: x[torch.tensor([0.0, 1.0])],
    lambda: x[0:1, torch.tensor([[1]]), 0:2].shape,
    lambda: x[torch.tensor([0, 1]), :, torch.tensor([0, 3])],
    lambda: x[:, torch.tensor([0, 1]), torch.tensor([0, 1, 2])],
    lambda: x[None, 0, None].shape,
    lambda: x[Ellipsis, 0].shape,
):
    t(f)


def s(i, v, dt=None):
    y = x.clone() if dt is None else x.to(dt)
    try:
        y[i] = v
        P(y.flatten().tolist())
    except Exception as e:
        P(type(e).__name__, str(e)[:200])


for i, v in (
    (0, 7),
    ((slice(None), 1), torch.tensor([1, 2, 3, 4])),
    (x > 20, 0),
    (x % 2 == 0, -1.7),
    (([0, 1], [0, 1]), 5),
    ((..., 0), torch.zeros(2, 3, dtype=torch.long)),
    (torch.tensor([0, 0]), torch.tensor(3)),
    ((0, 0), [1, 2, 3, 4]),
    ((0, 0, 0), 1.9),
    (0, torch.ones(5)),
    (x > 100, 3),
    (x > 20, torch.tensor([1, 2, 3])),
    (x > 20, torch.tensor([1, 2])),
    ((slice(None), [0, 2]), torch.arange(16).reshape(2, 2, 4)),
    ((0, slice(0, 2), [1, 1]), 9),
    (None, 3),
    ((1, None, 2), torch.arange(4)),
    (True, 4),
    (slice(0, 0), 3),
    ((0, 0), np.arange(4)),
    ((0, 0, 0), np.float64(2.5)),
    ((0, 0, 0), torch.tensor(True)),
    ((0, 0, 0), "a"),
    ((0, 0, 0), None),
    (9, 1),
    ((0, 0, 0), 2j),
):
    s(i, v)
y = torch.zeros(4)
y[[0, 2]] += 1
y[1:3] *= 3
y[y == 0] -= 2
P(y)
y[torch.tensor([0, 0, 0])] += 1
P(y)
y.index_add_(0, torch.tensor([0, 0, 1]), torch.tensor([1.0, 2.0, 3.0]), alpha=2)
P(y)
P(
    y.index_put((torch.tensor([0, 0]),), torch.tensor([1.0, 1.0]), accumulate=True),
    torch.index_put(y, [torch.tensor([1])], torch.tensor(4.0)),
)
z = torch.arange(12.0).view(3, 4)
i = torch.tensor([[0, 1], [2, 3], [1, 1]])
P(
    z.gather(1, i),
    z.scatter(1, i, 9.0),
    z.scatter(1, i, torch.ones(3, 2), reduce="add") if True else 0,
    z.scatter_add(0, torch.zeros(1, 4, dtype=torch.long), torch.ones(1, 4)),
    z.scatter_reduce(1, i, torch.full((3, 2), 5.0), reduce="amax", include_self=False),
    torch.take(z, torch.tensor([0, 5, -1])),
    z.take_along_dim(i, 1),
    z.index_select(1, torch.tensor([0, 0])),
    z.masked_select(z > 8),
    z.masked_fill(z > 8, float("-inf")),
    z.masked_scatter(z > 8, torch.arange(10.0)),
    z.index_fill(0, torch.tensor([1]), -1),
    z.index_copy(0, torch.tensor([2, 0]), torch.ones(2, 4)),
    torch.where(z > 5),
    torch.where(z > 5, z, -z),
    torch.where(z > 5, 1, 0),
    z.nonzero().tolist(),
    torch.nonzero(z > 9, as_tuple=True),
    torch.argwhere(z > 9),
    sep="\n",
)
P(
    z.put_(torch.tensor([0, 3]), torch.tensor([7.0, 8.0])),
    z.diagonal(1),
    z.unfold(1, 2, 1).shape,
    z.narrow(1, 1, 2),
    z.select(0, 1),
    z.chunk(2, 1)[1],
    z.tensor_split([1], 1)[1].shape,
    torch.unravel_index(torch.tensor(7), (3, 4)),
    z.clone().fill_diagonal_(0),
    z.triu(1),
    z.tril(-1),
    z.rot90(1, (0, 1)),
    z.flip(0, 1),
    z.roll((1, 2), (0, 1)),
    sep="\n",
)
a, b, c = z
P(a, len(z), list(z[0]), z[0].tolist(), 7.0 in z, 99 in z, [float(v) for v in z[:, 0]], z[1, 2].item(), *z[2])
w = torch.randn(4, 4, requires_grad=True)
(w[[0, 0, 1]] ** 2).sum().backward()
P(w.grad)
v = torch.zeros(3, 3)
v[0].fill_(1)
v[:, 1].copy_(torch.tensor([5.0, 6.0, 7.0]))
v[1:, 1:].add_(1).mul_(2)
v.view(-1)[::2].zero_()
v.T[0, 2] = 42
P(v, v.T.is_contiguous(), v.t().stride(), v[::2].storage_offset(), v[1:].data_ptr() - v.data_ptr())
leaf = torch.ones(2, requires_grad=True)
for f in (
    lambda: leaf.__setitem__(0, 2.0),
    lambda: leaf.add_(1),
    lambda: leaf.detach().add_(1),
    lambda: leaf[0].item(),
    lambda: leaf.numpy(),
    lambda: leaf.tolist(),
    lambda: np.array(leaf),
    lambda: leaf.detach().numpy(),
    lambda: bool(leaf),
    lambda: int(leaf),
    lambda: leaf.T,
    lambda: torch.ones(2, 3, 4).T.shape,
    lambda: iter(torch.tensor(1)),
    lambda: len(torch.tensor(1)),
    lambda: hash(leaf) == hash(leaf),
    lambda: leaf == None,
    lambda: leaf is None,
    lambda: torch.tensor(5).__index__(),
    lambda: range(torch.tensor(3)),
    lambda: [1, 2, 3][torch.tensor(1)],
    lambda: torch.tensor(2.5).__index__(),
    lambda: np.add(torch.ones(2), 1),
    lambda: torch.ones(2) + np.ones(2),
    lambda: torch.ones(2) * np.float64(2),
    lambda: np.float64(2) * torch.ones(2),
    lambda: 2 ** torch.arange(3),
    lambda: 5 // torch.tensor([2, -2]),
    lambda: -7 % torch.tensor(3),
    lambda: divmod(7, 2),
    lambda: torch.arange(3) @ torch.arange(3),
    lambda: ~torch.tensor([1, 0]),
    lambda: torch.tensor([1]) << 3,
    lambda: torch.tensor([True]) | torch.tensor([False]),
    lambda: abs(torch.tensor(-1)),
    lambda: round(torch.tensor(1.567), decimals=1),
    lambda: round(torch.tensor(2.567), 2),
    lambda: torch.tensor([1.5]).__floordiv__(1),
    lambda: float(torch.tensor([[3]])),
    lambda: complex(torch.tensor(1.0)),
    lambda: 1 in torch.tensor([1]),
    lambda: max(torch.tensor([3, 1])),
    lambda: sum(torch.tensor([3, 1])),
    lambda: sorted(torch.tensor([3, 1])),
    lambda: torch.ones(2).new(3).shape,
    lambda: reversed(torch.arange(3)),
):
    t(f)
