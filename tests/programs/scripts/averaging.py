"""Schedules of learning rates of every kind, and averages of weights."""

import torch, torch.nn as nn, torch.optim as optim
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn, get_ema_avg_fn
from torch.optim import lr_scheduler as L

torch.manual_seed(0)


def mk(lr=0.1, **k):
    p = nn.Parameter(torch.ones(2))
    return optim.SGD(
        [{"params": [p]}, {"params": [nn.Parameter(torch.ones(1))], "lr": lr / 2}], lr=lr, momentum=0.9, **k
    )


def run(name, f, n=9, arg=None):
    o = mk()
    s = f(o)
    out = []
    for i in range(n):
        o.step()
        out.append([round(g["lr"], 5) for g in o.param_groups])
        s.step(*(() if arg is None else (arg(i),)))
    print(name, out, getattr(s, "last_epoch", None))
    sd = s.state_dict()
    print(sorted(k for k in sd if not callable(sd[k])))
    o2 = mk()
    s2 = f(o2)
    s2.load_state_dict(sd)


run("lambda", lambda o: L.LambdaLR(o, [lambda e: 0.9**e, lambda e: 1 / (e + 1)]))
run("mult", lambda o: L.MultiplicativeLR(o, lambda e: 0.95))
run("step", lambda o: L.StepLR(o, 2, 0.5))
run("multi", lambda o: L.MultiStepLR(o, [2, 5], gamma=0.1))
run("const", lambda o: L.ConstantLR(o, 0.5, 3))
run("lin", lambda o: L.LinearLR(o, 0.1, 1.0, 4))
run("exp", lambda o: L.ExponentialLR(o, 0.9))
run("poly", lambda o: L.PolynomialLR(o, 6, 2.0))
run("cos", lambda o: L.CosineAnnealingLR(o, 5, 1e-3))
run("cosw", lambda o: L.CosineAnnealingWarmRestarts(o, 2, 2, 1e-3))
run("cyc", lambda o: L.CyclicLR(o, 0.01, 0.1, 3, mode="triangular2"))
run("cyce", lambda o: L.CyclicLR(o, 0.01, [0.1, 0.2], 2, 4, mode="exp_range", gamma=0.9))
run("one", lambda o: L.OneCycleLR(o, max_lr=[0.1, 0.2], total_steps=10, pct_start=0.3))
run("one3", lambda o: L.OneCycleLR(o, 0.1, epochs=2, steps_per_epoch=5, three_phase=True, anneal_strategy="linear"))
run(
    "plateau",
    lambda o: L.ReduceLROnPlateau(o, "min", 0.5, 1, cooldown=1, min_lr=[0.01, 0.02]),
    arg=lambda i: [1, 0.9, 0.9, 0.9, 0.9, 0.95, 0.9, 0.9, 0.9][i],
)
run("seq", lambda o: L.SequentialLR(o, [L.LinearLR(o, 0.1, total_iters=3), L.CosineAnnealingLR(o, 5)], [3]))
run("chain", lambda o: L.ChainedScheduler([L.ConstantLR(o, 0.1, 2), L.ExponentialLR(o, 0.9)]))


class Warm(L._LRScheduler):
    def __init__(self, o, w, last_epoch=-1):
        self.w = w
        super().__init__(o, last_epoch)

    def get_lr(self):
        return [b * min(1, (self.last_epoch + 1) / self.w) for b in self.base_lrs]


run("own", lambda o: Warm(o, 4))
m = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 1))
opt = optim.SGD(m.parameters(), lr=0.1)
swa = AveragedModel(m)
ema = AveragedModel(m, avg_fn=get_ema_avg_fn(0.9))
own = AveragedModel(m, avg_fn=lambda a, p, n: 0.1 * a + 0.9 * p)
swas = SWALR(opt, swa_lr=0.05, anneal_epochs=3, anneal_strategy="linear")
sch = L.CosineAnnealingLR(opt, T_max=10)
data = [(torch.randn(8, 3), torch.randn(8, 1)) for _ in range(3)]
for ep in range(6):
    for x, y in data:
        opt.zero_grad()
        l = (m(x) - y).pow(2).mean()
        l.backward()
        opt.step()
        ema.update_parameters(m)
        own.update_parameters(m)
    if ep > 2:
        swa.update_parameters(m)
        swas.step()
    else:
        sch.step()
    print(ep, f"{l.item():.4f} {opt.param_groups[0]['lr']:.5f}")
update_bn(data, swa)
print(
    swa.n_averaged,
    swa.module[1].running_mean,
    swa(data[0][0]).sum(),
    ema.module[0].bias,
    own.module[3].bias,
    list(swa.state_dict())[:3],
)
for f in (
    lambda: L.OneCycleLR(mk(), 0.1),
    lambda: L.CyclicLR(mk(), 0.1, 0.2, mode="zz"),
    lambda: L.SequentialLR(mk(), [], [1]),
    lambda: L.LinearLR(mk(), 2.0),
    lambda: L.LambdaLR(mk(), [lambda e: 1]),
    lambda: L.ReduceLROnPlateau(mk(), factor=1.0),
    lambda: L.CosineAnnealingWarmRestarts(mk(), 0),
    lambda: L.StepLR(3, 1),
    lambda: SWALR(mk(), 0.1, anneal_strategy="no"),
    lambda: L.ExponentialLR(optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1), 0.9, last_epoch=3),
    lambda: optim.SGD([], lr=0.1),
    lambda: optim.Adam([torch.ones(1)], lr=-1),
    lambda: optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1, nesterov=True),
    lambda: optim.SGD(torch.ones(2), lr=1),
    lambda: optim.Adam([nn.Parameter(torch.ones(1))], betas=(1.0, 0.0)),
    lambda: optim.SGD([torch.ones(1, requires_grad=True) * 2], lr=1.0),
):
    try:
        print(f())
    except Exception as e:
        print(type(e).__name__, e)
