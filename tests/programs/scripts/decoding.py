"""A small Llama with a key-value cache: sampling, beam search, penalties."""

import torch, torch.nn as nn, torch.nn.functional as F, heapq
from dataclasses import dataclass


@dataclass
class Config:
    vocab: int = 20
    dim: int = 16
    heads: int = 4
    kv_heads: int = 2
    layers: int = 2
    max_len: int = 32
    theta: float = 10000.0
    eps: float = 1e-6


def precompute_freqs_cis(dim, end, theta=10000.0):
    freqs = 1.0 / (theta ** (torch.arange(0, dim, 2)[: (dim // 2)].float() / dim))
    t = torch.arange(end, device=freqs.device)
    return torch.polar(torch.ones_like(torch.outer(t, freqs)), torch.outer(t, freqs))


def apply_rotary(xq, xk, fc):
    q = torch.view_as_complex(xq.float().reshape(*xq.shape[:-1], -1, 2))
    k = torch.view_as_complex(xk.float().reshape(*xk.shape[:-1], -1, 2))
    fc = fc.view(1, q.shape[1], 1, q.shape[-1])
    return torch.view_as_real(q * fc).flatten(3).type_as(xq), torch.view_as_real(k * fc).flatten(3).type_as(xk)


class RMSNorm(nn.Module):
    def __init__(self, d, eps):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(d))

    def forward(self, x):
        return (x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + self.eps)).type_as(x) * self.weight


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.hd = c.dim // c.heads
        self.wq = nn.Linear(c.dim, c.dim, bias=False)
        self.wk = nn.Linear(c.dim, c.kv_heads * self.hd, bias=False)
        self.wv = nn.Linear(c.dim, c.kv_heads * self.hd, bias=False)
        self.wo = nn.Linear(c.dim, c.dim, bias=False)
        self.cache_k = torch.zeros(8, c.max_len, c.kv_heads, self.hd)
        self.cache_v = torch.zeros_like(self.cache_k)

    def forward(self, x, pos, fc, mask):
        b, s, _ = x.shape
        q, k, v = (
            self.wq(x).view(b, s, -1, self.hd),
            self.wk(x).view(b, s, -1, self.hd),
            self.wv(x).view(b, s, -1, self.hd),
        )
        q, k = apply_rotary(q, k, fc)
        self.cache_k[:b, pos : pos + s] = k
        self.cache_v[:b, pos : pos + s] = v
        k, v = self.cache_k[:b, : pos + s], self.cache_v[:b, : pos + s]
        k, v = (
            t[:, :, :, None, :]
            .expand(b, pos + s, self.c.kv_heads, 2, self.hd)
            .reshape(b, pos + s, -1, self.hd)
            .transpose(1, 2)
            for t in (k, v)
        )
        return self.wo(
            F.scaled_dot_product_attention(q.transpose(1, 2), k, v, attn_mask=mask)
            .transpose(1, 2)
            .contiguous()
            .view(b, s, -1)
        )


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = Attention(c)
        self.n1, self.n2 = RMSNorm(c.dim, c.eps), RMSNorm(c.dim, c.eps)
        self.w1, self.w2, self.w3 = (
            nn.Linear(c.dim, 32, bias=False),
            nn.Linear(32, c.dim, bias=False),
            nn.Linear(c.dim, 32, bias=False),
        )

    def forward(self, x, *a):
        x = x + self.a(self.n1(x), *a)
        h = self.n2(x)
        return x + self.w2(F.silu(self.w1(h)) * self.w3(h))


class Llama(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.emb = nn.Embedding(c.vocab, c.dim)
        self.layers = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = RMSNorm(c.dim, c.eps)
        self.out = nn.Linear(c.dim, c.vocab, bias=False)
        self.out.weight = self.emb.weight
        self.fc = precompute_freqs_cis(c.dim // c.heads, c.max_len * 2)

    @torch.inference_mode()
    def forward(self, t, pos=0):
        s = t.shape[1]
        h = self.emb(t)
        mask = None
        if s > 1:
            mask = torch.full((s, s), float("-inf"))
            mask = torch.triu(mask, diagonal=1)
            mask = torch.hstack([torch.zeros((s, pos)), mask]).type_as(h)
        for l in self.layers:
            h = l(h, pos, self.fc[pos : pos + s], mask)
        return self.out(self.norm(h)).float()


def sample_top_p(probs, p):
    ps, pi = torch.sort(probs, dim=-1, descending=True)
    cs = torch.cumsum(ps, dim=-1)
    ps[cs - ps > p] = 0.0
    ps.div_(ps.sum(dim=-1, keepdim=True))
    return torch.gather(pi, -1, torch.multinomial(ps, num_samples=1))


torch.manual_seed(0)
m = Llama(Config()).eval()
prompt = torch.randint(0, 20, (2, 5))
toks = torch.full((2, 16), -1, dtype=torch.long)
toks[:, :5] = prompt
prev = 0
for cur in range(5, 16):
    lg = m(toks[:, prev:cur], prev)[:, -1].clone()
    v, _ = torch.topk(lg, 10)
    lg[lg < v[:, [-1]]] = -float("Inf")
    nt = sample_top_p(torch.softmax(lg / 0.8, dim=-1), 0.9).reshape(-1)
    toks[:, cur] = nt
    prev = cur
print(toks, sum(p.numel() for p in m.parameters()), len(list(m.state_dict())))
full = m(toks[:, :15])
print(full.shape, torch.allclose(full[:, -1], m(toks[:, 14:15], 14)[:, -1], atol=1e-5))


def beam(m, prompt, k=3, n=6, alpha=0.7):
    seqs = prompt.repeat(k, 1)
    scores = torch.tensor([0.0] + [-1e9] * (k - 1))
    for i in range(n):
        lp = m(seqs)[:, -1].log_softmax(-1)
        cand = (scores[:, None] + lp).view(-1)
        scores, idx = cand.topk(k)
        seqs = torch.cat([seqs[torch.div(idx, 20, rounding_mode="trunc")], (idx % 20)[:, None]], 1)
        print(i, scores, seqs[:, -1].tolist())
    return seqs, scores / ((5 + seqs.size(1)) / 6) ** alpha


print(beam(m, prompt[:1]))
h = []
for i, l in enumerate(m(prompt)[0, -1].topk(4).values):
    heapq.heappush(h, (-l.item(), i))
print([i for _, i in sorted(h)])
gumbel = F.gumbel_softmax(m(prompt)[:, -1].clone(), tau=0.5, hard=True)
print(gumbel.argmax(-1), gumbel.sum())
pen = m(prompt)[:, -1].clone()
sc = torch.gather(pen, 1, prompt)
sc = torch.where(sc < 0, sc * 1.2, sc / 1.2)
pen.scatter_(1, prompt, sc)
print(pen.sum())
