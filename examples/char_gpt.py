"""Trains a small GPT to predict the characters of the Zen of Python, and lets it generate text.

    python -m torchlike examples/char_gpt.py
    python examples/char_gpt.py                    with PyTorch itself

Exits with an error unless it predicts 90 % of the characters from those before them.
"""

import codecs
import contextlib
import io
import sys

import torch
from torch import nn

TARGET = 0.9
CONTEXT, WIDTH, HEADS, LAYERS = 48, 64, 4, 2

with contextlib.redirect_stdout(io.StringIO()):
    import this  # prints itself

TEXT = codecs.decode(this.s, "rot13")
CHARACTERS = sorted(set(TEXT))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH))

    def forward(self, x):
        N, T, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(N, T, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
        attended = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)  # (N, heads, T, head width)
        x = x + self.out(attended.transpose(1, 2).reshape(N, T, WIDTH))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(len(CHARACTERS), WIDTH)
        self.positions = nn.Embedding(CONTEXT, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, len(CHARACTERS), bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))  # (N, T, characters)

    @torch.no_grad()
    def recite(self, tokens, count):
        for _ in range(count):
            following = self(tokens[:, -CONTEXT:])[:, -1].argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, following], dim=1)
        return tokens


def main():
    torch.manual_seed(0)
    data = torch.tensor([CHARACTERS.index(each) for each in TEXT])
    model = GPT()
    optimizer = torch.optim.AdamW(model.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=301)
    for step in range(301):
        starts = torch.randint(len(data) - CONTEXT, (32, 1))
        window = data[starts + torch.arange(CONTEXT + 1)]  # (32, 49)
        logits = model(window[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        if step % 100 == 0:
            print(f"step {step}: loss {loss.item():.4f}")

    with torch.no_grad():  # predict each character of the text from the CONTEXT characters before it
        windows = data.unfold(0, CONTEXT + 1, 1)
        right = (model(windows[:, :-1])[:, -1].argmax(-1) == windows[:, -1]).float().mean().item()
    prompt = data[None, :CONTEXT]
    print("".join(CHARACTERS[each] for each in model.recite(prompt, 100)[0].tolist()))
    print(f"{100 * right:.1f}% of the characters are right")
    if right < TARGET:
        sys.exit(f"Expected {100 * TARGET:.0f}%.")


if __name__ == "__main__":
    main()
