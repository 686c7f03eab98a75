"""A denoising diffusion model, with ancestral and DDIM sampling."""

import math
import torch
from torch import nn, einsum
import torch.nn.functional as F
from inspect import isfunction
from collections import namedtuple

ModelPrediction = namedtuple("ModelPrediction", ["pred_noise", "pred_x_start"])


def exists(x):
    return x is not None


def default(val, d):
    if exists(val):
        return val
    return d() if isfunction(d) else d


def extract(a, t, x_shape):
    b, *_ = t.shape
    out = a.gather(-1, t)
    return out.reshape(b, *((1,) * (len(x_shape) - 1)))


class SinusoidalPosEmb(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, x):
        half = self.dim // 2
        emb = math.log(10000) / (half - 1)
        emb = torch.exp(torch.arange(half, device=x.device) * -emb)
        emb = x[:, None] * emb[None, :]
        return torch.cat((emb.sin(), emb.cos()), dim=-1)


class WeightStandardizedConv2d(nn.Conv2d):
    def forward(self, x):
        eps = 1e-5 if x.dtype == torch.float32 else 1e-3
        weight = self.weight
        mean = weight.mean(dim=(1, 2, 3), keepdim=True)
        var = weight.var(dim=(1, 2, 3), unbiased=False, keepdim=True)
        return F.conv2d(
            x, (weight - mean) * (var + eps).rsqrt(), self.bias, self.stride, self.padding, self.dilation, self.groups
        )


class Block(nn.Module):
    def __init__(self, i, o, temb, groups=4):
        super().__init__()
        self.proj = WeightStandardizedConv2d(i, o, 3, padding=1)
        self.norm = nn.GroupNorm(groups, o)
        self.act = nn.SiLU()
        self.mlp = nn.Sequential(nn.SiLU(), nn.Linear(temb, o * 2))

    def forward(self, x, t):
        scale, shift = self.mlp(t)[..., None, None].chunk(2, dim=1)
        return self.act(self.norm(self.proj(x)) * (scale + 1) + shift)


class LinearAttention(nn.Module):
    def __init__(self, dim, heads=2, dh=8):
        super().__init__()
        self.scale = dh**-0.5
        self.heads = heads
        self.to_qkv = nn.Conv2d(dim, heads * dh * 3, 1, bias=False)
        self.to_out = nn.Conv2d(heads * dh, dim, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        q, k, v = (t.reshape(b, self.heads, -1, h * w) for t in self.to_qkv(x).chunk(3, dim=1))
        q = q.softmax(dim=-2) * self.scale
        k = k.softmax(dim=-1)
        ctx = einsum("b h d n, b h e n -> b h d e", k, v / (h * w))
        out = torch.einsum("b h d e, b h d n -> b h e n", ctx, q).reshape(b, -1, h, w)
        return self.to_out(out)


class Unet(nn.Module):
    def __init__(self, d=16):
        super().__init__()
        self.time = nn.Sequential(SinusoidalPosEmb(d), nn.Linear(d, d * 4), nn.GELU(), nn.Linear(d * 4, d * 4))
        self.i = nn.Conv2d(1, d, 7, padding=3)
        self.d1 = Block(d, d, d * 4)
        self.down = nn.PixelUnshuffle(2)
        self.dc = nn.Conv2d(d * 4, d * 2, 1)
        self.a = LinearAttention(d * 2)
        self.m = Block(d * 2, d * 2, d * 4)
        self.up = nn.Sequential(nn.Upsample(scale_factor=2, mode="nearest"), nn.Conv2d(d * 2, d, 3, padding=1))
        self.u1 = Block(d * 2, d, d * 4)
        self.o = nn.Conv2d(d, 1, 1)

    def forward(self, x, t):
        t = self.time(t)
        x = self.i(x)
        h = self.d1(x, t)
        x = self.dc(self.down(h))
        x = self.a(x) + x
        x = self.m(x, t)
        x = self.up(x)
        return self.o(self.u1(torch.cat((x, h), dim=1), t))


def cosine_beta_schedule(timesteps, s=0.008):
    steps = timesteps + 1
    t = torch.linspace(0, timesteps, steps, dtype=torch.float64) / timesteps
    ac = torch.cos((t + s) / (1 + s) * math.pi * 0.5) ** 2
    ac = ac / ac[0]
    return torch.clip(1 - (ac[1:] / ac[:-1]), 0, 0.999)


class Diffusion(nn.Module):
    def __init__(self, model, T=20):
        super().__init__()
        self.model = model
        self.T = T
        betas = cosine_beta_schedule(T)
        alphas = 1.0 - betas
        ac = torch.cumprod(alphas, dim=0)
        acp = F.pad(ac[:-1], (1, 0), value=1.0)
        reg = lambda n, v: self.register_buffer(n, v.to(torch.float32))
        reg("ac", ac)
        reg("acp", acp)
        reg("sq", ac.sqrt())
        reg("sq1", torch.sqrt(1 - ac))
        reg("rec", torch.sqrt(1.0 / ac))
        reg("rec1", torch.sqrt(1.0 / ac - 1))
        pv = betas * (1.0 - acp) / (1.0 - ac)
        reg("plv", torch.log(pv.clamp(min=1e-20)))
        reg("c1", betas * torch.sqrt(acp) / (1.0 - ac))
        reg("c2", (1.0 - acp) * torch.sqrt(alphas) / (1.0 - ac))
        snr = ac / (1 - ac)
        clipped = snr.clone()
        clipped.clamp_(max=5)
        reg("lw", clipped / snr)

    def q_sample(self, x, t, noise=None):
        noise = default(noise, lambda: torch.randn_like(x))
        return extract(self.sq, t, x.shape) * x + extract(self.sq1, t, x.shape) * noise

    def forward(self, x):
        t = torch.randint(0, self.T, (x.shape[0],), device=x.device).long()
        noise = torch.randn_like(x)
        out = self.model(self.q_sample(x, t, noise), t)
        loss = F.mse_loss(out, noise, reduction="none").flatten(1).mean(1)
        return (loss * extract(self.lw, t, loss.shape)).mean()

    def pred(self, x, t):
        e = self.model(x, t)
        x0 = extract(self.rec, t, x.shape) * x - extract(self.rec1, t, x.shape) * e
        return ModelPrediction(e, x0.clamp_(-1.0, 1.0))

    @torch.inference_mode()
    def sample(self, shape):
        img = torch.randn(shape)
        for t in reversed(range(self.T)):
            bt = torch.full((shape[0],), t, dtype=torch.long)
            _, x0 = self.pred(img, bt)
            mean = extract(self.c1, bt, x0.shape) * x0 + extract(self.c2, bt, x0.shape) * img
            noise = torch.randn_like(img) if t > 0 else 0.0
            img = mean + (0.5 * extract(self.plv, bt, x0.shape)).exp() * noise
        return img

    @torch.no_grad()
    def ddim(self, shape, steps=5, eta=0.5):
        times = list(reversed(torch.linspace(-1, self.T - 1, steps=steps + 1).int().tolist()))
        img = torch.randn(shape)
        for a, b in list(zip(times[:-1], times[1:])):
            c = torch.full((shape[0],), a, dtype=torch.long)
            e, x0 = self.pred(img, c)
            if b < 0:
                img = x0
                continue
            al, an = self.ac[a], self.ac[b]
            sigma = eta * ((1 - al / an) * (1 - an) / (1 - al)).sqrt()
            cc = (1 - an - sigma**2).sqrt()
            img = x0 * an.sqrt() + cc * e + sigma * torch.randn_like(img)
        return img


torch.manual_seed(0)
d = Diffusion(Unet())
opt = torch.optim.Adam(d.parameters(), lr=1e-3, betas=(0.9, 0.99))
ema = torch.optim.swa_utils.AveragedModel(
    d, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.95), use_buffers=True
)
x = torch.rand(4, 1, 8, 8) * 2 - 1
for i in range(6):
    loss = d(x)
    opt.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(d.parameters(), 1.0)
    opt.step()
    ema.update_parameters(d)
    print(f"{i} {loss.item():.5f}")
s = d.sample((2, 1, 8, 8))
print(s.is_inference(), s.mean(), s.std())
print(ema.module.ddim((2, 1, 8, 8)).flatten()[:5], ema.n_averaged)
