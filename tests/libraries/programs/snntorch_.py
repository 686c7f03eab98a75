"""snntorch: a spiking network with leaky neurons, surrogate gradients and spike losses."""

import snntorch as snn
import snntorch.functional as SF
import torch
from snntorch import spikegen, surrogate, utils

torch.manual_seed(0)
grad = surrogate.fast_sigmoid(slope=25)
network = torch.nn.Sequential(
    torch.nn.Linear(6, 16),
    snn.Leaky(beta=0.9, spike_grad=grad, init_hidden=True),
    torch.nn.Linear(16, 3),
    snn.Leaky(beta=0.9, spike_grad=grad, init_hidden=True, output=True),
)
x, y = torch.rand(8, 6), torch.randint(0, 3, (8,))
spikes = spikegen.rate(x, num_steps=10)
print(tuple(spikes.shape), spikes.sum().item())
optimizer = torch.optim.Adam(network.parameters(), lr=1e-2)
for _ in range(4):
    utils.reset(network)
    record = torch.stack([network(spikes[step])[0] for step in range(10)])
    loss = SF.ce_rate_loss()(record, y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}", record.sum().item(), f"{SF.accuracy_rate(record, y):.4f}")
synaptic = snn.Synaptic(alpha=0.9, beta=0.8)
s, m = synaptic.reset_mem()
for _ in range(3):
    spike, s, m = synaptic(torch.ones(2), s, m)
print(f"{m.sum().item():.4f}")
