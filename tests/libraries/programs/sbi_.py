"""sbi: neural posterior estimation of a linear simulator's parameters, and samples of the posterior."""

import torch
from sbi.inference import NPE
from sbi.utils import BoxUniform

torch.manual_seed(0)
prior = BoxUniform(low=-2 * torch.ones(2), high=2 * torch.ones(2))
theta = prior.sample((200,))
x = theta @ torch.tensor([[1.0, 0.5], [-0.3, 0.8]]) + 0.1 * torch.randn(200, 2)
inference = NPE(prior=prior, density_estimator="maf", show_progress_bars=False)
estimator = inference.append_simulations(theta, x).train(max_num_epochs=4, training_batch_size=50)
print([f"{v:.4f}" for v in inference.summary["training_loss"]])
posterior = inference.build_posterior(estimator)
observed = torch.tensor([0.5, -0.2])
samples = posterior.sample((100,), x=observed, show_progress_bars=False)
print(samples.shape, f"{samples.abs().max().item() < 2}")
print([f"{v:.3f}" for v in posterior.log_prob(torch.tensor([[0.5, -0.4], [0.0, 0.0]]), x=observed).tolist()])
