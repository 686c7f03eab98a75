"""normflows: affine couplings, their forward divergence and samples."""

import normflows as nf
import torch

torch.manual_seed(0)
flows = []
for _ in range(3):
    flows.append(nf.flows.AffineCouplingBlock(nf.nets.MLP([1, 16, 16, 2], init_zeros=True)))
    flows.append(nf.flows.Permute(2, mode="swap"))
model = nf.NormalizingFlow(nf.distributions.DiagGaussian(2, trainable=False), flows)
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, weight_decay=1e-5)
x = torch.randn(64, 2) * torch.tensor([0.5, 2.0]) + 1
for _ in range(5):
    loss = model.forward_kld(x)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
with torch.no_grad():
    z, log_q = model.sample(8)
    print(f"{z.mean().item():.4f} {log_q.mean().item():.4f} {model.log_prob(x).mean().item():.4f}")
