"""Function transforms: gradients of each example, Jacobians, Hessians, an ensemble by vmap, meta-learning by functional_call."""

import torch
from torch.func import functional_call, grad, hessian, jacrev, jvp, stack_module_state, vjp, vmap

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 1))
parameters = {name: p.detach() for name, p in model.named_parameters()}
X, y = torch.randn(6, 3), torch.randn(6, 1)


def loss(parameters, x, y):
    return (functional_call(model, parameters, (x,)) - y).square().mean()


each = vmap(grad(loss), in_dims=(None, 0, 0))(parameters, X, y)
print({name: tuple(g.shape) for name, g in each.items()})
whole = grad(loss)(parameters, X, y)
print(all(torch.allclose(each[name].mean(0), whole[name], atol=1e-6) for name in whole))
print(torch.stack([g.flatten(1).norm(dim=1) for g in each.values()]).sum(0))


def f(x):
    return (x**3).sum() + x[0] * x[1]


point = torch.tensor([1.0, 2.0, 3.0])
print(hessian(f)(point))
print(jacrev(torch.sin)(point).diagonal())
print(jvp(f, (point,), (torch.ones(3),)), vjp(f, point)[1](torch.tensor(2.0))[0])

models = [torch.nn.Linear(3, 2) for _ in range(4)]
stacked, buffers = stack_module_state(models)
base = torch.nn.Linear(3, 2)
out = vmap(lambda p, b, x: functional_call(base, (p, b), (x,)), in_dims=(0, 0, None))(stacked, buffers, X)
print(out.shape, torch.allclose(out[2], models[2](X)), f"{out.std().item():.4f}")


def adapted(parameters, x, y):
    inner = grad(loss)(parameters, x, y)
    return loss({name: p - 0.1 * inner[name] for name, p in parameters.items()}, x, y)


for step in range(3):
    meta = grad(adapted)(parameters, X, y)
    parameters = {name: p - 0.1 * meta[name] for name, p in parameters.items()}
    print(f"{adapted(parameters, X, y).item():.5f}")
