"""Fourier transforms, windows, mel features, complex numbers, an ODE with adjoint, capsules, special functions."""

import torch, math
from torch import nn

torch.manual_seed(0)
fs = 200
t = torch.arange(0, 1, 1 / fs)
x = torch.sin(2 * math.pi * 20 * t) + 0.5 * torch.cos(2 * math.pi * 45 * t) + 0.1 * torch.randn(fs)
X = torch.fft.rfft(x)
f = torch.fft.rfftfreq(fs, 1 / fs)
print(
    f[X.abs().topk(2).indices],
    torch.fft.irfft(X, n=fs).sub(x).abs().max() < 1e-5,
    torch.fft.fftshift(torch.arange(5)),
    torch.fft.ifftshift(torch.arange(5)),
    torch.fft.fftfreq(4, d=0.5),
)
X[f > 30] = 0
y = torch.fft.irfft(X, n=fs)
print(
    y[:4],
    torch.fft.fft2(torch.eye(4)).abs(),
    torch.fft.fftn(torch.ones(2, 2, 2))[0, 0],
    torch.fft.ihfft(torch.ones(4)).real,
    torch.fft.rfft2(torch.eye(4)).shape,
    torch.fft.fft(torch.ones(4), norm="ortho").real,
    torch.fft.ifft(torch.tensor([1 + 1j, 2])),
)
S = torch.stft(
    x,
    n_fft=32,
    hop_length=8,
    win_length=24,
    window=torch.hann_window(24),
    center=True,
    pad_mode="reflect",
    normalized=False,
    onesided=True,
    return_complex=True,
)
print(S.shape, S.dtype, S.abs().mean(), torch.view_as_real(S).shape, S.angle()[1, 1])
r = torch.istft(S, 32, 8, 24, torch.hann_window(24), length=fs)
print((r - x)[8:-8].abs().max() < 1e-4)
P = S.abs() ** 2
db = 10 * torch.log10(P.clamp(min=1e-10))
db = torch.maximum(db, db.max() - 80)
print(db.mean())


def mel(n, sr, nm):
    m = torch.linspace(0, 2595 * math.log10(1 + sr / 2 / 700), nm + 2)
    hz = 700 * (10 ** (m / 2595) - 1)
    fr = torch.linspace(0, sr / 2, n)
    sl = hz.unsqueeze(0) - fr.unsqueeze(1)
    d = hz[1:] - hz[:-1]
    return torch.max(torch.zeros(1), torch.min(-sl[:, :-2] / d[:-1], sl[:, 2:] / d[1:]))


fb = mel(17, fs, 6)
print((P.T @ fb).T.shape, fb.sum(0))
dct = torch.cos(math.pi / 6 * (torch.arange(6.0) + 0.5) * torch.arange(4.0).unsqueeze(1))
print((dct @ torch.log(fb.T @ P + 1e-6)).mean(1))
for w in ("hann", "hamming", "blackman", "bartlett", "kaiser"):
    print(w, getattr(torch, w + "_window")(7, periodic=False))
from torch.signal.windows import gaussian, cosine, exponential, nuttall, general_hamming

print(gaussian(5, std=1.0), cosine(4), exponential(4, tau=2.0), nuttall(4), general_hamming(4, alpha=0.6))
k = torch.tensor([1.0, 2, 1]) / 4
c = torch.nn.functional.conv1d(x.view(1, 1, -1), k.view(1, 1, -1), padding="same").flatten()
n = len(x) + 2
print(
    c[:3],
    torch.fft.irfft(torch.fft.rfft(x, n) * torch.fft.rfft(k, n), n)[1:4],
    torch.cumsum(x, 0)[-1],
    torch.diff(x)[:2],
    torch.roll(x, 3)[:2],
    x.unfold(0, 50, 25).mean(1),
    torch.quantile(x, torch.tensor([0.1, 0.5, 0.9])),
    torch.histc(x, 5, -1.5, 1.5),
    torch.histogram(x, bins=4, range=(-2.0, 2.0)).hist,
    torch.nanmean(torch.where(x > 0, x, torch.nan)),
    torch.median(x),
    torch.kthvalue(x, 10).values,
    torch.corrcoef(torch.stack([x, y])),
    torch.std_mean(x),
    torch.var(x, correction=0),
    torch.logcumsumexp(x, 0)[-1],
    torch.cummax(x, 0).values[-1],
    torch.argsort(x, descending=True)[:3],
    x.msort()[:2],
    sep="\n",
)
z = torch.complex(torch.randn(3), torch.randn(3))
print(
    z,
    z.conj(),
    z.abs(),
    z.angle(),
    z.real,
    z.imag,
    torch.polar(torch.ones(2), torch.tensor([0.0, math.pi / 2])),
    z * 1j,
    z @ z,
    torch.vdot(z, z),
    z.exp(),
    torch.view_as_real(z).shape,
    torch.is_complex(z),
    z.to(torch.complex128).dtype,
    torch.linalg.norm(z),
    z.sgn(),
    torch.isreal(z),
    z.pow(2),
    z.mean(),
    z.cumprod(0),
    z.numpy().dtype,
)
zp = z.clone().requires_grad_()
(zp.abs() ** 2).sum().backward()
print(torch.allclose(zp.grad, 2 * z))


def rk4(f, y, ts):
    out = [y]
    for a, b in zip(ts[:-1], ts[1:]):
        h = b - a
        k1 = f(a, y)
        k2 = f(a + h / 2, y + h / 2 * k1)
        k3 = f(a + h / 2, y + h / 2 * k2)
        k4 = f(b, y + h * k3)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        out.append(y)
    return torch.stack(out)


A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0, 2, 21)
true = rk4(lambda t, y: y**3 @ A, torch.tensor([[2.0, 0.0]]), ts)


class ODE(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t, y):
        return self.net(y**3)


class Adjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y0, ts, f, *ps):
        with torch.no_grad():
            ys = rk4(f, y0, ts)
        ctx.f = f
        ctx.save_for_backward(ts, ys, *ps)
        return ys

    @staticmethod
    def backward(ctx, g):
        ts, ys, *ps = ctx.saved_tensors
        a = torch.zeros_like(ys[0])
        gp = [torch.zeros_like(p) for p in ps]
        for i in range(len(ts) - 1, 0, -1):
            a = a + g[i]
            with torch.enable_grad():
                y = ys[i - 1].detach().requires_grad_()
                o = rk4(ctx.f, y, ts[i - 1 : i + 1])[-1]
            r = torch.autograd.grad(o, (y, *ps), a, allow_unused=True)
            a = r[0]
            gp = [p + (q if q is not None else 0) for p, q in zip(gp, r[1:])]
        return (a + g[0], None, None, *gp)


ode = ODE()
o = torch.optim.RMSprop(ode.parameters(), 1e-3)
for i in range(3):
    pred = Adjoint.apply(true[0], ts, ode, *ode.parameters())
    l = (pred - true).abs().mean()
    o.zero_grad()
    l.backward()
    g = ode.net[0].weight.grad.clone()
    o.zero_grad()
    (rk4(ode, true[0], ts) - true).abs().mean().backward()
    print(f"{l.item():.5f}", torch.allclose(g, ode.net[0].weight.grad, atol=1e-5))
    o.step()
torch.manual_seed(1)
caps = torch.randn(2, 6, 4)
Wc = torch.randn(3, 6, 5, 4) * 0.1
u = torch.einsum("jiok,bik->bijo", Wc, caps)
b = torch.zeros(2, 6, 3)


def squash(s, dim=-1):
    n = (s**2).sum(dim, keepdim=True)
    return n / (1 + n) * s / torch.sqrt(n + 1e-8)


for _ in range(3):
    cc = b.softmax(-1)
    v = squash((cc.unsqueeze(-1) * u).sum(1))
    b = b + (u * v.unsqueeze(1)).sum(-1)
print(v.norm(dim=-1))
lam = 0.5
T = F_ = nn.functional.one_hot(torch.tensor([0, 2]), 3).float()
print((T * (0.9 - v.norm(dim=-1)).relu() ** 2 + lam * (1 - T) * (v.norm(dim=-1) - 0.1).relu() ** 2).sum(1).mean())
for n in (
    "erf",
    "erfinv",
    "digamma",
    "i0",
    "sinc",
    "logit",
    "expit",
    "xlog1py",
    "zeta",
    "polygamma",
    "bessel_j0",
    "entr",
    "ndtri",
    "log_ndtr",
    "multigammaln",
    "gammainc",
    "spherical_bessel_j0",
    "erfcx",
):
    fn = getattr(torch.special, n)
    v = torch.tensor([0.2, 0.7])
    print(
        n,
        fn(v, 3.0)
        if n in ("zeta", "xlog1py")
        else fn(1, v)
        if n == "polygamma"
        else fn(v + 3, 2)
        if n == "multigammaln"
        else fn(v, v + 1)
        if n == "gammainc"
        else fn(v),
    )
