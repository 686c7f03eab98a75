"""A U-Net of inverted residuals, a vision transformer with mixup and averaged weights, contrastive losses, and attacks."""

import torch, torch.nn as nn, torch.nn.functional as F
from functools import partial
from collections import OrderedDict

torch.manual_seed(0)


class Patch(nn.Module):
    def __init__(self, p, c, d):
        super().__init__()
        self.proj = nn.Conv2d(c, d, p, p)
        self.cls = nn.Parameter(torch.zeros(1, 1, d))
        self.pos = nn.Parameter(nn.init.trunc_normal_(torch.empty(1, 17, d), std=0.02))

    def forward(self, x):
        x = self.proj(x).flatten(2).mT
        return torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos


class DropPath(nn.Module):
    def __init__(self, p):
        super().__init__()
        self.p = p

    def forward(self, x):
        if not self.p or not self.training:
            return x
        keep = 1 - self.p
        return x * x.new_empty((x.shape[0],) + (1,) * (x.ndim - 1)).bernoulli_(keep).div_(keep)


class SE(nn.Module):
    def __init__(self, c, r=4):
        super().__init__()
        self.fc = nn.Sequential(
            OrderedDict(
                squeeze=nn.Linear(c, c // r), act=nn.Hardswish(), excite=nn.Linear(c // r, c), gate=nn.Hardsigmoid()
            )
        )

    def forward(self, x):
        return x * self.fc(x.mean((2, 3)))[..., None, None]


class InvRes(nn.Module):
    def __init__(self, i, o, e, s, norm=partial(nn.BatchNorm2d, eps=1e-3, momentum=0.01)):
        super().__init__()
        h = i * e
        self.use = s == 1 and i == o
        self.block = nn.Sequential(
            nn.Conv2d(i, h, 1, bias=False),
            norm(h),
            nn.SiLU(True),
            nn.Conv2d(h, h, 3, s, 1, groups=h, bias=False),
            norm(h),
            nn.SiLU(True),
            SE(h),
            nn.Conv2d(h, o, 1, bias=False),
            norm(o),
        )
        self.dp = DropPath(0.1)

    def forward(self, x):
        return x + self.dp(self.block(x)) if self.use else self.block(x)


class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.d1 = InvRes(3, 8, 2, 1)
        self.d2 = InvRes(8, 8, 2, 2)
        self.mid = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=2, dilation=2, padding_mode="reflect"),
            nn.InstanceNorm2d(8, affine=True),
            nn.CELU(),
        )
        self.up = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.out = nn.ConvTranspose2d(16, 2, 3, 1, 1)

    def forward(self, x):
        a = self.d1(x)
        b = self.mid(self.d2(a))
        return self.out(torch.cat([a, self.up(b)], 1))


def dice(p, t, eps=1.0):
    p = p.softmax(1)[:, 1]
    return 1 - (2 * (p * t).sum((1, 2)) + eps) / (p.sum((1, 2)) + t.sum((1, 2)) + eps)


x = torch.rand(4, 3, 8, 8)
y = (x.mean(1) > 0.5).long()
u = UNet()
o = torch.optim.ASGD(u.parameters(), 0.05)
print(u)
for s in range(3):
    o.zero_grad()
    out = u(x)
    l = F.cross_entropy(out, y, weight=torch.tensor([0.4, 0.6])) + dice(out, y).mean()
    l.backward()
    o.step()
    print(f"{l:.5f} iou {((out.argmax(1) & y).sum() / (out.argmax(1) | y).sum()):.4f}")


class Blk(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.n1, self.n2 = nn.RMSNorm(d), nn.LayerNorm(d, bias=False)
        self.qkv = nn.Linear(d, 3 * d)
        self.h = h
        self.mlp = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.AlphaDropout(0.05), nn.Linear(2 * d, d))
        self.g = nn.Parameter(1e-2 * torch.ones(d))

    def forward(self, x):
        B, N, D_ = x.shape
        q, k, v = self.qkv(self.n1(x)).reshape(B, N, 3, self.h, -1).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.g * F.scaled_dot_product_attention(q, k, v, dropout_p=0.0).transpose(1, 2).reshape(B, N, D_)
        return x + self.mlp(self.n2(x))


vit = nn.Sequential(Patch(2, 3, 16), *[Blk(16, 4) for _ in range(2)], nn.LayerNorm(16))
head = nn.Linear(16, 3)
decay = [p for n, p in vit.named_parameters() if p.ndim > 1]
nod = [p for n, p in vit.named_parameters() if p.ndim <= 1]
o = torch.optim.AdamW(
    [{"params": decay, "weight_decay": 0.05}, {"params": [*nod, *head.parameters()], "weight_decay": 0.0}], 1e-3
)
ema = torch.optim.swa_utils.AveragedModel(vit, avg_fn=lambda a, m, n: 0.9 * a + 0.1 * m)
lab = torch.tensor([0, 1, 2, 1])


def mixup(x, y, a=0.4):
    lam = torch.distributions.Beta(a, a).sample()
    i = torch.randperm(len(x))
    return lam * x + (1 - lam) * x[i], y, y[i], lam


for s in range(3):
    xm, ya, yb, lam = mixup(x, lab)
    z = head(vit(xm)[:, 0])
    l = lam * F.cross_entropy(z, ya, label_smoothing=0.1) + (1 - lam) * F.cross_entropy(z, yb)
    o.zero_grad()
    l.backward()
    o.step()
    ema.update_parameters(vit)
    print(f"{l:.5f}", lam)
print(ema.n_averaged, ema(x)[0, 0, :4])


# simclr & triplet & arcface
def ntxent(a, b, t=0.5):
    z = F.normalize(torch.cat([a, b]))
    s = z @ z.T / t
    s.fill_diagonal_(-torch.inf)
    n = len(a)
    return F.cross_entropy(s, torch.arange(2 * n).roll(n))


print(ntxent(vit(x)[:, 0], vit(x.flip(3))[:, 0]))
e = vit(x)[:, 0]
d = torch.cdist(e, e)
print(
    F.relu(d[0, 1] - d[0, 2] + 0.5), F.triplet_margin_loss(e[:1], e[1:2], e[2:3]), F.cosine_similarity(e, e.roll(1, 0))
)


def iou(a, b):
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    i = wh.prod(2)
    ar = lambda z: (z[:, 2:] - z[:, :2]).prod(1)
    return i / (ar(a)[:, None] + ar(b) - i)


bx = torch.tensor([[0, 0, 4, 4], [1, 1, 5, 5], [6, 6, 8, 8.0]])
print(iou(bx, bx), torch.linalg.norm(bx, dim=1))
adv = x.clone().requires_grad_()
F.cross_entropy(head(vit(adv)[:, 0]), lab).backward()
print((x + 0.03 * adv.grad.sign()).clamp(0, 1).sub(x).abs().max())
G = lambda f: torch.einsum("bchw,bdhw->bcd", f, f) / f[0].numel()
print(G(x)[0])
tv = (x[..., 1:] - x[..., :-1]).abs().mean() + x.diff(dim=-2).abs().mean()
print(tv)
print(
    F.fold(F.unfold(x, 2, stride=2), 8, 2, stride=2).equal(x),
    F.pixel_unshuffle(x, 2).shape,
    F.grid_sample(
        x,
        F.affine_grid(torch.tensor([[[0.0, -1, 0], [1, 0, 0]]]).repeat(4, 1, 1), x.shape, align_corners=False),
        align_corners=False,
    )
    .sub(torch.rot90(x, 1, (2, 3)))
    .abs()
    .max()
    < 1e-4,
    F.interpolate(x, 5, mode="area").shape,
    F.avg_pool2d(x, 3, 2, 1, count_include_pad=False).sum(),
    F.max_pool2d(x, 2, return_indices=True)[1][0, 0, 0],
)
