"""A user's optimizer with in-place updates; weights initialised module by module; averaged weights; hooks on gradients."""

import copy

import torch
from torch import nn
from torch.autograd import Variable
from torch.optim import Optimizer

torch.manual_seed(0)
torch.set_printoptions(precision=3, sci_mode=False)


class Lamb(Optimizer):
    def __init__(self, params, lr=0.01, betas=(0.9, 0.99), eps=1e-6, weight_decay=0.0):
        if lr <= 0:
            raise ValueError(f"Invalid learning rate: {lr}")
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            first, second = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["mean"], state["square"] = torch.zeros_like(p), torch.zeros_like(p)
                state["step"] += 1
                state["mean"].mul_(first).add_(p.grad, alpha=1 - first)
                state["square"].mul_(second).addcmul_(p.grad, p.grad, value=1 - second)
                root = state["square"].sqrt().div_((1 - second ** state["step"]) ** 0.5).add_(group["eps"])
                update = state["mean"].div(1 - first ** state["step"]).div_(root)
                if group["weight_decay"]:
                    update.add_(p, alpha=group["weight_decay"])
                size, length = p.norm().clamp_(0, 10), update.norm()
                trust = torch.where(size > 0, torch.where(length > 0, size / length, 1.0), 1.0)
                p.sub_(update * trust, alpha=group["lr"])
        return loss


class Scale(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.register_parameter("gain", nn.Parameter(torch.empty(width)))
        self.register_parameter("shift", None)
        nn.init.ones_(self.gain)

    def forward(self, x):
        return x * self.gain.view(1, -1).expand_as(x)


def prepare(module):
    if isinstance(module, nn.Linear):
        nn.init.kaiming_uniform_(module.weight, nonlinearity="relu")
        module.bias.data.zero_()


model = nn.Sequential()
for number, (a, b) in enumerate([(6, 24), (24, 24), (24, 3)]):
    model.add_module(f"linear{number}", nn.Linear(a, b))
    model.add_module(f"scale{number}", Scale(b) if number < 2 else nn.Identity())
    model.add_module(f"act{number}", nn.ELU() if number < 2 else nn.LogSoftmax(dim=1))
model.apply(prepare)
print([name for name, module in model.named_modules() if isinstance(module, Scale)], len(list(model.modules())))
nn.init.xavier_normal_(model.linear2.weight, gain=nn.init.calculate_gain("tanh"))

X = Variable(torch.randn(120, 6))
y = X.abs().argsort(1)[:, 0].remainder(3)
seen = []
handle = model.linear1.weight.register_hook(lambda grad: seen.append(round(grad.norm().item(), 2)))
average = copy.deepcopy(model).requires_grad_(False)
optimizer = Lamb(model.parameters(), lr=0.02, weight_decay=0.01)
print(optimizer.__class__.__name__, optimizer.defaults["betas"])
for step in range(40):

    def closure():
        optimizer.zero_grad(set_to_none=True)
        loss = nn.NLLLoss()(model(X), y)
        loss.backward()
        return loss

    loss = optimizer.step(closure)
    for slow, fast in zip(average.parameters(), model.parameters()):
        slow.lerp_(fast.detach(), 0.1)
    if step % 10 == 9:
        print(f"{step}: {loss.item():.3f} {nn.functional.nll_loss(average(X), y).item():.3f}")
handle.remove()
print(len(seen), seen[:3])
state = copy.deepcopy(optimizer.state_dict())
again = Lamb(copy.deepcopy(model).parameters())
again.load_state_dict(state)
print(again.param_groups[0]["lr"], sorted(state["state"][0]), state["state"][0]["step"])
try:
    Lamb(model.parameters(), lr=-1)
except ValueError as error:
    print(error)

scripted = torch.jit.script(model)
print(torch.is_tensor(scripted(X[:2])), bool(torch.isnan(scripted(X)).any()), torch.finfo(X.dtype).eps)
for kind in (torch.optim.Adadelta, torch.optim.Rprop, torch.optim.RAdam, torch.optim.NAdam):
    w = torch.tensor([1.0, -2.0], requires_grad=True)
    other = kind([w], lr=0.1)
    for _ in range(5):
        other.zero_grad()
        (w * w * torch.tensor([1.0, 4.0])).sum().backward()
        other.step()
    print(kind.__name__, w.detach())
small = model.half().float()
print(next(small.parameters()).element_size(), small.linear0.weight.stride(), small.linear0.weight.nelement())
torch.set_printoptions(profile="default")
