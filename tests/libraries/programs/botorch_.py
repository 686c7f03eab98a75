"""botorch: a model is fitted, and the next point to try is found."""

import warnings

warnings.filterwarnings("ignore")
import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

torch.manual_seed(0)
x = torch.rand(10, 2, dtype=torch.float64)
y = 1 - (x - 0.4).norm(dim=-1, keepdim=True)
model = SingleTaskGP(x, y)
mll = ExactMarginalLogLikelihood(model.likelihood, model)
fit_gpytorch_mll(mll)
posterior = model.posterior(torch.tensor([[0.5, 0.5], [0.1, 0.9]], dtype=torch.float64))
print([f"{v:.3f}" for v in posterior.mean.flatten().tolist()])
candidate, value = optimize_acqf(
    LogExpectedImprovement(model, best_f=y.max()),
    bounds=torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.float64),
    q=1,
    num_restarts=2,
    raw_samples=16,
)
print([f"{v:.2f}" for v in candidate.flatten().tolist()])
