"""torchviz: the graph of a loss as text for graphviz."""

import torch
from torchviz import make_dot

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
loss = (model(torch.randn(2, 4)) - 1).pow(2).mean()
dot = make_dot(loss, params=dict(model.named_parameters()))
words = ("AddmmBackward0", "TanhBackward0", "PowBackward0", "MeanBackward0", "AccumulateGrad", "0.weight", "2.bias")
print([word for word in words if word in dot.source], dot.source.splitlines()[0])
