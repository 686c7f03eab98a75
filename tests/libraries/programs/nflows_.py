"""nflows: coupling and autoregressive transforms of a normal distribution."""

import torch
from nflows.distributions.normal import StandardNormal
from nflows.flows.base import Flow
from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
from nflows.transforms.base import CompositeTransform
from nflows.transforms.permutations import ReversePermutation

torch.manual_seed(0)
steps = []
for _ in range(2):
    steps += [ReversePermutation(features=2), MaskedAffineAutoregressiveTransform(features=2, hidden_features=8)]
flow = Flow(CompositeTransform(steps), StandardNormal(shape=[2]))
optimizer = torch.optim.Adam(flow.parameters(), lr=1e-2)
x = torch.randn(64, 2) * 0.3 + torch.tensor([1.0, -1.0])
for _ in range(5):
    loss = -flow.log_prob(inputs=x).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
with torch.no_grad():
    sample, density = flow.sample_and_log_prob(4)
    print(tuple(sample.shape), f"{sample.mean().item():.4f} {density.mean().item():.4f}")
