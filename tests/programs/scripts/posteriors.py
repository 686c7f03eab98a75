"""A Bayesian network, variational inference, Hamiltonian Monte Carlo, and what every distribution says of itself."""

import torch, torch.nn as nn, torch.nn.functional as F
import torch.distributions as D
from torch.distributions import constraints, transforms as T, kl_divergence

torch.manual_seed(2)


class BayesLinear(nn.Module):
    def __init__(self, i, o, prior=1.0):
        super().__init__()
        self.mu = nn.Parameter(torch.empty(o, i).normal_(0, 0.1))
        self.rho = nn.Parameter(torch.full((o, i), -3.0))
        self.b = nn.Parameter(torch.zeros(o))
        self.prior = D.Normal(0.0, prior)

    def forward(self, x):
        q = D.Normal(self.mu, F.softplus(self.rho))
        w = q.rsample()
        self.kl = kl_divergence(q, self.prior).sum()
        return F.linear(x, w, self.b)


net = nn.Sequential(BayesLinear(1, 8), nn.Tanh(), BayesLinear(8, 1))
x = torch.linspace(-2, 2, 40)[:, None]
y = x**3 / 4 + 0.1 * torch.randn_like(x)
o = torch.optim.Adam(net.parameters(), 0.02)
for s in range(40):
    o.zero_grad()
    nll = -D.Normal(net(x), 0.1).log_prob(y).mean()
    kl = sum(m.kl for m in net if isinstance(m, BayesLinear))
    l = nll + kl / 400
    l.backward()
    o.step()
    if s % 10 == 0:
        print(s, f"{nll:.4f} {kl:.3f}")
with torch.no_grad():
    p = torch.stack([net(x[:3]) for _ in range(20)])
    print(p.mean(0).T, p.std(0).T)
# ADVI
mu, ls = torch.zeros(2, requires_grad=True), torch.zeros(2, requires_grad=True)
data = D.Normal(3.0, 2.0).sample((50,))
a = torch.optim.Adam([mu, ls], 0.1)
for s in range(50):
    q = D.Independent(D.Normal(mu, ls.exp()), 1)
    z = q.rsample((4,))
    lp = D.Normal(z[:, :1], F.softplus(z[:, 1:])).log_prob(data).sum(1) + D.Normal(0, 10).log_prob(z).sum(1)
    l = -(lp - q.log_prob(z)).mean()
    a.zero_grad()
    l.backward()
    a.step()
print(mu.detach(), ls.detach(), f"{l.item():.3f}")


# HMC
def U(q):
    return 0.5 * (q**2 / torch.tensor([1.0, 4.0])).sum()


q = torch.zeros(2)
acc = 0
samples = []
for it in range(30):
    p0 = torch.randn(2)
    qn, pn = q.clone().requires_grad_(), p0.clone()
    for _ in range(5):
        (g,) = torch.autograd.grad(U(qn), qn)
        pn = pn - 0.15 * g
        qn = (qn + 0.3 * pn).detach().requires_grad_()
        (g,) = torch.autograd.grad(U(qn), qn)
        pn = pn - 0.15 * g
    if torch.rand(()) < torch.exp(U(q) + 0.5 * p0 @ p0 - U(qn) - 0.5 * pn @ pn):
        q = qn.detach()
        acc += 1
    samples.append(q)
s = torch.stack(samples)
print(acc, s.mean(0), s.var(0))
dists = [
    D.Gamma(2.0, 3.0),
    D.Dirichlet(torch.tensor([1.0, 2, 3])),
    D.StudentT(5.0),
    D.Laplace(0, 1),
    D.Poisson(4.0),
    D.Geometric(0.3),
    D.Binomial(10, torch.tensor(0.4)),
    D.Multinomial(5, torch.tensor([0.2, 0.3, 0.5])),
    D.MultivariateNormal(torch.zeros(2), torch.tensor([[2.0, 0.5], [0.5, 1.0]])),
    D.LowRankMultivariateNormal(torch.zeros(3), torch.ones(3, 1), torch.ones(3)),
    D.Cauchy(0.0, 1.0),
    D.Gumbel(0.0, 1.0),
    D.HalfNormal(1.0),
    D.Weibull(1.0, 2.0),
    D.Pareto(1.0, 3.0),
    D.VonMises(0.0, 2.0),
    D.Chi2(3.0),
    D.FisherSnedecor(4.0, 6.0),
    D.LogNormal(0.0, 0.5),
    D.Uniform(0.0, 2.0),
    D.OneHotCategorical(torch.tensor([0.3, 0.7])),
    D.RelaxedOneHotCategorical(torch.tensor(0.5), torch.tensor([0.3, 0.7])),
    D.RelaxedBernoulli(torch.tensor(0.5), probs=torch.tensor(0.3)),
    D.NegativeBinomial(5.0, torch.tensor(0.4)),
    D.ContinuousBernoulli(torch.tensor(0.3)),
    D.Kumaraswamy(2.0, 3.0),
    D.LKJCholesky(3, 1.0),
    D.Wishart(torch.tensor(4.0), torch.eye(2)),
    D.InverseGamma(3.0, 2.0),
    D.Bernoulli(logits=torch.tensor(0.2)),
    D.Exponential(2.0),
    D.HalfCauchy(1.0),
    D.LogisticNormal(torch.zeros(2), torch.ones(2)),
    D.GeneralizedPareto(torch.tensor(0.0), torch.tensor(1.0), torch.tensor(0.1)),
]
for d in dists:
    v = d.sample()
    out = [type(d).__name__, d, v, d.log_prob(v)]
    for k in ("mean", "variance", "mode", "stddev"):
        try:
            out.append(getattr(d, k))
        except (NotImplementedError, AttributeError) as e:
            out.append(type(e).__name__)
    try:
        out.append(d.entropy())
    except NotImplementedError:
        out.append("-")
    print(*out, d.support, d.batch_shape, d.event_shape)
f = T.ComposeTransform([T.AffineTransform(1.0, 2.0), T.ExpTransform()])
print(
    f,
    f(torch.tensor(0.5)),
    f.inv(torch.tensor(3.0)),
    f.log_abs_det_jacobian(torch.tensor(0.5), f(torch.tensor(0.5))),
    T.StickBreakingTransform()(torch.zeros(2)),
    T.SoftmaxTransform()(torch.zeros(2)),
    T.LowerCholeskyTransform()(torch.ones(2, 2)),
    T.CorrCholeskyTransform()(torch.ones(3)),
    T.PowerTransform(2.0)(torch.tensor(3.0)),
    T.SigmoidTransform().inv(torch.tensor(0.3)),
    T.CumulativeDistributionTransform(D.Normal(0.0, 1.0))(torch.tensor(0.2)),
    T.ReshapeTransform((2,), (2, 1)),
    T.StackTransform([T.ExpTransform(), T.TanhTransform()], 0)(torch.ones(2)),
    D.biject_to(constraints.positive),
    D.transform_to(constraints.simplex)(torch.zeros(3)),
    constraints.interval(0, 1).check(torch.tensor([0.5, 2.0])),
)
for bad in (
    lambda: D.Normal(0.0, torch.tensor([-1.0])),
    lambda: D.Bernoulli(1.5),
    lambda: D.Normal(0.0, 1.0).log_prob(torch.tensor(float("nan"))),
    lambda: D.Categorical(),
    lambda: D.MultivariateNormal(torch.zeros(2), -torch.eye(2)),
    lambda: D.Poisson(3.0).log_prob(torch.tensor(-1.0)),
    lambda: kl_divergence(D.Cauchy(0.0, 1.0), D.Poisson(1.0)),
    lambda: D.Normal(0.0, 1.0).enumerate_support(),
):
    try:
        print(bad())
    except Exception as e:
        print(type(e).__name__, str(e)[:250])
