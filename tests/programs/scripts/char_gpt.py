"""A transformer over characters: attention by hand and by one call, training, generation by sampling."""

from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.nn import functional as F

TEXT = "the cat sat on the mat and the rat sat on the cat and the mat sat on the rat. " * 3


@dataclass
class Config:
    block: int = 16
    layers: int = 2
    heads: int = 2
    width: int = 24
    dropout: float = 0.1


class Attention(nn.Module):
    def __init__(self, c, by_hand):
        super().__init__()
        self.c, self.by_hand = c, by_hand
        self.qkv, self.proj = nn.Linear(c.width, 3 * c.width, bias=False), nn.Linear(c.width, c.width)
        self.register_buffer("mask", torch.tril(torch.ones(c.block, c.block)).view(1, 1, c.block, c.block))

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (t.view(B, T, self.c.heads, -1).transpose(1, 2) for t in self.qkv(x).split(C, dim=2))
        if self.by_hand:
            weights = (q @ k.transpose(-2, -1)) * k.size(-1) ** -0.5
            weights = weights.masked_fill(self.mask[:, :, :T, :T] == 0, float("-inf")).softmax(-1)
            y = weights @ v
        else:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).contiguous().view(B, T, C))


class Block(nn.Module):
    def __init__(self, c, by_hand):
        super().__init__()
        self.ln1, self.attention = nn.LayerNorm(c.width), Attention(c, by_hand)
        self.ln2 = nn.LayerNorm(c.width)
        self.mlp = nn.Sequential(
            nn.Linear(c.width, 4 * c.width), nn.GELU(), nn.Linear(4 * c.width, c.width), nn.Dropout(c.dropout)
        )

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, vocabulary, c):
        super().__init__()
        self.c = c
        self.tokens, self.places = nn.Embedding(vocabulary, c.width), nn.Embedding(c.block, c.width)
        self.blocks = nn.ModuleList([Block(c, by_hand=i % 2 == 0) for i in range(c.layers)])
        self.ln, self.head = nn.LayerNorm(c.width), nn.Linear(c.width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight
        self.apply(self._init)

    def _init(self, module):
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)

    def forward(self, indices, targets=None):
        x = self.tokens(indices) + self.places(torch.arange(indices.size(1), device=indices.device))
        for block in self.blocks:
            x = block(x)
        logits = self.head(self.ln(x))
        loss = None if targets is None else F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1))
        return logits, loss

    @torch.no_grad()
    def generate(self, indices, count, top_k=5):
        for _ in range(count):
            logits = self(indices[:, -self.c.block :])[0][:, -1]
            least = torch.topk(logits, top_k).values[:, [-1]]
            logits[logits < least] = -float("inf")
            indices = torch.cat([indices, torch.multinomial(F.softmax(logits, -1), 1)], 1)
        return indices


torch.manual_seed(1337)
letters = sorted(set(TEXT))
data = torch.tensor([letters.index(each) for each in TEXT], dtype=torch.long)
model = GPT(len(letters), Config())
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, betas=(0.9, 0.95), weight_decay=0.1)
for step in range(40):
    at = torch.randint(len(data) - model.c.block, (8,))
    x = torch.stack([data[i : i + model.c.block] for i in at])
    y = torch.stack([data[i + 1 : i + 1 + model.c.block] for i in at])
    _, loss = model(x, y)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    if step % 10 == 0:
        print(f"iter {step}: loss {loss.item():.4f}")
model.eval()
print("".join(letters[i] for i in model.generate(torch.zeros(1, 1, dtype=torch.long), 40)[0].tolist()))
