"""Functions with a user's backward, checked by finite differences; a straight-through estimator; higher derivatives."""

import torch
from torch.autograd import Function, grad, gradcheck
from torch.autograd.function import once_differentiable


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        return g * 3 * x**2


class Round(Function):
    @staticmethod
    def forward(ctx, x, levels):
        ctx.set_materialize_grads(False)
        ctx.levels = levels
        return torch.round(x * levels) / levels

    @staticmethod
    @once_differentiable
    def backward(ctx, g):
        return g, None


torch.manual_seed(0)
x = torch.randn(4, dtype=torch.double, requires_grad=True)
print(gradcheck(Cube.apply, (x,)), Cube.apply(x).grad_fn)
(first,) = grad(Cube.apply(x).sum(), x, create_graph=True)
(second,) = grad(first.sum(), x)
print(torch.allclose(second, 6 * x), second)
w = torch.randn(6, requires_grad=True)
target = torch.linspace(-1, 1, 6)
for step in range(5):
    loss = (Round.apply(w, 4) - target).square().sum()
    w.grad = None
    loss.backward()
    with torch.no_grad():
        w -= 0.2 * w.grad
    print(f"{loss.item():.5f}", Round.apply(w, 4).tolist())
try:
    Round.apply(w, 4).sum().backward(create_graph=True)
    grad(w.grad.sum(), w)
except RuntimeError as error:
    print(str(error).split("\n")[0])
