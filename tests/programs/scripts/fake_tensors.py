"""Fake tensors: shapes, dtypes, devices and errors without elements."""

import torch
from torch import nn
from torch._subclasses.fake_tensor import (
    FakeTensorMode,
)


def t(f):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, str(e)[:110].replace("\n", " "))


mode = FakeTensorMode()
real = torch.ones(2, 3)
f = mode.from_tensor(real)
with mode:
    a = torch.empty(4, 3)
    b = torch.randn(3, 5)
    c = a @ b
    print(type(c).__name__, c.shape, c.device, c.dtype, c.stride())
    t(lambda: c)
    t(lambda: c.sum().item())
    t(lambda: bool(c.sum() > 0))
    t(lambda: torch.nonzero(c))
    t(lambda: c.numpy())
    t(lambda: c.tolist())
    t(lambda: (c.t(), c[0].shape, c[:, 1:].shape, c.view(-1).shape))
    t(lambda: a + torch.ones(3, dtype=torch.float64))
    m = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 9, 10)
    )
    print(type(m[0].weight).__name__, isinstance(m[0].weight, nn.Parameter), type(m[0].weight.data).__name__)
    y = m(torch.randn(2, 3, 8, 8))
    print(y.shape, y.dtype, y.device, y.requires_grad, type(y).__name__)
    y.sum().backward()
    print(m[0].weight.grad.shape, type(m[0].weight.grad).__name__)
    n = sum(p.numel() for p in m.parameters())
    print(n)
print(type(f + 1).__name__, (f * 2).shape)
t(lambda: f + torch.ones(3))
t(lambda: f + real)
with FakeTensorMode(allow_non_fake_inputs=True) as m2:
    print(m2.allow_non_fake_inputs)
    t(lambda: (torch.ones(2) + real[0, :2]).shape)
lin = nn.Linear(3, 4)
with FakeTensorMode(allow_non_fake_inputs=True):
    t(lambda: lin(torch.empty(7, 3)).shape)
g = mode.from_tensor(torch.ones(2, requires_grad=True))
print(g.requires_grad, g.is_leaf)
t(lambda: repr(f))
