"""Graph networks by scatter and by sparse matrices, sparse algebra, walks."""

import torch, torch.nn as nn, torch.nn.functional as F, math

torch.manual_seed(0)
N, E = 12, 30
ei = torch.randint(0, N, (2, E))
x = torch.randn(N, 5)
y = torch.randint(3, (N,))


def scatter(src, index, dim_size, reduce="sum"):
    out = src.new_zeros(dim_size, *src.shape[1:])
    idx = index.view(-1, *[1] * (src.dim() - 1)).expand_as(src)
    return out.scatter_reduce(
        0, idx, src, {"sum": "sum", "mean": "mean", "max": "amax"}[reduce], include_self=reduce == "sum"
    )


def softmax(src, index, n):
    m = scatter(src.detach(), index, n, "max")
    e = (src - m.index_select(0, index)).exp()
    return e / (scatter(e, index, n).index_select(0, index) + 1e-16)


def gcn_norm(ei, n):
    loop = torch.arange(n).repeat(2, 1)
    ei = torch.cat([ei, loop], 1)
    deg = torch.zeros(n).index_add_(0, ei[1], torch.ones(ei.size(1)))
    d = deg.pow(-0.5)
    d.masked_fill_(d == float("inf"), 0)
    return ei, d[ei[0]] * d[ei[1]]


class GCN(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.w = nn.Parameter(torch.empty(i, o))
        self.b = nn.Parameter(torch.empty(o))
        self.reset_parameters()

    def reset_parameters(self):
        stdv = 1.0 / math.sqrt(self.w.size(1))
        self.w.data.uniform_(-stdv, stdv)
        self.b.data.uniform_(-stdv, stdv)

    def forward(self, x, adj):
        return torch.spmm(adj, torch.mm(x, self.w)) + self.b

    def __repr__(self):
        return self.__class__.__name__ + " (" + str(self.w.shape[0]) + " -> " + str(self.w.shape[1]) + ")"


ei2, norm = gcn_norm(ei, N)
adj = torch.sparse_coo_tensor(ei2.flip(0), norm, (N, N)).coalesce()
print(adj.indices().shape, adj._nnz(), adj.is_coalesced(), adj.sum(), torch.sparse.sum(adj, dim=1).to_dense()[:4])
g1, g2 = GCN(5, 8), GCN(8, 3)
o = torch.optim.Adam([*g1.parameters(), *g2.parameters()], lr=0.01, weight_decay=5e-4)
print(g1)
for e in range(5):
    h = F.dropout(F.relu(g1(x, adj)), 0.5)
    out = F.log_softmax(g2(h, adj), 1)
    l = F.nll_loss(out[:8], y[:8])
    o.zero_grad()
    l.backward()
    o.step()
    print(f"Epoch: {e + 1:04d} loss_train: {l.item():.4f} acc {out.max(1)[1].eq(y).double().sum() / N:.4f}")


class GAT(nn.Module):
    def __init__(self, i, o, heads):
        super().__init__()
        self.h, self.o = heads, o
        self.lin = nn.Linear(i, heads * o, bias=False)
        self.a_s = nn.Parameter(torch.Tensor(1, heads, o))
        self.a_d = nn.Parameter(torch.Tensor(1, heads, o))
        nn.init.xavier_uniform_(self.a_s, gain=1.414)
        nn.init.xavier_uniform_(self.a_d, gain=1.414)

    def forward(self, x, ei):
        n = x.size(0)
        h = self.lin(x).view(n, self.h, self.o)
        s, d = (h * self.a_s).sum(-1), (h * self.a_d).sum(-1)
        a = softmax(F.leaky_relu(s[ei[0]] + d[ei[1]], 0.2), ei[1], n)
        return scatter(h[ei[0]] * a.unsqueeze(-1), ei[1], n).flatten(1)


gat = GAT(5, 4, 2)
l = F.cross_entropy(gat(x, ei)[:, :3], y)
l.backward()
print(l, gat.a_s.grad.norm(), [scatter(x[ei[0]], ei[1], N, r).sum() for r in ("sum", "mean", "max")])


class GIN(nn.Module):
    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.nn = nn.Sequential(nn.Linear(5, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 4))

    def forward(self, x, ei, batch):
        h = self.nn((1 + self.eps) * x + torch.zeros_like(x).index_add_(0, ei[1], x[ei[0]]))
        return torch.stack([h[batch == b].mean(0) for b in batch.unique()])


print(GIN()(x, ei, torch.arange(N) // 4))
dense = adj.to_dense()
L = torch.diag(dense.sum(1)) - dense
ev = torch.linalg.eigvals(L)
print(
    ev.real.sort().values[:3],
    torch.matrix_power(dense, 3).trace(),
    adj.t().to_dense().equal(dense.T),
    (adj @ x).sum(),
    torch.sparse.mm(adj, adj).to_dense().sum(),
    (adj * 2).values()[:2],
    adj.to_sparse_csr().crow_indices(),
    torch.sparse.softmax(adj, 1).to_dense().sum(),
    adj.transpose(0, 1).coalesce().indices()[:, :3],
    adj.size(),
    adj.dtype,
    adj.is_sparse,
)
csr = torch.sparse_csr_tensor(torch.tensor([0, 1, 2]), torch.tensor([1, 0]), torch.tensor([3.0, 4.0]))
print(csr, csr @ torch.eye(2), csr.to_dense())
w = torch.rand(4, requires_grad=True)
s = torch.sparse_coo_tensor(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 2]]), w, (3, 3))
torch.sparse.mm(s, torch.ones(3, 2)).sum().backward()
print(w.grad, s)
walk = [0]
for _ in range(6):
    nb = ei[1][ei[0] == walk[-1]]
    if len(nb) == 0:
        break
    walk.append(nb[torch.randint(len(nb), (1,))].item())
print(
    walk,
    torch.unique(ei, dim=1).shape,
    torch.unique(ei[0], return_inverse=True, return_counts=True)[2],
    torch.isin(torch.arange(4), ei[0]),
    torch.bucketize(torch.tensor([0.5, 3.0]), torch.arange(5.0)),
    torch.searchsorted(torch.arange(5.0), torch.tensor([2.0]), right=True),
    torch.bincount(ei[0], minlength=N).max(),
    torch.segment_reduce(x[:6, 0], "mean", lengths=torch.tensor([2, 4])),
    torch.tril_indices(3, 3, -1),
    torch.combinations(torch.arange(3)).T,
)
