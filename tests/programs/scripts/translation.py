"""Sequence to sequence: a GRU encoder, attention, and a decoder with teacher forcing that then runs on its own output."""

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, IterableDataset

torch.manual_seed(0)
WORDS, START, PAD = 12, 10, 11


class Reversals(IterableDataset):
    def __init__(self, count):
        self.count = count

    def __iter__(self):
        generator = torch.Generator().manual_seed(7)
        for _ in range(self.count):
            length = int(torch.randint(3, 7, (1,), generator=generator))
            yield torch.randint(10, (length,), generator=generator)


def together(batch):
    longest = max(len(each) for each in batch)
    source = torch.full((len(batch), longest), PAD, dtype=torch.long)
    target = source.clone()
    for row, each in enumerate(batch):
        source[row, : len(each)] = each
        target[row, : len(each)] = each.flip(0)
    return source, target


class Translator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.reader = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.bridge = nn.Linear(2 * width, width)
        self.cell = nn.GRUCell(width, width)
        self.look = nn.MultiheadAttention(width, 2, batch_first=True)
        self.say = nn.Linear(2 * width, WORDS)
        for name, parameter in self.named_parameters():
            if parameter.dim() > 1 and "embed" not in name:
                nn.init.orthogonal_(parameter)

    def read(self, source):
        states, last = self.reader(self.embed(source))
        return self.bridge(states), torch.tanh(self.bridge(torch.cat([last[0], last[1]], -1)))

    def step(self, word, state, states, mask):
        state = self.cell(self.embed(word), state)
        seen, weights = self.look(state.unsqueeze(1), states, states, key_padding_mask=mask)
        return F.log_softmax(self.say(torch.cat([state, seen.squeeze(1)], -1)), -1), state, weights

    def forward(self, source, target):
        states, state = self.read(source)
        mask = source.eq(PAD)
        word = torch.full_like(target[:, 0], START)
        logs = []
        for column in target.unbind(1):
            log, state, _ = self.step(word, state, states, mask)
            logs.append(log)
            word = column
        return torch.stack(logs, 1)

    @torch.no_grad()
    def alone(self, source, count):
        states, state = self.read(source)
        word, said, certainty = torch.full((len(source),), START), [], torch.zeros(len(source))
        for _ in range(count):
            log, state, weights = self.step(word, state, states, source.eq(PAD))
            certainty += log.max(-1).values
            word = log.argmax(-1)
            said.append(word)
        return torch.stack(said, 1), certainty, weights


model = Translator()
print(sum(p.numel() for p in model.parameters()), [name for name, _ in model.named_children()])
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
loader = DataLoader(Reversals(256), batch_size=32, collate_fn=together)
for epoch in range(6):
    total = count = 0
    for source, target in loader:
        logs = model(source, target)
        loss = F.nll_loss(logs.reshape(-1, WORDS), target.reshape(-1), ignore_index=PAD, reduction="sum")
        words = target.ne(PAD).sum()
        optimizer.zero_grad()
        (loss / words).backward()
        norm = nn.utils.clip_grad_value_(model.parameters(), 0.5)
        optimizer.step()
        total, count = total + loss.item(), count + words.item()
    print(f"epoch {epoch}: {total / count:.3f} of {count} words")

source, target = next(iter(loader))
said, certainty, weights = model.eval().alone(source[:4], target.shape[1])
print(tuple(said.shape), tuple(weights.shape), bool((weights.sum(-1) - 1).abs().max() < 1e-5))
mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1)
layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True, norm_first=True)
x = torch.randn(2, 5, 16)
full = layer(x, src_mask=mask)
print(torch.allclose(full[:, :3], layer(x[:, :3], src_mask=mask[:3, :3]), atol=1e-5), f"{full.var().item():.3f}")
position = torch.arange(6).type_as(x)[:, None] * torch.exp(torch.arange(0, 8, 2) * -1.15)
waves = torch.zeros(6, 8)
waves[:, 0::2], waves[:, 1::2] = position.sin(), position.cos()
print(torch.einsum("id,jd->ij", waves, waves).sort(-1).values[0])
print(F.cross_entropy(x[0], torch.arange(5), label_smoothing=0.1), F.one_hot(said[0, :3] % 4, 4).tolist())
