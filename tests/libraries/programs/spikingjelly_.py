"""SpikingJelly: spiking neurons step by step and many steps at once, trained by surrogate gradients."""

import torch
from spikingjelly.activation_based import encoding, functional, layer, neuron, surrogate

torch.manual_seed(0)
network = torch.nn.Sequential(
    layer.Conv2d(1, 4, 3, padding=1, bias=False),
    layer.BatchNorm2d(4),
    neuron.IFNode(surrogate_function=surrogate.ATan()),
    layer.MaxPool2d(2, 2),
    layer.Flatten(),
    layer.Linear(4 * 16, 5),
    neuron.LIFNode(tau=2.0, surrogate_function=surrogate.Sigmoid()),
)
functional.set_step_mode(network, "m")
x, labels = torch.rand(6, 1, 8, 8), torch.arange(6) % 5
optimizer = torch.optim.Adam(network.parameters(), 1e-2)
for _ in range(4):
    rate = network(x.unsqueeze(0).repeat(4, 1, 1, 1, 1)).mean(0)
    loss = torch.nn.functional.mse_loss(rate, torch.nn.functional.one_hot(labels, 5).float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    functional.reset_net(network)
    print(f"{loss.item():.5f} {rate.sum().item():.3f}")
for kind in (neuron.ParametricLIFNode, neuron.IzhikevichNode, neuron.EIFNode, neuron.QIFNode, neuron.KLIFNode):
    node = kind()
    current = torch.linspace(0, 2, 5).requires_grad_()
    spikes = torch.stack([node(current) for _ in range(5)])
    spikes.sum().backward()
    print(kind.__name__, spikes.sum(0).tolist(), f"{current.grad.sum().item():.4f}")
encoder = encoding.PoissonEncoder()
print(sum(encoder(x).sum().item() for _ in range(4)))
print(encoding.LatencyEncoder(5)(torch.tensor([0.1, 0.5, 0.9])).tolist())
