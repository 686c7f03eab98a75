"""Normalizing flows, transforms and every family of distributions."""

import torch, math
from torch import nn
import torch.distributions as D
from torch.distributions.transforms import (
    Transform,
    AffineTransform,
    TanhTransform,
    SigmoidTransform,
    ComposeTransform,
    ExpTransform,
)

torch.manual_seed(2)


class Coupling(nn.Module):
    def __init__(self, dim, hidden, flip):
        super().__init__()
        self.flip = flip
        self.net = nn.Sequential(nn.Linear(dim // 2, hidden), nn.Tanh(), nn.Linear(hidden, dim))
        nn.init.zeros_(self.net[-1].weight)

    def forward(self, x):
        a, b = x.chunk(2, -1)
        a, b = (b, a) if self.flip else (a, b)
        s, t = self.net(a).chunk(2, -1)
        s = torch.tanh(s)
        b = b * s.exp() + t
        return torch.cat((b, a) if self.flip else (a, b), -1), s.sum(-1)

    def inverse(self, y):
        a, b = y.chunk(2, -1)
        a, b = (b, a) if self.flip else (a, b)
        s, t = self.net(a).chunk(2, -1)
        b = (b - t) * torch.exp(-torch.tanh(s))
        return torch.cat((b, a) if self.flip else (a, b), -1)


class Flow(nn.Module):
    def __init__(self, dim=2, k=4):
        super().__init__()
        self.layers = nn.ModuleList(Coupling(dim, 16, i % 2 == 1) for i in range(k))
        self.register_buffer("loc", torch.zeros(dim))
        self.register_buffer("cov", torch.eye(dim))

    @property
    def prior(self):
        return D.MultivariateNormal(self.loc, self.cov)

    def log_prob(self, x):
        ld = x.new_zeros(x.shape[0])
        for l in self.layers:
            x, d = l(x)
            ld += d
        return self.prior.log_prob(x) + ld

    def sample(self, n):
        z = self.prior.sample((n,))
        for l in reversed(self.layers):
            z = l.inverse(z)
        return z


def moons(n):
    t = torch.rand(n) * math.pi
    s = torch.randint(2, (n,)) * 2 - 1
    return torch.stack([torch.cos(t) * s + (s < 0) * 1.0, torch.sin(t) * s + 0.3], 1) + 0.05 * torch.randn(n, 2)


f = Flow()
opt = torch.optim.Adamax(f.parameters(), 5e-3)
for i in range(30):
    loss = -f.log_prob(moons(64)).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
    if i % 10 == 0:
        print(i, f"{loss:.4f}")
with torch.no_grad():
    print(f.sample(5), f.layers[0].inverse(f.layers[0](torch.ones(1, 2))[0]))
base = D.Normal(torch.zeros(2), torch.ones(2))
td = D.TransformedDistribution(
    base, [TanhTransform(cache_size=1), AffineTransform(loc=0.5, scale=torch.tensor([2.0, 3.0]))]
)
s = td.rsample((3,))
print(s, td.log_prob(s), td.batch_shape, td.event_shape, td.support)
c = ComposeTransform([SigmoidTransform(), AffineTransform(1.0, 2.0), ExpTransform()])
x = torch.linspace(-1, 1, 4)
y = c(x)
print(y, c.inv(y), c.log_abs_det_jacobian(x, y), c, c.sign, c.domain, c.codomain)


class Planar(Transform):
    domain = D.constraints.real_vector
    codomain = D.constraints.real_vector
    bijective = True

    def __init__(self, u, w, b):
        super().__init__()
        self.u, self.w, self.b = u, w, b

    def _call(self, x):
        return x + self.u * torch.tanh(x @ self.w + self.b).unsqueeze(-1)

    def log_abs_det_jacobian(self, x, y):
        psi = (1 - torch.tanh(x @ self.w + self.b) ** 2).unsqueeze(-1) * self.w
        return torch.log((1 + psi @ self.u).abs())


pt = Planar(torch.tensor([0.3, 0.2]), torch.tensor([1.0, -1.0]), 0.1)
z = D.MultivariateNormal(torch.zeros(2), scale_tril=torch.tensor([[1.0, 0], [0.5, 2.0]])).rsample((4,))
print(pt.log_abs_det_jacobian(z, pt(z)))
nf = D.LogNormal(0.0, 0.5)
print(nf.mean, nf.variance, nf.mode, nf.cdf(torch.tensor(1.5)), nf.icdf(torch.tensor(0.3)), nf)
mix = D.MixtureSameFamily(
    D.Categorical(torch.tensor([0.3, 0.7])), D.Normal(torch.tensor([-1.0, 2.0]), torch.tensor([0.5, 1.0]))
)
print(mix, mix.mean, mix.variance, mix.log_prob(torch.tensor([0.0, 1.0])), mix.sample((3,)), mix.cdf(torch.tensor(0.0)))
for d in (
    D.Gamma(2.0, 3.0),
    D.Beta(0.5, 2.0),
    D.Dirichlet(torch.tensor([1.0, 2.0, 3.0])),
    D.StudentT(4.0),
    D.Poisson(3.0),
    D.Geometric(0.3),
    D.Laplace(0.0, 2.0),
    D.Gumbel(0.0, 1.0),
    D.Weibull(1.0, 2.0),
    D.Cauchy(0.0, 1.0),
    D.VonMises(0.0, 1.0),
    D.HalfNormal(1.0),
    D.Pareto(1.0, 3.0),
    D.NegativeBinomial(5.0, 0.4),
    D.Binomial(5, torch.tensor(0.4)),
    D.Multinomial(5, torch.tensor([0.2, 0.8])),
    D.OneHotCategorical(torch.tensor([0.2, 0.8])),
    D.RelaxedBernoulli(torch.tensor(0.5), torch.tensor(0.4)),
    D.LKJCholesky(3, 1.0),
    D.Wishart(torch.tensor(4.0), torch.eye(2)),
):
    v = d.sample()
    print(d, v, d.log_prob(v))
try:
    D.Normal(0.0, -1.0)
except ValueError as e:
    print(e)
try:
    D.Bernoulli(0.3).log_prob(torch.tensor(2.0))
except ValueError as e:
    print(e)
