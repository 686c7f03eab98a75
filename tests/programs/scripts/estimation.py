"""A Gaussian process, k-means, factorisation, regression, a mixture by EM, LBFGS."""

import torch, math
from torch import nn

torch.manual_seed(0)


class RBF(nn.Module):
    def __init__(self, ls=1.0, os=1.0):
        super().__init__()
        self.raw_ls = nn.Parameter(torch.tensor(math.log(math.expm1(ls))))
        self.raw_os = nn.Parameter(torch.tensor(math.log(math.expm1(os))))

    def forward(self, a, b):
        return nn.functional.softplus(self.raw_os) * torch.exp(
            -0.5
            * torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist").square()
            / nn.functional.softplus(self.raw_ls) ** 2
        )


X = torch.linspace(0, 1, 15).unsqueeze(-1).double()
y = (torch.sin(X * 2 * math.pi).squeeze() + 0.1 * torch.randn(15)).double()
k = RBF(0.3).double()
noise = nn.Parameter(torch.tensor(-3.0, dtype=torch.double))
opt = torch.optim.Adam([*k.parameters(), noise], lr=0.05)
for i in range(20):
    opt.zero_grad()
    K = k(X, X) + noise.exp() * torch.eye(15, dtype=torch.double)
    L = torch.linalg.cholesky(K)
    al = torch.cholesky_solve(y.unsqueeze(-1), L)
    nll = 0.5 * y @ al.squeeze(-1) + L.diagonal().log().sum() + 7.5 * math.log(2 * math.pi)
    nll.backward()
    opt.step()
    if i % 5 == 0:
        print(i, f"{nll.item():.5f}")
with torch.no_grad():
    Xs = torch.tensor([[0.25], [0.8]], dtype=torch.double)
    ks = k(X, Xs)
    mu = ks.T @ al
    v = torch.linalg.solve_triangular(L, ks, upper=False)
    cov = k(Xs, Xs) - v.T @ v
    print(mu.T, cov.diag().sqrt())
    print(
        torch.distributions.MultivariateNormal(mu.squeeze(), cov + 1e-6 * torch.eye(2)).log_prob(
            torch.zeros(2).double()
        )
    )
L, info = torch.linalg.cholesky_ex(torch.tensor([[1.0, 2.0], [2.0, 1.0]]))
print(info)


def kmeans(X, k, iters=10):
    c = X[torch.randperm(X.size(0))[:k]].clone()
    for _ in range(iters):
        d = torch.cdist(X, c)
        lab = d.argmin(1)
        n = torch.zeros(k).scatter_add_(0, lab, torch.ones(len(X)))
        s = torch.zeros_like(c).index_add_(0, lab, X)
        new = s / n.clamp_min(1).unsqueeze(1)
        if torch.allclose(new, c):
            break
        c = new
    return c, lab


pts = torch.cat([torch.randn(20, 2) * 0.2 + m for m in torch.tensor([[0.0, 0], [2, 2], [0, 3]])])
c, lab = kmeans(pts, 3)
print(
    c[c[:, 0].argsort()], torch.bincount(lab, minlength=3).sort().values, torch.unique(lab, return_counts=True)[1].sum()
)


class MF(nn.Module):
    def __init__(self, nu, ni, d=4):
        super().__init__()
        self.u = nn.Embedding(nu, d, sparse=True)
        self.i = nn.Embedding(ni, d, sparse=True)
        self.ub = nn.Embedding(nu, 1, sparse=True)
        self.ib = nn.Embedding(ni, 1, sparse=True)

    def forward(self, u, i):
        return (self.u(u) * self.i(i)).sum(1, keepdim=True).add(self.ub(u)).add_(self.ib(i)).squeeze()


m = MF(6, 8)
R = torch.rand(6, 8) * 4 + 1
idx = torch.nonzero(torch.rand(6, 8) > 0.3)
for name, o in (
    ("sgd", torch.optim.SGD(m.parameters(), 0.1)),
    ("sparseadam", torch.optim.SparseAdam(list(m.parameters()), lr=0.01)),
    ("adagrad", torch.optim.Adagrad(m.parameters(), lr=0.05)),
):
    for e in range(3):
        for b in torch.split(idx[torch.randperm(len(idx))], 8):
            l = nn.functional.mse_loss(m(b[:, 0], b[:, 1]), R[b[:, 0], b[:, 1]])
            o.zero_grad()
            l.backward()
            o.step()
        print(name, e, f"{l.item():.4f}", m.u.weight.grad.layout, m.u.weight.grad.is_sparse)
# ALS, PCA, ridge, logistic regression by IRLS, EM for a mixture
U, V = torch.randn(6, 3), torch.randn(8, 3)
for _ in range(5):
    U = torch.linalg.solve(V.T @ V + 0.1 * torch.eye(3), V.T @ R.T).T
    V = torch.linalg.solve(U.T @ U + 0.1 * torch.eye(3), U.T @ R).T
print("als", (R - U @ V.T).pow(2).mean().sqrt())
Xc = pts - pts.mean(0)
_, S, Vh = torch.linalg.svd(Xc, full_matrices=False)
print(S, (S**2 / (S**2).sum()).cumsum(0))
u, s, v = torch.pca_lowrank(pts, q=2)
print(s)
evals, evecs = torch.linalg.eigh(torch.cov(pts.T))
print(evals.flip(0))
A = torch.cat([pts, torch.ones(60, 1)], 1)
t = (pts[:, 0] > 1).float()
w = torch.zeros(3)
for _ in range(4):
    p = torch.sigmoid(A @ w)
    W = (p * (1 - p)).clamp(min=1e-3)
    w = w + torch.linalg.lstsq(A.T @ (W[:, None] * A) + 1e-2 * torch.eye(3), A.T @ (t - p)).solution
print("irls", w, ((A @ w > 0) == t.bool()).float().mean())
pi = torch.full((3,), 1 / 3)
mu = pts[[0, 20, 40]].clone()
var = torch.ones(3, 2)
for _ in range(8):
    lp = pi.log() + torch.distributions.Independent(torch.distributions.Normal(mu, var.sqrt()), 1).log_prob(
        pts[:, None]
    )
    r = (lp - lp.logsumexp(1, keepdim=True)).exp()
    n = r.sum(0)
    pi = n / n.sum()
    mu = (r.T @ pts) / n[:, None]
    var = torch.einsum("nk,nkd->kd", r, (pts[:, None] - mu) ** 2) / n[:, None] + 1e-6
print(pi, mu, var, lp.logsumexp(1).mean())
o = torch.optim.LBFGS(
    [th := torch.tensor([-1.2, 1.0], requires_grad=True)], lr=1, max_iter=40, line_search_fn="strong_wolfe"
)
n = 0


def closure():
    global n
    n += 1
    o.zero_grad()
    l = (1 - th[0]) ** 2 + 100 * (th[1] - th[0] ** 2) ** 2
    l.backward()
    return l


print(o.step(closure), th, n > 10)
