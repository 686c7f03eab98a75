"""Distillation, metric learning and its losses, running averages, with argparse, logging and tqdm."""

import torch, torch.nn as nn, torch.nn.functional as F, copy, logging, sys, argparse, os
from tqdm import tqdm, trange

logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stdout)
log = logging.getLogger(__name__)


def get_args():
    p = argparse.ArgumentParser(description="kd", formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    p.add_argument("--T", type=float, default=4.0)
    p.add_argument("--alpha", default=0.7, type=float)
    p.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--opt", choices=["sgd", "adam"], default="sgd")
    return p.parse_args([])


args = get_args()
log.info("args %s", vars(args))
torch.manual_seed(args.seed)
torch.cuda.manual_seed_all(args.seed)
torch.backends.cudnn.deterministic = True
torch.backends.cudnn.benchmark = False
torch.use_deterministic_algorithms(True, warn_only=True)
mk = lambda h: nn.Sequential(nn.Linear(10, h), nn.ReLU(), nn.BatchNorm1d(h), nn.Linear(h, 4))
T, S = mk(32), mk(8)
X, Y = torch.randn(64, 10), torch.randint(4, (64,))


def loss_fn_kd(outputs, labels, teacher_outputs, p):
    return nn.KLDivLoss(reduction="batchmean")(
        F.log_softmax(outputs / p.T, dim=1), F.softmax(teacher_outputs / p.T, dim=1)
    ) * (p.alpha * p.T * p.T) + F.cross_entropy(outputs, labels) * (1.0 - p.alpha)


class AverageMeter(object):
    def __init__(self, name, fmt=":f"):
        self.name, self.fmt = name, fmt
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count

    def __str__(self):
        return ("{name} {val" + self.fmt + "} ({avg" + self.fmt + "})").format(**self.__dict__)


def accuracy(output, target, topk=(1,)):
    with torch.no_grad():
        maxk = max(topk)
        bs = target.size(0)
        _, pred = output.topk(maxk, 1, True, True)
        pred = pred.t()
        correct = pred.eq(target.view(1, -1).expand_as(pred))
        return [correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / bs) for k in topk]


m = AverageMeter("Loss", ":.4e")
to = torch.optim.SGD(T.parameters(), 0.1, momentum=0.9, nesterov=True, dampening=0)
for e in trange(5, file=open(os.devnull, "w")):
    l = F.cross_entropy(T(X), Y)
    to.zero_grad()
    l.backward()
    to.step()
    m.update(l.item(), 64)
log.info(str(m))
T.eval().requires_grad_(False)
so = torch.optim.Adam(S.parameters(), 1e-2)
sch = torch.optim.lr_scheduler.MultiStepLR(so, [2, 4], 0.1)
pbar = tqdm(range(5), file=open(os.devnull, "w"), desc="kd", leave=False)
for e in pbar:
    S.train()
    out = S(X)
    l = loss_fn_kd(out, Y, T(X), args)
    so.zero_grad()
    l.backward()
    so.step()
    sch.step()
    a1, a2 = accuracy(out, Y, (1, 2))
    pbar.set_postfix(loss=l.item())
    log.info("%d %.4f %.2f %.2f %s", e, l.item(), a1.item(), a2.item(), sch.get_last_lr())


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(10, 16), nn.PReLU(), nn.Linear(16, 4))

    def forward(self, a, b):
        return self.f(a), self.f(b)


class ContrastiveLoss(nn.Module):
    def __init__(self, margin=2.0):
        super().__init__()
        self.margin = margin

    def forward(self, o1, o2, label):
        d = F.pairwise_distance(o1, o2, keepdim=True)
        return torch.mean((1 - label) * torch.pow(d, 2) + label * torch.pow(torch.clamp(self.margin - d, min=0.0), 2))


s = Siamese()
o = torch.optim.Adagrad(s.parameters(), 0.05)
lab = (Y[:32] != Y[32:]).float().unsqueeze(1)
for _ in range(3):
    l = ContrastiveLoss()(*s(X[:32], X[32:]), lab)
    o.zero_grad()
    l.backward()
    o.step()
    print(f"{l:.5f}")


def batch_hard(emb, lab, margin=0.3):
    d = torch.cdist(emb, emb)
    same = lab.unsqueeze(0) == lab.unsqueeze(1)
    ap = (d * same.float()).max(1)[0]
    an = (d + same.float() * 1e6).min(1)[0]
    return F.relu(ap - an + margin).mean()


def nt_xent(z, t=0.5):
    z = F.normalize(z, dim=1)
    sim = z @ z.t() / t
    sim.fill_diagonal_(-1e9) if not sim.requires_grad else None
    sim = sim.masked_fill(torch.eye(len(z), dtype=torch.bool), float("-inf"))
    tgt = (torch.arange(len(z)) + len(z) // 2) % len(z)
    return F.cross_entropy(sim, tgt)


e = s.f(X)
print(
    batch_hard(e, Y),
    nt_xent(e),
    nn.TripletMarginLoss(margin=1.0, p=2, swap=True)(e[:20], e[20:40], e[40:60]),
    nn.TripletMarginWithDistanceLoss(distance_function=lambda a, b: 1 - F.cosine_similarity(a, b))(
        e[:20], e[20:40], e[40:60]
    ),
    nn.CosineEmbeddingLoss(margin=0.1)(e[:20], e[20:40], torch.ones(20)),
    nn.MarginRankingLoss(0.5)(e[:9, 0], e[9:18, 0], -torch.ones(9)),
    nn.HingeEmbeddingLoss()(e[:, 0], torch.where(Y > 1, 1, -1)),
    nn.SoftMarginLoss()(e[:, 0], torch.where(Y > 1, 1.0, -1.0)),
    nn.MultiMarginLoss(p=2)(e, Y),
    nn.MultiLabelSoftMarginLoss()(e, F.one_hot(Y, 4).float()),
    nn.MultiLabelMarginLoss()(e[:2], torch.tensor([[0, 2, -1, 1], [3, -1, 0, 0]])),
    nn.PoissonNLLLoss(full=True)(e[:, 0], Y.float()),
    nn.GaussianNLLLoss()(e[:, 0], Y.float(), e[:, 1].exp()),
    nn.HuberLoss(delta=0.3)(e[:, 0], Y.float()),
    nn.SmoothL1Loss(beta=0.5, reduction="sum")(e[:, 0], Y.float()),
    nn.NLLLoss(ignore_index=2, weight=torch.rand(4))(e.log_softmax(1), Y),
    nn.CrossEntropyLoss(reduction="none", ignore_index=1)(e, Y)[:5],
    nn.BCEWithLogitsLoss(pos_weight=torch.full((4,), 2.0))(e, F.one_hot(Y, 4).float()),
    sep="\n",
)


class ArcFace(nn.Module):
    def __init__(self, s=8.0, m=0.3):
        super().__init__()
        self.w = nn.Parameter(torch.FloatTensor(4, 4))
        nn.init.xavier_normal_(self.w)
        self.s, self.m = s, m

    def forward(self, x, y):
        c = F.linear(F.normalize(x), F.normalize(self.w)).clamp(-1 + 1e-7, 1 - 1e-7)
        t = torch.acos(c)
        oh = torch.zeros_like(c)
        oh.scatter_(1, y.view(-1, 1).long(), 1)
        return F.cross_entropy(self.s * torch.where(oh.bool(), torch.cos(t + self.m), c), y)


class Focal(nn.Module):
    def __init__(self, gamma=2, alpha=None):
        super().__init__()
        self.gamma, self.alpha = gamma, alpha

    def forward(self, i, t):
        lp = F.log_softmax(i, -1).gather(1, t.view(-1, 1)).view(-1)
        pt = lp.data.exp()
        return -((1 - pt) ** self.gamma * lp).mean()


class CenterLoss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, f, c, y):
        ctx.save_for_backward(f, c, y)
        return ((f - c[y]) ** 2).sum() / 2 / len(y)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, g):
        f, c, y = ctx.saved_tensors
        d = f - c[y]
        n = torch.zeros(len(c)).index_add_(0, y, torch.ones(len(y))) + 1
        return g * d / len(y), -torch.zeros_like(c).index_add_(0, y, d) / n[:, None], None


c = nn.Parameter(torch.zeros(4, 4))
a = ArcFace()
l = a(e, Y) + Focal()(e, Y) + CenterLoss.apply(e, c, Y)
l.backward()
print(l, c.grad.norm(), a.w.grad.sum(), s.f[1].weight.grad)
ema = copy.deepcopy(S)
dec = 0.9
with torch.no_grad():
    for p, q in zip(ema.parameters(), S.parameters()):
        p.mul_(dec).add_(q + 1, alpha=1 - dec)
    for b, q in zip(ema.buffers(), S.buffers()):
        b.copy_(q)
swa = torch.optim.swa_utils.AveragedModel(S)
so2 = torch.optim.swa_utils.SWALR(so, swa_lr=0.05, anneal_epochs=2)
swa.update_parameters(S)
so2.step()
torch.optim.swa_utils.update_bn(torch.utils.data.DataLoader(X, 16), swa)
print(ema[0].weight.sum(), swa.module[2].running_mean[:3], so.param_groups[0]["lr"], swa.n_averaged)
