"""pyro: variational inference and a Hamiltonian sampler."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import MCMC, NUTS, SVI, Predictive, Trace_ELBO
from pyro.infer.autoguide import AutoNormal
from pyro.optim import Adam

pyro.set_rng_seed(0)
x = torch.linspace(-1, 1, 20)
y = 2 * x + 0.5 + 0.1 * torch.randn(20)


def model(x, y=None):
    slope = pyro.sample("slope", dist.Normal(0.0, 3.0))
    offset = pyro.sample("offset", dist.Normal(0.0, 3.0))
    scale = pyro.sample("scale", dist.HalfNormal(1.0))
    with pyro.plate("data", len(x)):
        return pyro.sample("y", dist.Normal(slope * x + offset, scale), obs=y)


guide = AutoNormal(model)
svi = SVI(model, guide, Adam({"lr": 0.05}), Trace_ELBO())
print([f"{svi.step(x, y):.3f}" for _ in range(6)])
print({k: f"{v.item():.4f}" for k, v in guide.median().items()})
print(f"{Predictive(model, guide=guide, num_samples=5)(x)['y'].mean().item():.4f}")
mcmc = MCMC(NUTS(model, max_tree_depth=3), num_samples=6, warmup_steps=4, disable_progbar=True)
mcmc.run(x, y)
print({k: tuple(v.shape) for k, v in mcmc.get_samples().items()})
