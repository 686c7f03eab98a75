"""A module with buffers, hooks and containers; a state dict that is saved and loaded; freezing and copies."""

import copy
import os
import tempfile
from collections import OrderedDict

import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(size))
        self.register_buffer("seen", torch.tensor(0))
        self.register_buffer("scratch", torch.zeros(size), persistent=False)

    def forward(self, x):
        self.seen += 1
        return x * self.scale

    def extra_repr(self):
        return f"size={self.scale.numel()}"


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(OrderedDict(fc=nn.Linear(3, 4), act=nn.GELU(), scale=Scale(4)))
        self.heads = nn.ModuleDict({"mean": nn.Linear(4, 1), "wide": nn.Linear(4, 2, bias=False)})
        self.gains = nn.ParameterList([nn.Parameter(torch.full((1,), float(i))) for i in range(2)])

    def forward(self, x):
        h = self.stem(x)
        return self.heads["mean"](h) * self.gains[1], self.heads["wide"](h)


torch.manual_seed(0)
net, shapes = Net(), []
print(net)
handle = net.stem.fc.register_forward_hook(lambda module, args, out: shapes.append((type(module).__name__, out.shape)))
said = net.heads["wide"].register_full_backward_hook(lambda module, gin, gout: print(f"gradient {gout[0].norm():.4f}"))
mean, wide = net(torch.randn(5, 3))
(mean.sum() + wide.square().sum()).backward()
handle.remove()
said.remove()
net(torch.randn(2, 3))
print(shapes, net.stem.scale.seen)
print({name: tuple(p.shape) for name, p in net.named_parameters() if p.grad is not None})
print(list(net.state_dict()))

path = os.path.join(tempfile.mkdtemp(), "net.pt")
torch.save(net.state_dict(), path)
other = Net()
print(other.load_state_dict(torch.load(path, weights_only=True)))
print(all(torch.equal(a, b) for a, b in zip(net.state_dict().values(), other.state_dict().values())))
print(other.load_state_dict({"stem.fc.weight": torch.zeros(4, 3), "more": torch.ones(1)}, strict=False))
try:
    other.load_state_dict({"stem.fc.weight": torch.zeros(2, 2)})
except RuntimeError as error:
    print(error)
twin = copy.deepcopy(net).requires_grad_(False).double().eval()
print(twin.training, {p.dtype for p in twin.parameters()}, any(p.requires_grad for p in twin.parameters()))
torch.save(net, path)
whole = torch.load(path, weights_only=False)
print(
    type(whole).__name__,
    torch.equal(whole.stem.fc.weight, net.stem.fc.weight),
    isinstance(whole.stem, torch.nn.Sequential),
)
