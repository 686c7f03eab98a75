"""Forecasts of quantiles by a recurrent network with early stopping, dilated convolutions, schedules, and reshaping of tensors."""

import json, math, random
from collections import defaultdict
import numpy as np, torch, torch.nn as nn, torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader, Subset
from torch.optim.lr_scheduler import ReduceLROnPlateau, CyclicLR, PolynomialLR, ChainedScheduler, MultiStepLR


def seed_everything(s):
    random.seed(s)
    np.random.seed(s)
    torch.manual_seed(s)
    torch.cuda.manual_seed(s)
    torch.cuda.manual_seed_all(s)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


seed_everything(42)
device = torch.device("cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu")
print("Using device:", device)


class Windows(Dataset):
    def __init__(self, data, lookback, horizon, transform=None):
        self.data = torch.as_tensor(data, dtype=torch.float32)
        self.l, self.h, self.t = lookback, horizon, transform

    def __len__(self):
        return len(self.data) - self.l - self.h + 1

    def __getitem__(self, i):
        x = self.data[i : i + self.l].unsqueeze(-1)
        y = self.data[i + self.l : i + self.l + self.h]
        return (self.t(x) if self.t else x), y


t = np.arange(200)
series = np.sin(t / 8) + 0.3 * np.cos(t / 3) + 0.05 * np.random.randn(200)
ds = Windows(series, 24, 4)
n = int(0.8 * len(ds))
tr, va = Subset(ds, range(n)), Subset(ds, range(n, len(ds)))


class GRUForecast(nn.Module):
    def __init__(self, hidden=16, q=(0.1, 0.5, 0.9), horizon=4):
        super().__init__()
        self.gru = nn.GRU(1, hidden, 2, batch_first=True, dropout=0.2)
        self.attn = nn.Linear(hidden, 1)
        self.head = nn.Sequential(
            nn.LayerNorm(hidden), nn.Linear(hidden, horizon * len(q)), nn.Unflatten(1, (horizon, len(q)))
        )
        self.register_buffer("q", torch.tensor(q))

    def forward(self, x):
        o, h = self.gru(x)
        w = self.attn(torch.tanh(o)).softmax(dim=1)
        return self.head((o * w).sum(1) + h[-1])

    def loss(self, p, y):
        e = y.unsqueeze(-1) - p
        return torch.max(self.q * e, (self.q - 1) * e).sum(-1).mean()


m = GRUForecast().to(device)
opt = torch.optim.AdamW(m.parameters(), 5e-3)
sch = ReduceLROnPlateau(opt, factor=0.5, patience=0, threshold=0.5)


class EarlyStopping:
    def __init__(self, patience=2):
        self.p, self.best, self.c, self.state = patience, math.inf, 0, None

    def __call__(self, v, m):
        if v < self.best - 1e-3:
            self.best, self.c, self.state = v, 0, {k: t.detach().clone() for k, t in m.state_dict().items()}
        else:
            self.c += 1
        return self.c >= self.p


es = EarlyStopping()
hist = defaultdict(list)
g = torch.Generator()
g.manual_seed(0)
for ep in range(4):
    m.train()
    for x, y in DataLoader(tr, 32, shuffle=True, generator=g, worker_init_fn=lambda i: np.random.seed(i)):
        x, y = x.to(device, non_blocking=True), y.to(device)
        opt.zero_grad()
        l = m.loss(m(x), y)
        l.backward()
        nn.utils.clip_grad_norm_(m.parameters(), 1.0)
        opt.step()
        hist["train"].append(l.item())
    m.eval()
    with torch.no_grad():
        vl = torch.stack([m.loss(m(x), y) for x, y in DataLoader(va, 16)]).mean().item()
    sch.step(vl)
    hist["val"].append(vl)
    print(
        f"Epoch {ep + 1:02d} | train {np.mean(hist['train'][-5:]):.4f} | val {vl:.4f} | lr {opt.param_groups[0]['lr']:.2e}"
    )
    if es(vl, m):
        break
m.load_state_dict(es.state)
p = m(next(iter(DataLoader(va, 5)))[0])
print(p.shape, p[0], json.dumps({k: round(float(np.mean(v)), 3) for k, v in hist.items()}))


class TCN(nn.Module):
    def __init__(self, c=(1, 8, 8), k=3):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.utils.parametrizations.weight_norm(nn.Conv1d(a, b, k, dilation=2**i))
            for i, (a, b) in enumerate(zip(c, c[1:]))
        )
        self.k = k

    def forward(self, x):
        for i, l in enumerate(self.layers):
            x = F.dropout1d(F.relu(l(F.pad(x, ((self.k - 1) * 2**i, 0)))), 0.1, self.training)
        return x


print(TCN()(torch.randn(2, 1, 10)).shape, TCN())
o2 = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0, momentum=0.9)
for s in (
    CyclicLR(o2, 0.1, 1.0, step_size_up=2, mode="triangular2", cycle_momentum=True),
    PolynomialLR(o2, 5, 2.0),
    ChainedScheduler([MultiStepLR(o2, [1, 3], 0.1), torch.optim.lr_scheduler.ConstantLR(o2, 0.5, 2)]),
):
    r = []
    for _ in range(4):
        o2.step()
        s.step()
        r.append(round(o2.param_groups[0]["lr"], 6))
    print(type(s).__name__, r)
# einops-like, views, padding, masks
x = torch.arange(24.0).view(2, 3, 4)
print(
    torch.einsum("bij,bkj->bik", x, x)[0],
    torch.einsum("...i,i->...", x, torch.ones(4)),
    x.unflatten(2, (2, 2)).permute(0, 2, 1, 3).flatten(2)[0],
    x.movedim(0, -1).shape,
    x.tile(1, 2, 1).shape,
    x.roll(1, 2)[0, 0],
    x.narrow(1, 0, 2).sum(),
    x.masked_fill(x > 20, -1).amin(),
    torch.where(x % 2 == 0)[0].shape,
    x.take_along_dim(x.argmax(-1, keepdim=True), -1).squeeze(),
    x.diagonal(dim1=1, dim2=2),
    torch.tensor_split(x, [1, 3], dim=2)[1].shape,
    x.index_select(1, torch.tensor([2, 0])).shape,
    x.clamp_(3, 5).unique(),
    x.logsumexp((1, 2)),
    x.cumsum(1)[1, 2],
    x.std(dim=0, correction=0).sum(),
    x.nanmedian(),
    torch.stack(torch.unbind(x, 1)).shape,
    x.expand(3, *x.shape).stride(),
    torch.block_diag(torch.ones(2), torch.eye(2)),
    sep="\n",
)
np_x = x.numpy()
np_x[0, 0, 0] = 99
print(
    x[0, 0, 0],
    torch.from_numpy(np.array([1, 2], dtype=np.int16)).dtype,
    np.asarray(x).shape,
    torch.tensor(np.float64(2.5)),
    np.mean(x.numpy()),
    x.__array__().dtype,
    torch.utils.data.default_convert([np.ones(2), 3]),
    torch.tensor([np.int32(3), 2]),
)
