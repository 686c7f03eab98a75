"""torchopt: functional optimizers, and a meta-optimizer that gradients pass through."""

import torch
import torchopt

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(3, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
x = torch.randn(16, 3)
y = x.sum(1, keepdim=True)
optimizer = torchopt.Adam(model.parameters(), lr=1e-2)
for _ in range(4):
    loss = (model(x) - y).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    print(f"{loss.item():.5f}")
meta = torch.nn.Parameter(torch.tensor(1.0))
inner = torchopt.MetaSGD(model, lr=0.1)
for _ in range(2):
    inner.step(((model(x) - y).square() * meta).mean())
outer = (model(x) - y).square().mean()
outer.backward()
print(f"{outer.item():.5f} {meta.grad.item():.5f}")
params = [torch.tensor([1.0, 2.0], requires_grad=True)]
functional = torchopt.chain(torchopt.clip_grad_norm(1.0), torchopt.rmsprop(0.1))
state = functional.init(params)
grads = torch.autograd.grad(params[0].square().sum(), params)
updates, state = functional.update(list(grads), state)
print([f"{v:.5f}" for v in torchopt.apply_updates(params, updates, inplace=False)[0].tolist()])
