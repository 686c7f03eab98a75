"""A search for an architecture by second-order gradients (DARTS)."""

import torch, torch.nn as nn, torch.nn.functional as F
from torch.autograd import Variable

OPS = {
    "none": lambda C, s, a: Zero(s),
    "avg_pool_3x3": lambda C, s, a: nn.AvgPool2d(3, stride=s, padding=1, count_include_pad=False),
    "max_pool_3x3": lambda C, s, a: nn.MaxPool2d(3, stride=s, padding=1),
    "skip": lambda C, s, a: nn.Identity() if s == 1 else FactorizedReduce(C, C, affine=a),
    "sep": lambda C, s, a: nn.Sequential(
        nn.ReLU(inplace=False),
        nn.Conv2d(C, C, 3, s, 1, groups=C, bias=False),
        nn.Conv2d(C, C, 1, bias=False),
        nn.BatchNorm2d(C, affine=a),
    ),
    "dil": lambda C, s, a: nn.Sequential(
        nn.ReLU(inplace=False), nn.Conv2d(C, C, 3, s, 2, dilation=2, groups=C, bias=False), nn.BatchNorm2d(C, affine=a)
    ),
}


class Zero(nn.Module):
    def __init__(self, s):
        super().__init__()
        self.stride = s

    def forward(self, x):
        return x.mul(0.0) if self.stride == 1 else x[:, :, :: self.stride, :: self.stride].mul(0.0)


class FactorizedReduce(nn.Module):
    def __init__(self, i, o, affine=True):
        super().__init__()
        self.c1 = nn.Conv2d(i, o // 2, 1, stride=2, bias=False)
        self.c2 = nn.Conv2d(i, o // 2, 1, stride=2, bias=False)
        self.bn = nn.BatchNorm2d(o, affine=affine)

    def forward(self, x):
        return self.bn(torch.cat([self.c1(x), self.c2(x[:, :, 1:, 1:])], dim=1))


class MixedOp(nn.Module):
    def __init__(self, C, s):
        super().__init__()
        self._ops = nn.ModuleList()
        for p in OPS:
            op = OPS[p](C, s, False)
            if "pool" in p:
                op = nn.Sequential(op, nn.BatchNorm2d(C, affine=False))
            self._ops.append(op)

    def forward(self, x, w):
        return sum(wi * op(x) for wi, op in zip(w, self._ops))


class Net(nn.Module):
    def __init__(self, C=4):
        super().__init__()
        self.C = C
        self.stem = nn.Sequential(nn.Conv2d(3, C, 3, padding=1, bias=False), nn.BatchNorm2d(C))
        self.cells = nn.ModuleList([MixedOp(C, 1), MixedOp(C, 2)])
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(C, 3)
        self.alphas = Variable(1e-3 * torch.randn(2, len(OPS)), requires_grad=True)
        self.crit = nn.CrossEntropyLoss()

    def new(self):
        m = Net(self.C)
        m.alphas.data.copy_(self.alphas.data)
        return m

    def forward(self, x):
        x = self.stem(x)
        w = F.softmax(self.alphas, dim=-1)
        for c, wi in zip(self.cells, w):
            x = c(x, wi)
        return self.fc(self.pool(x).view(x.size(0), -1))

    def _loss(self, x, y):
        return self.crit(self(x), y)


def _concat(xs):
    return torch.cat([x.view(-1) for x in xs])


class Architect:
    def __init__(self, m):
        self.model = m
        self.opt = torch.optim.Adam([m.alphas], lr=3e-3, betas=(0.5, 0.999), weight_decay=1e-3)

    def unrolled(self, x, y, eta, nopt):
        loss = self.model._loss(x, y)
        theta = _concat(self.model.parameters()).data
        try:
            moment = _concat(nopt.state[v]["momentum_buffer"] for v in self.model.parameters()).mul_(0.9)
        except Exception as e:
            moment = torch.zeros_like(theta)
            print(type(e).__name__)
        d = _concat(torch.autograd.grad(loss, self.model.parameters())).data + 3e-4 * theta
        un = self.model.new()
        md = un.state_dict()
        off = 0
        params = {}
        new = theta.sub(moment + d, alpha=eta)
        for k, v in self.model.named_parameters():
            n = v.numel()
            params[k] = new[off : off + n].view(v.size())
            off += n
        md.update(params)
        un.load_state_dict(md)
        return un

    def step(self, xt, yt, xv, yv, eta, nopt):
        self.opt.zero_grad()
        un = self.unrolled(xt, yt, eta, nopt)
        ul = un._loss(xv, yv)
        ul.backward()
        da = un.alphas.grad
        vec = [v.grad.data for v in un.parameters()]
        R = 1e-2 / _concat(vec).norm()
        for p, v in zip(self.model.parameters(), vec):
            p.data.add_(v, alpha=R)
        gp = torch.autograd.grad(self.model._loss(xt, yt), self.model.alphas)
        for p, v in zip(self.model.parameters(), vec):
            p.data.sub_(v, alpha=2 * R)
        gn = torch.autograd.grad(self.model._loss(xt, yt), self.model.alphas)
        for p, v in zip(self.model.parameters(), vec):
            p.data.add_(v, alpha=R)
        ih = [(x - y).div_(2 * R) for x, y in zip(gp, gn)]
        da.data.sub_(ih[0].data, alpha=eta)
        if self.model.alphas.grad is None:
            self.model.alphas.grad = Variable(da.data)
        else:
            self.model.alphas.grad.data.copy_(da.data)
        self.opt.step()
        return ul


torch.manual_seed(2)
m = Net()
opt = torch.optim.SGD(m.parameters(), 0.025, momentum=0.9, weight_decay=3e-4)
sch = torch.optim.lr_scheduler.CosineAnnealingLR(opt, 4.0, eta_min=1e-3)
arch = Architect(m)
x, y, xv, yv = torch.randn(8, 3, 8, 8), torch.randint(0, 3, (8,)), torch.randn(8, 3, 8, 8), torch.randint(0, 3, (8,))
for ep in range(3):
    lr = sch.get_last_lr()[0]
    ul = arch.step(x, y, xv, yv, lr, opt)
    opt.zero_grad()
    l = m._loss(x, y)
    l.backward()
    nn.utils.clip_grad_norm_(m.parameters(), 5)
    opt.step()
    sch.step()
    print(
        f"{ep} {lr:.5f} {ul.item():.4f} {l.item():.4f}",
        F.softmax(m.alphas, dim=-1).argmax(-1),
        m.alphas.grad.abs().sum(),
    )
print(torch.topk(F.softmax(m.alphas, -1).data, 2), [k for k in m.state_dict()][:4])
