"""Hooks of modules, tensors and nodes, state dicts, containers, pruning, parametrizations."""

import torch, torch.nn as nn, torch.nn.functional as F, copy
from collections import OrderedDict

torch.manual_seed(0)
net = nn.Sequential(
    OrderedDict(
        conv=nn.Conv2d(1, 2, 3), relu=nn.ReLU(), pool=nn.AdaptiveAvgPool2d(1), flat=nn.Flatten(), fc=nn.Linear(2, 3)
    )
)
acts, grads = {}, {}


def get(name):
    def hook(m, i, o):
        acts[name] = o.detach()

    return hook


hs = [m.register_forward_hook(get(n)) for n, m in net.named_modules() if n]
bh = net.conv.register_full_backward_hook(lambda m, gi, go: grads.update(conv=(gi[0], go[0].shape)))
ph = net.fc.register_forward_pre_hook(lambda m, a: (a[0] * 2,))
kh = net.register_forward_hook(lambda m, a, kw, o: o + 1, with_kwargs=True)
pre = net.fc.register_full_backward_pre_hook(lambda m, go: (go[0] * 0.5,))
x = torch.randn(2, 1, 6, 6)
out = net(x)
out.sum().backward()
print({k: tuple(v.shape) for k, v in acts.items()}, grads, net.fc.weight.grad)
[h.remove() for h in hs]
bh.remove()
ph.remove()
kh.remove()
pre.remove()
print(len(net.fc._forward_hooks), net._forward_pre_hooks)
t = torch.randn(3, requires_grad=True)
h = t.register_hook(lambda g: g * 10)
y = t * 2
y.retain_grad()
y.register_hook(lambda g: print("hook", g))
y.sum().backward()
print(t.grad, y.grad, y.retains_grad)
h.remove()
t.register_post_accumulate_grad_hook(lambda p: print("post", p.grad))
t.sum().backward()


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        layer.register_forward_hook(self.f)
        layer.register_full_backward_hook(self.b)

    def f(self, m, i, o):
        self.a = o

    def b(self, m, gi, go):
        self.g = go[0]

    def __call__(self, x, c=None):
        o = self.model(x)
        c = o.argmax(1) if c is None else c
        self.model.zero_grad()
        o.gather(1, c[:, None]).sum().backward()
        w = self.g.mean((2, 3), keepdim=True)
        cam = F.relu((w * self.a).sum(1, keepdim=True))
        cam = F.interpolate(cam, x.shape[2:], mode="bilinear", align_corners=False)
        return (cam - cam.amin((2, 3), True)) / (cam.amax((2, 3), True) - cam.amin((2, 3), True) + 1e-8)


print(GradCAM(net, net.conv)(x).mean((2, 3)).flatten())
g1 = nn.modules.module.register_module_forward_hook(lambda m, i, o: print("global", type(m).__name__))
net(x)
g1.remove()
with torch.autograd.graph.saved_tensors_hooks(
    lambda t: (print("pack", tuple(t.shape)), t.numpy())[1], lambda a: torch.from_numpy(a)
):
    z = torch.randn(2, requires_grad=True)
    q = z.exp() * z
q.sum().backward()
print(z.grad)
node = (z * 2).sum().grad_fn
print(
    node.name(),
    node.next_functions[0][0].name(),
    node.metadata,
    node._raw_saved_self if hasattr(node, "_raw_saved_self") else None,
)
hh = node.register_hook(lambda gi, go: print("node", gi, go))
hp = node.register_prehook(lambda go: print("pre", go))
with torch.autograd.graph.save_on_cpu():
    w = (z**2).sum()
w.backward()
print(
    net.state_dict().keys(),
    [n for n, _ in net.named_buffers()],
    net.get_parameter("fc.bias").shape,
    net.get_submodule("conv"),
    [type(m).__name__ for m in net.children()],
)
sd = net.state_dict(prefix="m.")
print(list(sd)[:2], sd._metadata["m.conv"] if "m.conv" in sd._metadata else sd._metadata.keys())
r = net.load_state_dict(
    {k: v for k, v in net.state_dict().items() if "fc" not in k} | {"zzz": torch.ones(1)}, strict=False
)
print(r, r.missing_keys, r.unexpected_keys)
net._register_load_state_dict_pre_hook(
    lambda sd, prefix, *a: [sd.__setitem__(k.replace("old", "conv"), sd.pop(k)) for k in list(sd) if "old" in k]
)
print(net.load_state_dict({k.replace("conv", "old"): v for k, v in net.state_dict().items()}))
net._register_state_dict_hook(lambda m, sd, p, l: sd.__setitem__("extra", torch.ones(1)) or sd)
print(list(net.state_dict()))


class Ex(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 3
        self.register_buffer("nb", torch.zeros(1), persistent=False)
        self.p = nn.Parameter(torch.ones(2))
        self.none = None
        self.register_parameter("q", None)

    def get_extra_state(self):
        return {"n": self.n}

    def set_extra_state(self, s):
        self.n = s["n"]


e = Ex()
e.n = 7
sd = e.state_dict()
print(sd)
e2 = Ex()
print(e2.load_state_dict(sd), e2.n)
e.half()
print(e.p.dtype, e.nb.dtype)
e.to(torch.float64)
e.requires_grad_(False)
print(e.p, e.train().training, e.eval().training, e._get_name(), e.extra_repr() == "")


class Ext(nn.Module):
    def __init__(self, m, names):
        super().__init__()
        self.m = m
        self.names = names

    def forward(self, x):
        o = []
        for n, l in self.m._modules.items():
            x = l(x)
            if n in self.names:
                o.append(x)
        return o


print([a.shape for a in Ext(net, ["conv", "fc"])(x)])
net.apply(lambda m: m.reset_parameters() if hasattr(m, "reset_parameters") else None)
acts.clear()
net.conv._forward_hooks.clear()
net.conv._backward_hooks.clear()
d = copy.deepcopy(net)
print(
    all((a == b).all() for a, b in zip(d.parameters(), net.parameters())),
    d.conv.weight.data_ptr() != net.conv.weight.data_ptr(),
)
net.fc = nn.Identity()
print(net(x).shape, net)
del net.relu
print(len(net), net[-1], net[0:2])
net.append(nn.ReLU())
net.extend([nn.ReLU()])
print(len(net), net.pop(len(net) - 1) is not None)
ml = nn.ModuleList([nn.Linear(1, 1)])
ml += [nn.ReLU()]
ml.insert(0, nn.Tanh())
print(ml, ml[-1:], len(ml + nn.ModuleList([nn.ReLU()])))
md = nn.ModuleDict([("a", nn.ReLU())])
md.update({"b": nn.Tanh()})
print("a" in md, md.pop("a"), list(md.keys()), md)
pl = nn.ParameterList(nn.Parameter(torch.randn(1)) for _ in range(3))
pl.append(torch.ones(2))
print(pl[1:].__len__(), [p.shape for p in pl], sum(p.numel() for p in pl))
pd = nn.ParameterDict({"x": torch.ones(1)})
pd["y"] = nn.Parameter(torch.zeros(2))
print(pd, pd.get("z"), list(pd.items())[0][0], pd | {"w": torch.ones(1)})
s = nn.utils.parameters_to_vector(pl.parameters())
nn.utils.vector_to_parameters(torch.zeros_like(s), pl.parameters())
print(s.shape, pl[0])
import torch.nn.utils.prune as prune, torch.nn.utils.parametrize as P

l = nn.Linear(4, 3)
prune.l1_unstructured(l, "weight", amount=0.5)
print(
    l.weight_mask.sum(),
    list(l._forward_pre_hooks.values())[0].__class__.__name__,
    prune.is_pruned(l),
    sorted(dict(l.named_parameters())),
)
prune.ln_structured(l, "weight", amount=1, n=2, dim=0)
prune.random_unstructured(l, "bias", amount=1)
prune.remove(l, "weight")
print(l.weight, dict(l.named_buffers()).keys())
prune.global_unstructured([(l, "weight")], pruning_method=prune.L1Unstructured, amount=2)
print((l.weight == 0).sum())


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).transpose(-1, -2)

    def right_inverse(self, A):
        return A.triu()


l = nn.Linear(3, 3)
P.register_parametrization(l, "weight", Sym())
print(torch.allclose(l.weight, l.weight.T), l, P.is_parametrized(l), l.parametrizations.weight.original.shape)
l.weight = torch.eye(3)
with P.cached():
    print(l.weight.sum())
P.remove_parametrizations(l, "weight", leave_parametrized=True)
print(l)
o = nn.utils.parametrizations.orthogonal(nn.Linear(3, 3))
print((o.weight @ o.weight.T - torch.eye(3)).abs().max() < 1e-5)
wn = nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))
print(wn.parametrizations.weight.original0.shape)
print(nn.utils.weight_norm(nn.Linear(2, 3), name="weight").weight_g.shape)
f = nn.utils.fusion.fuse_conv_bn_eval(nn.Conv2d(1, 2, 1).eval(), nn.BatchNorm2d(2).eval())
print(f)
print(
    nn.utils.get_total_norm([torch.ones(3)]),
    nn.utils.skip_init(nn.Linear, 2, 2).weight.shape,
    nn.utils.stateless.functional_call(
        nn.Linear(1, 1), {"weight": torch.ones(1, 1), "bias": torch.zeros(1)}, torch.ones(1)
    ),
)
