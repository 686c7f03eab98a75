"""Low-rank adapters, experts, accumulation, recomputation, mixed precision, all optimizers and schedules."""

import torch, torch.nn as nn, torch.nn.functional as F, math, warnings
from torch.utils.checkpoint import checkpoint, checkpoint_sequential
from torch.nn.utils import clip_grad_norm_, clip_grad_value_

warnings.filterwarnings("ignore")
torch.manual_seed(0)


class LoRALinear(nn.Module):
    def __init__(self, base, r=2, alpha=4.0, dropout=0.0):
        super().__init__()
        self.base = base
        [p.requires_grad_(False) for p in base.parameters()]
        self.A = nn.Parameter(torch.zeros(r, base.in_features))
        self.B = nn.Parameter(torch.zeros(base.out_features, r))
        nn.init.kaiming_uniform_(self.A, a=math.sqrt(5))
        self.s = alpha / r
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        return self.base(x) + (self.drop(x) @ self.A.T @ self.B.T) * self.s

    @torch.no_grad()
    def merge(self):
        self.base.weight += self.B @ self.A * self.s
        return self.base


net = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 3))
x, y = torch.randn(32, 6), torch.randint(3, (32,))
lora = nn.Sequential(*[LoRALinear(m) if isinstance(m, nn.Linear) else m for m in net])
tr = [p for p in lora.parameters() if p.requires_grad]
print(sum(p.numel() for p in tr), sum(p.numel() for p in lora.parameters()))
o = torch.optim.AdamW(tr, 1e-2)
for _ in range(4):
    l = F.cross_entropy(lora(x), y)
    o.zero_grad()
    l.backward()
    o.step()
    print(f"{l.item():.5f}")
before = lora(x)
merged = nn.Sequential(*[m.merge() if isinstance(m, LoRALinear) else m for m in lora])
print(torch.allclose(before, merged(x), atol=1e-5))


class MoE(nn.Module):
    def __init__(self, d, n, k):
        super().__init__()
        self.k, self.n = k, n
        self.gate = nn.Linear(d, n, bias=False)
        self.experts = nn.ModuleList(
            [nn.Sequential(nn.Linear(d, 2 * d), nn.SiLU(), nn.Linear(2 * d, d)) for _ in range(n)]
        )

    def forward(self, x):
        lg = self.gate(x)
        w, s = torch.topk(F.softmax(lg, dim=1, dtype=torch.float), self.k, dim=-1)
        w /= w.sum(dim=-1, keepdim=True)
        w = w.to(x.dtype)
        out = torch.zeros_like(x)
        mask = F.one_hot(s, num_classes=self.n).permute(2, 1, 0)
        for i, e in enumerate(self.experts):
            idx, top = torch.where(mask[i])
            if top.numel() == 0:
                continue
            out.index_add_(0, top, e(x[top]) * w[top, idx, None])
        me = F.softmax(lg, -1).mean(0)
        ce = F.one_hot(s[:, 0], self.n).float().mean(0)
        return out, (me * ce).sum() * self.n


moe = MoE(6, 4, 2)
out, aux = moe(x)
(out.square().mean() + 0.01 * aux).backward()
print(
    out.sum(),
    aux,
    moe.gate.weight.grad.norm(),
    [round(e[0].weight.grad.norm().item(), 4) if e[0].weight.grad is not None else None for e in moe.experts],
)
acc = 4
m = nn.Sequential(nn.Linear(6, 8), nn.LayerNorm(8), nn.ReLU(), nn.Dropout(0.1), nn.Linear(8, 3))
o = torch.optim.SGD(m.parameters(), 0.1, momentum=0.9, weight_decay=1e-4)
sc = torch.optim.lr_scheduler.OneCycleLR(
    o, max_lr=0.2, steps_per_epoch=2, epochs=2, pct_start=0.3, anneal_strategy="linear"
)
for ep in range(2):
    for i, (a, b) in enumerate(zip(x.chunk(8), y.chunk(8))):
        l = F.cross_entropy(m(a), b) / acc
        l.backward()
        if (i + 1) % acc == 0:
            n = clip_grad_norm_(m.parameters(), 1.0, norm_type=2.0, error_if_nonfinite=True)
            o.step()
            sc.step()
            o.zero_grad(set_to_none=True)
            print(f"{l.item() * acc:.4f} {n:.4f} {sc.get_last_lr()[0]:.5f} {o.param_groups[0]['momentum']:.4f}")
blk = nn.ModuleList([nn.Sequential(nn.Linear(6, 6), nn.Tanh(), nn.Dropout(0.2)) for _ in range(3)])


def run(use, **kw):
    torch.manual_seed(5)
    z = h = x.clone().requires_grad_()
    for b in blk:
        z = checkpoint(b, z, use_reentrant=False, **kw) if use else b(z)
    z.pow(2).sum().backward()
    return h.grad


print(
    torch.allclose(run(True), run(False)), checkpoint_sequential(nn.Sequential(*blk), 2, x, use_reentrant=False).shape
)
for dt in (torch.bfloat16, torch.float16):
    with torch.autocast(device_type="cpu", dtype=dt):
        p = net(x)
        l = F.cross_entropy(p, y)
    print(p.dtype, l.dtype, f"{l.item():.2f}")
with torch.amp.autocast("cpu", enabled=False):
    print(net(x).dtype)
sclr = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2)
o = torch.optim.SGD(net.parameters(), 0.01)
[p.requires_grad_() for p in net.parameters()]
for _ in range(3):
    o.zero_grad()
    l = F.cross_entropy(net(x), y)
    sclr.scale(l).backward()
    sclr.unscale_(o)
    clip_grad_value_(net.parameters(), 0.5)
    sclr.step(o)
    sclr.update()
    print(f"{l.item():.4f}", sclr.get_scale())
dq = torch.ao.quantization.quantize_dynamic(net, {nn.Linear}, dtype=torch.qint8)
print((dq(x) - net(x)).abs().max() < 0.1, type(dq[0]).__name__)
class_w = torch.tensor([1.0, 2.0, 0.5])


def mixup(x, y, a=0.4):
    lam = torch.distributions.Beta(a, a).sample().item()
    i = torch.randperm(x.size(0))
    return lam * x + (1 - lam) * x[i], y, y[i], lam


mx, ya, yb, lam = mixup(x, y)
p = net(mx)
print(round(lam, 5), lam * F.cross_entropy(p, ya, class_w) + (1 - lam) * F.cross_entropy(p, yb, class_w))
par = [
    {"params": [p for n, p in net.named_parameters() if "bias" in n], "weight_decay": 0},
    {"params": [p for n, p in net.named_parameters() if "bias" not in n], "lr": 0.01},
]
for C, kw in (
    (torch.optim.SGD, dict(lr=0.1, momentum=0.9, nesterov=True)),
    (torch.optim.Adam, dict(lr=0.01, amsgrad=True)),
    (torch.optim.AdamW, dict(lr=0.01, fused=True)),
    (torch.optim.NAdam, dict(lr=0.01)),
    (torch.optim.RAdam, dict(lr=0.01, decoupled_weight_decay=True)),
    (torch.optim.Adagrad, dict(lr_decay=0.1)),
    (torch.optim.RMSprop, dict(lr=0.01, centered=True, momentum=0.5)),
    (torch.optim.Rprop, {}),
    (torch.optim.ASGD, dict(lambd=0.01)),
    (torch.optim.Adamax, dict()),
    (torch.optim.Adadelta, dict(rho=0.8)),
    (torch.optim.Adafactor, dict(lr=0.01)),
    (torch.optim.Muon, dict(lr=0.01)) if hasattr(torch.optim, "Muon") else (torch.optim.SGD, {}),
):
    torch.manual_seed(1)
    w = nn.Parameter(torch.randn(4, 3))
    o = C([w], **kw)
    for _ in range(3):
        (w**2).sum().backward()
        o.step()
        o.zero_grad()
    print(C.__name__, f"{w.sum().item():.5f}", sorted(o.state[w]) if o.state[w] else [])
o = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
S = torch.optim.lr_scheduler
for f in (
    lambda o: S.StepLR(o, 2, 0.5),
    lambda o: S.MultiStepLR(o, [1, 3]),
    lambda o: S.ExponentialLR(o, 0.9),
    lambda o: S.CosineAnnealingLR(o, 5, 0.1),
    lambda o: S.CosineAnnealingWarmRestarts(o, 2, 2),
    lambda o: S.LinearLR(o, 0.5, total_iters=3),
    lambda o: S.PolynomialLR(o, 4, 2.0),
    lambda o: S.ConstantLR(o, 0.3, 2),
    lambda o: S.CyclicLR(o, 0.1, 1.0, step_size_up=2, mode="triangular2", cycle_momentum=False),
    lambda o: S.LambdaLR(o, lambda e: 0.9**e),
    lambda o: S.MultiplicativeLR(o, lambda e: 0.8),
    lambda o: S.ChainedScheduler([S.ConstantLR(o, 0.5, 2), S.ExponentialLR(o, 0.9)]),
    lambda o: S.SequentialLR(o, [S.ConstantLR(o, 0.1, 2), S.ExponentialLR(o, 0.9)], [2]),
    lambda o: S.OneCycleLR(o, 1.0, total_steps=7, cycle_momentum=False),
):
    o = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    s = f(o)
    r = []
    for _ in range(6):
        r.append(round(o.param_groups[0]["lr"], 5))
        o.step()
        s.step()
    print(type(s).__name__, r)
