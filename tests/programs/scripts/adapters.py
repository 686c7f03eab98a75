"""Low-rank adapters, parametrizations, pruning and weight norms."""

import torch, torch.nn as nn, torch.nn.functional as F, math
import torch.nn.utils.parametrize as parametrize
from torch.nn.utils import (
    prune,
    parametrizations,
    weight_norm,
    remove_weight_norm,
    spectral_norm,
    parameters_to_vector,
    vector_to_parameters,
    fuse_conv_bn_eval,
    skip_init,
)


class LoRALinear(nn.Linear):
    def __init__(self, i, o, r=4, alpha=8, **kw):
        nn.Linear.__init__(self, i, o, **kw)
        self.r = r
        self.scaling = alpha / r
        self.merged = False
        self.lora_A = nn.Parameter(self.weight.new_zeros((r, i)))
        self.lora_B = nn.Parameter(self.weight.new_zeros((o, r)))
        self.weight.requires_grad = False
        self.reset()

    def reset(self):
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        nn.init.zeros_(self.lora_B)

    def train(self, mode=True):
        nn.Linear.train(self, mode)
        if mode and self.merged:
            self.weight.data -= self.lora_B @ self.lora_A * self.scaling
            self.merged = False
        elif not mode and not self.merged:
            self.weight.data += self.lora_B @ self.lora_A * self.scaling
            self.merged = True
        return self

    def forward(self, x):
        y = F.linear(x, self.weight, self.bias)
        return y if self.merged else y + (x @ self.lora_A.T @ self.lora_B.T) * self.scaling


torch.manual_seed(0)
m = nn.Sequential(LoRALinear(6, 8), nn.ReLU(), LoRALinear(8, 2))
opt = torch.optim.Adam(filter(lambda p: p.requires_grad, m.parameters()), lr=1e-2)
x, y = torch.randn(16, 6), torch.randint(0, 2, (16,))
for i in range(4):
    l = F.cross_entropy(m(x), y)
    opt.zero_grad()
    l.backward()
    opt.step()
    print(l)
a = m(x)
m.eval()
print(torch.allclose(a, m(x), atol=1e-5), {k: tuple(v.shape) for k, v in m.state_dict().items() if "lora" in k})
m.train()


class LoRAParam(nn.Module):
    def __init__(self, i, o, r=1):
        super().__init__()
        self.A = nn.Parameter(torch.randn(r, o))
        self.B = nn.Parameter(torch.zeros(i, r))
        self.enabled = True

    def forward(self, W):
        return W + torch.matmul(self.B, self.A).view(W.shape) if self.enabled else W


lin = nn.Linear(4, 3)
parametrize.register_parametrization(lin, "weight", LoRAParam(3, 4))
print(
    lin,
    lin.parametrizations.weight.original.shape,
    type(lin).__name__,
    parametrize.is_parametrized(lin, "weight"),
    list(lin.state_dict()),
)
with parametrize.cached():
    print((lin.weight is lin.weight), lin.weight.sum())


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


class MatExp(nn.Module):
    def forward(self, X):
        return torch.matrix_exp(X)


l2 = nn.Linear(3, 3)
parametrize.register_parametrization(l2, "weight", Sym())
parametrize.register_parametrization(l2, "weight", MatExp())
print(torch.allclose(l2.weight, l2.weight.T), l2.parametrizations, parametrize.type_before_parametrizations(l2))
try:
    l2.weight = torch.eye(3)
except Exception as e:
    print(type(e).__name__, e)
parametrize.remove_parametrizations(l2, "weight", leave_parametrized=True)
print(l2.weight, l2)
for w in (
    parametrizations.weight_norm(nn.Linear(4, 3)),
    parametrizations.orthogonal(nn.Linear(4, 4)),
    parametrizations.orthogonal(nn.Linear(4, 3), orthogonal_map="householder"),
    parametrizations.spectral_norm(nn.Linear(4, 3), n_power_iterations=2),
):
    print(w, [(n, tuple(p.shape)) for n, p in w.named_parameters()], w(torch.ones(4)))
o = parametrizations.orthogonal(nn.Linear(3, 3))
print(torch.dist(o.weight.T @ o.weight, torch.eye(3)) < 1e-5)
o.weight = torch.eye(3)
print(o.weight)
wn = weight_norm(nn.Conv1d(2, 3, 3), dim=0)
print(
    wn.weight_g.shape,
    wn.weight_v.shape,
    [type(h).__name__ for h in wn._forward_pre_hooks.values()],
    list(wn.state_dict()),
)
remove_weight_norm(wn)
print(list(wn.state_dict()))
sn = spectral_norm(nn.Linear(3, 2))
sn(torch.ones(1, 3))
print(list(sn.state_dict()), sn.weight_u)
p = nn.Conv2d(1, 3, 3)
prune.random_unstructured(p, name="weight", amount=0.3)
print(list(p.named_buffers())[0][1].sum(), [n for n, _ in p.named_parameters()], p._forward_pre_hooks)
prune.ln_structured(p, name="weight", amount=0.5, n=2, dim=0)
print(p.weight_mask.sum((1, 2, 3)), list(p._forward_pre_hooks.values())[0])
prune.l1_unstructured(p, "bias", amount=1)
print(p.bias, prune.is_pruned(p))
prune.remove(p, "weight")
print(list(p.state_dict()))
net = nn.Sequential(nn.Linear(4, 5), nn.Linear(5, 2))
prune.global_unstructured([(net[0], "weight"), (net[1], "weight")], pruning_method=prune.L1Unstructured, amount=0.4)
print([int((n.weight == 0).sum()) for n in net], net[0].weight_mask)


class Every2(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


Every2.apply(net[1], "bias")
print(net[1].bias_mask, prune.custom_from_mask(nn.Linear(2, 2), "weight", torch.eye(2)).weight)
for f in (
    lambda: prune.l1_unstructured(net[0], "weight", amount=1.5),
    lambda: prune.l1_unstructured(nn.Linear(2, 2), "weight", amount=9),
    lambda: prune.remove(nn.Linear(2, 2), "weight"),
    lambda: parametrize.remove_parametrizations(nn.Linear(1, 1), "weight"),
    lambda: parametrize.register_parametrization(nn.Linear(1, 1), "w", Sym()),
    lambda: remove_weight_norm(nn.Linear(1, 1)),
    lambda: parametrizations.orthogonal(nn.Linear(2, 2), "bias"),
    lambda: prune.ln_structured(nn.Linear(2, 2), "weight", 0.5),
):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
v = parameters_to_vector(nn.Linear(2, 2).parameters())
q = nn.Linear(2, 2)
vector_to_parameters(torch.arange(6.0), q.parameters())
print(q.weight, v.shape)
conv, bn = nn.Conv2d(1, 2, 3).eval(), nn.BatchNorm2d(2).eval()
bn.running_mean += 0.3
z = torch.randn(1, 1, 4, 4)
print(torch.allclose(fuse_conv_bn_eval(conv, bn)(z), bn(conv(z)), atol=1e-6))
print(skip_init(nn.Linear, 2, 3).weight.shape)
