"""A Kalman filter, a Gaussian process fitted by LBFGS through Cholesky factors, and the functions of linear algebra around them."""

import torch
from torch import linalg as LA

torch.set_default_dtype(torch.float64)
torch.manual_seed(3)
dt = 0.1
A = torch.tensor([[1, dt, 0.5 * dt**2], [0, 1, dt], [0, 0, 1.0]])
H = torch.tensor([[1.0, 0, 0]])
Q = 1e-3 * torch.eye(3)
R = torch.tensor([[0.05]])
x = torch.tensor([0.0, 1.0, -0.3])
P = torch.eye(3)
zs = torch.cumsum(torch.randn(30) * 0.1, 0)
filtered = []
for z in zs:
    x = A @ x
    P = A @ P @ A.mT + Q
    S = H @ P @ H.T + R
    K = LA.solve(S, H @ P).T
    x = x + K @ (z[None] - H @ x)
    P = (torch.eye(3) - K @ H) @ P
    filtered.append(x)
F_ = torch.stack(filtered)
print(F_[::10])
print(P)
print("logdet", torch.logdet(P), LA.slogdet(P))


# GP with cholesky
def rbf(a, b, l, s):
    return s**2 * torch.exp(-0.5 * torch.cdist(a, b).pow(2) / l**2)


X = torch.linspace(0, 6, 25)[:, None]
y = torch.sin(X[:, 0]) + 0.1 * torch.randn(25)
raw = torch.nn.ParameterDict(
    {
        "l": torch.nn.Parameter(torch.tensor(0.0)),
        "s": torch.nn.Parameter(torch.tensor(0.0)),
        "n": torch.nn.Parameter(torch.tensor(-2.0)),
    }
)
print(raw)
opt = torch.optim.LBFGS(raw.parameters(), lr=0.5, max_iter=10, line_search_fn="strong_wolfe", history_size=5)


def closure():
    opt.zero_grad()
    K = rbf(X, X, raw["l"].exp(), raw["s"].exp()) + raw["n"].exp() ** 2 * torch.eye(25)
    L = LA.cholesky(K)
    alpha = torch.cholesky_solve(y[:, None], L)
    loss = 0.5 * (y @ alpha).squeeze() + L.diagonal().log().sum() + 12.5 * torch.log(torch.tensor(2 * torch.pi))
    loss.backward()
    return loss


for i in range(3):
    print(i, opt.step(closure).item(), {k: round(v.item(), 4) for k, v in raw.items()})
with torch.no_grad():
    K = rbf(X, X, raw["l"].exp(), raw["s"].exp()) + raw["n"].exp() ** 2 * torch.eye(25)
    Xs = torch.linspace(-1, 7, 5)[:, None]
    L, info = LA.cholesky_ex(K)
    Ks = rbf(X, Xs, raw["l"].exp(), raw["s"].exp())
    V = LA.solve_triangular(L, Ks, upper=False)
    mean = Ks.T @ torch.cholesky_solve(y[:, None], L)
    var = raw["s"].exp() ** 2 - V.square().sum(0)
    print(info, mean.squeeze(), var)
M = torch.randn(5, 5)
M = M @ M.T
w, V = LA.eigh(M)
print(w, (V @ torch.diag(w) @ V.T - M).abs().max() < 1e-10)
print(LA.cond(M), LA.matrix_rank(M), LA.matrix_exp(-M / 10).trace(), LA.multi_dot([M, M, M]).norm())
print(LA.lstsq(torch.randn(6, 3), torch.randn(6, 2)).solution.shape, LA.pinv(torch.randn(4, 2)).shape)
LU, piv = LA.lu_factor(M)
print(piv, LA.lu_solve(LU, piv, torch.ones(5, 1)).ravel())
q, r = LA.qr(M, mode="reduced")
print(r.diagonal().abs())
print(
    torch.block_diag(A, H),
    torch.kron(H, R),
    torch.vander(torch.arange(3.0)),
    LA.vecdot(A, A),
    LA.householder_product(*torch.geqrf(M)).shape,
)
for bad in (
    lambda: LA.cholesky(-torch.eye(2)),
    lambda: LA.inv(torch.zeros(2, 2)),
    lambda: LA.solve(torch.zeros(3, 3), torch.ones(3)),
    lambda: LA.eigh(torch.ones(2, 3)),
    lambda: LA.inv(torch.ones(2, 2, dtype=torch.long)),
):
    try:
        bad()
    except Exception as e:
        print(type(e).__name__, type(e), "|", e)
torch.set_default_dtype(torch.float32)
