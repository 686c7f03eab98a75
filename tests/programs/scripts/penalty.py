"""A GAN with gradient penalty and spectral norm; parametrizations and pruning."""

import copy, torch, torch.nn as nn
from torch.nn.utils import parametrize, prune, spectral_norm as old_sn, remove_spectral_norm
from torch.nn.utils.parametrizations import spectral_norm, orthogonal, weight_norm
from torch.autograd import grad

torch.manual_seed(99)


def init(m):
    if isinstance(m, (nn.ConvTranspose2d, nn.Conv2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.constant_(m.bias, 0)


G = nn.Sequential(
    nn.Unflatten(1, (8, 1, 1)),
    nn.ConvTranspose2d(8, 16, 4, bias=False),
    nn.BatchNorm2d(16),
    nn.GELU(approximate="tanh"),
    nn.ConvTranspose2d(16, 3, 4, 2, 1),
    nn.Tanh(),
).apply(init)
D = nn.Sequential(
    spectral_norm(nn.Conv2d(3, 8, 4, 2, 1), n_power_iterations=2),
    nn.LeakyReLU(0.2, True),
    nn.PixelUnshuffle(2),
    nn.Conv2d(32, 8, 1),
    nn.AdaptiveMaxPool2d(1),
    nn.Flatten(),
    old_sn(nn.Linear(8, 1)),
)
print(G)
print(D)
og = torch.optim.Adam(G.parameters(), 1e-3, betas=(0.0, 0.9))
od = torch.optim.RMSprop(D.parameters(), lr=1e-3, centered=True, momentum=0.1)
real = torch.rand(6, 3, 8, 8) * 2 - 1
for step in range(3):
    for _ in range(2):
        z = torch.randn(6, 8)
        fake = G(z).detach()
        eps = torch.rand(6, 1, 1, 1)
        mid = (eps * real + (1 - eps) * fake).requires_grad_(True)
        (g,) = grad(D(mid).sum(), mid, create_graph=True)
        gp = ((g.flatten(1).norm(2, dim=1) - 1) ** 2).mean()
        ld = D(fake).mean() - D(real).mean() + 10 * gp
        od.zero_grad()
        ld.backward()
        od.step()
    for p in D.parameters():
        p.requires_grad_(False)
    lg = -D(G(torch.randn(6, 8))).mean()
    og.zero_grad()
    lg.backward()
    og.step()
    for p in D.parameters():
        p.requires_grad_(True)
    print(f"{step} D {ld.item():.4f} G {lg.item():.5f} gp {gp.item():.4f}")
print(sorted(D.state_dict()))
remove_spectral_norm(D[6])
print(D[6])
print(parametrize.is_parametrized(D[0]), D[0].parametrizations)
parametrize.remove_parametrizations(D[0], "weight")
print(D[0], torch.linalg.matrix_norm(D[0].weight.flatten(1), 2).item() < 1.3)
o = orthogonal(nn.Linear(4, 4), orthogonal_map="cayley")
w = o.weight
print((w @ w.T - torch.eye(4)).abs().max() < 1e-5)
wn = weight_norm(nn.Linear(3, 2), dim=None)
print(wn, wn.parametrizations.weight.original0)


class Sym(nn.Module):
    def forward(self, X):
        return X.triu() + X.triu(1).mT

    def right_inverse(self, A):
        return A.triu()


lin = nn.Linear(3, 3)
parametrize.register_parametrization(lin, "weight", Sym())
lin.weight = torch.arange(9.0).view(3, 3)
print(lin.weight)
with parametrize.cached():
    print(lin.weight is lin.weight)
print(lin.weight is lin.weight)
m = nn.Linear(5, 4)
prune.l1_unstructured(m, "weight", amount=0.3)
prune.random_structured(m, "weight", 1, dim=0)
prune.ln_structured(m, name="weight", amount=0.25, n=2, dim=1)
print(list(m.named_buffers())[0][0], m.weight_mask, m._forward_pre_hooks.values())
print(prune.is_pruned(m), float((m.weight == 0).float().mean()))
prune.remove(m, "weight")
print([n for n, _ in m.named_parameters()], m.weight)
net = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 2))
prune.global_unstructured([(net[0], "weight"), (net[2], "weight")], pruning_method=prune.L1Unstructured, amount=0.5)
print(sum(int((l.weight == 0).sum()) for l in (net[0], net[2])))


class Odd(prune.BasePruningMethod):
    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t, default_mask):
        mask = default_mask.clone()
        mask.view(-1)[::2] = 0
        return mask


Odd.apply(net[2], "bias")
print(net[2].bias, type(next(iter(net[2]._forward_pre_hooks.values()))).__name__)
try:
    copy.deepcopy(net)
except RuntimeError as e:
    print(e)
