"""Word vectors, a tagger with a CRF, packed sequences, text classifiers, CTC."""

import torch, torch.nn as nn, torch.nn.functional as F, torch.optim as optim, random
from collections import Counter
from torch.nn.utils.rnn import (
    pad_sequence,
    pack_padded_sequence,
    pad_packed_sequence,
    pack_sequence,
    unpack_sequence,
    PackedSequence,
)

torch.manual_seed(1)
random.seed(1)
text = """we are about to study the idea of a computational process computational processes are abstract beings that inhabit computers as they evolve processes manipulate other abstract things called data""".split()
vocab = sorted(set(text))
w2i = {w: i for i, w in enumerate(vocab)}


class CBOW(nn.Module):
    def __init__(self, V, D):
        super().__init__()
        self.embeddings = nn.Embedding(V, D)
        self.linear1 = nn.Linear(D, 16)
        self.linear2 = nn.Linear(16, V)

    def forward(self, inputs):
        e = self.embeddings(inputs).sum(0).view((1, -1))
        return F.log_softmax(self.linear2(F.relu(self.linear1(e))), dim=1)


losses = []
lf = nn.NLLLoss()
model = CBOW(len(vocab), 8)
opt = optim.SGD(model.parameters(), lr=0.01)
for epoch in range(2):
    total = 0
    for i in range(2, len(text) - 2):
        ctx = torch.tensor([w2i[w] for w in (text[i - 2], text[i - 1], text[i + 1], text[i + 2])], dtype=torch.long)
        model.zero_grad()
        loss = lf(model(ctx), torch.tensor([w2i[text[i]]]))
        loss.backward()
        opt.step()
        total += loss.item()
    losses.append(round(total, 3))
print(losses)


class SGNS(nn.Module):
    def __init__(self, V, D):
        super().__init__()
        self.i = nn.Embedding(V, D)
        self.o = nn.Embedding(V, D)
        r = 0.5 / D
        self.i.weight.data.uniform_(-r, r)
        self.o.weight.data.uniform_(-0, 0)

    def forward(self, c, p, n):
        v = self.i(c).unsqueeze(2)
        return -(
            F.logsigmoid(torch.bmm(self.o(p).unsqueeze(1), v)).squeeze()
            + F.logsigmoid(torch.bmm(self.o(n).neg(), v).squeeze(2)).sum(1)
        ).mean()


cnt = Counter(text)
freq = torch.tensor([cnt[w] for w in vocab], dtype=torch.float).pow(0.75)
freq /= freq.sum()
sg = SGNS(len(vocab), 8)
o = optim.Adam(sg.parameters(), 0.05)
ids = torch.tensor([w2i[w] for w in text])
for e in range(3):
    neg = torch.multinomial(freq, (len(ids) - 1) * 3, replacement=True).view(-1, 3)
    l = sg(ids[:-1], ids[1:], neg)
    o.zero_grad()
    l.backward()
    o.step()
    print(f"{l:.5f}")
sim = F.cosine_similarity(sg.i.weight[0:1], sg.i.weight)
print(
    [vocab[i] for i in sim.argsort(descending=True)[:3]],
    nn.Embedding.from_pretrained(sg.i.weight.detach(), freeze=True).weight.requires_grad,
)
START, STOP = "<START>", "<STOP>"


def argmax(vec):
    _, idx = torch.max(vec, 1)
    return idx.item()


def lse(vec):
    m = vec[0, argmax(vec)]
    return m + torch.log(torch.sum(torch.exp(vec - m.view(1, -1).expand(1, vec.size()[1]))))


class BiLSTM_CRF(nn.Module):
    def __init__(self, V, tags, D, H):
        super(BiLSTM_CRF, self).__init__()
        self.H = H
        self.tags = tags
        self.n = len(tags)
        self.emb = nn.Embedding(V, D)
        self.lstm = nn.LSTM(D, H // 2, num_layers=1, bidirectional=True)
        self.h2t = nn.Linear(H, self.n)
        self.transitions = nn.Parameter(torch.randn(self.n, self.n))
        self.transitions.data[tags[START], :] = -10000
        self.transitions.data[:, tags[STOP]] = -10000

    def feats(self, s):
        e = self.emb(s).view(len(s), 1, -1)
        out, self.hidden = self.lstm(e, (torch.randn(2, 1, self.H // 2), torch.randn(2, 1, self.H // 2)))
        return self.h2t(out.view(len(s), self.H))

    def forward_alg(self, feats):
        a = torch.full((1, self.n), -10000.0)
        a[0][self.tags[START]] = 0.0
        fv = a
        for feat in feats:
            at = []
            for nt in range(self.n):
                at.append(lse(fv + self.transitions[nt].view(1, -1) + feat[nt].view(1, -1).expand(1, self.n)).view(1))
            fv = torch.cat(at).view(1, -1)
        return lse(fv + self.transitions[self.tags[STOP]])

    def score(self, feats, tags):
        s = torch.zeros(1)
        tags = torch.cat([torch.tensor([self.tags[START]], dtype=torch.long), tags])
        for i, f in enumerate(feats):
            s = s + self.transitions[tags[i + 1], tags[i]] + f[tags[i + 1]]
        return s + self.transitions[self.tags[STOP], tags[-1]]

    def viterbi(self, feats):
        bps = []
        fv = torch.full((1, self.n), -10000.0)
        fv[0][self.tags[START]] = 0
        for feat in feats:
            b, v = [], []
            for nt in range(self.n):
                x = fv + self.transitions[nt]
                best = argmax(x)
                b.append(best)
                v.append(x[0][best].view(1))
            fv = (torch.cat(v) + feat).view(1, -1)
            bps.append(b)
        t = fv + self.transitions[self.tags[STOP]]
        best = argmax(t)
        score = t[0][best]
        path = [best]
        for b in reversed(bps):
            best = b[best]
            path.append(best)
        path.pop()
        path.reverse()
        return score, path


tags = {"B": 0, "I": 1, "O": 2, START: 3, STOP: 4}
crf = BiLSTM_CRF(len(vocab), tags, 5, 4)
o = optim.SGD(crf.parameters(), lr=0.01, weight_decay=1e-4)
tg = torch.tensor([0, 1, 2, 0, 1, 2, 2])
for e in range(4):
    crf.zero_grad()
    f = crf.feats(ids[:7])
    l = crf.forward_alg(f) - crf.score(f, tg)
    l.backward()
    o.step()
    print(l)
with torch.no_grad():
    print(crf.viterbi(crf.feats(ids[:7])))
seqs = [ids[:5], ids[5:7], ids[7:11]]
pad = pad_sequence(seqs, batch_first=True, padding_value=-1)
print(pad, pad_sequence(seqs).shape, pad_sequence(seqs, batch_first=True, padding_side="left")[1])
lens = torch.tensor([len(s) for s in seqs])
emb = nn.Embedding(len(vocab) + 1, 4, padding_idx=len(vocab))
xp = pack_padded_sequence(emb(pad % (len(vocab) + 1)), lens, batch_first=True, enforce_sorted=False)
gru = nn.GRU(4, 3, 2, batch_first=True, bidirectional=True)
out, h = gru(xp)
up, ul = pad_packed_sequence(out, batch_first=True, total_length=6)
print(
    xp.batch_sizes,
    xp.sorted_indices,
    up.shape,
    ul,
    h.shape,
    up[1].sum(),
    isinstance(xp, PackedSequence),
    [u.shape for u in unpack_sequence(out)],
)
lstm = nn.LSTM(4, 3, batch_first=True)
o1, (h, c) = lstm(pack_sequence([torch.ones(3, 4), torch.ones(2, 4)]))
print(o1.data.shape, c.sum())


class TextCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(50, 8)
        self.convs = nn.ModuleList([nn.Conv1d(8, 4, k) for k in (2, 3, 4)])
        self.fc = nn.Linear(12, 2)
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        e = self.e(x).permute(0, 2, 1)
        return self.fc(
            self.drop(
                torch.cat(
                    [F.max_pool1d(F.relu(c(e)), int(e.size(2) - c.kernel_size[0] + 1)).squeeze(2) for c in self.convs],
                    1,
                )
            )
        )


m = TextCNN()
x, y = torch.randint(50, (16, 10)), torch.randint(2, (16,)).float()
o = optim.Adadelta(m.parameters())
for _ in range(3):
    l = F.binary_cross_entropy_with_logits(m(x)[:, 0], y, pos_weight=torch.tensor(2.0))
    o.zero_grad()
    l.backward()
    o.step()
    print(f"{l.item():.4f}")


class FastText(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.EmbeddingBag(50, 8, sparse=False, mode="mean")
        self.fc = nn.Linear(8, 3)
        self.embedding.weight.data.uniform_(-0.5, 0.5)
        self.fc.bias.data.zero_()

    def forward(self, text, offsets):
        return self.fc(self.embedding(text, offsets))


def collate(batch):
    t = [torch.tensor(b, dtype=torch.int64) for b in batch]
    return torch.cat(t), torch.tensor([0] + [len(b) for b in t[:-1]]).cumsum(dim=0)


dl = torch.utils.data.DataLoader([[1, 2, 3], [4, 5], [6], [7, 8, 9, 10]], batch_size=2, collate_fn=collate)
ft = FastText()
print([ft(*b).sum().item().__round__(4) for b in dl])
ctc = nn.CTCLoss(blank=0)
lp = torch.randn(12, 2, 5).log_softmax(2).requires_grad_()
l = ctc(lp, torch.tensor([[1, 2, 3], [2, 2, 0]]), torch.tensor([12, 10]), torch.tensor([3, 2]))
l.backward()
print(l, lp.grad.abs().sum())
a = nn.AdaptiveLogSoftmaxWithLoss(8, 50, cutoffs=[10, 30], div_value=2.0)
r = a(torch.randn(6, 8), torch.randint(50, (6,)))
print(r, a.log_prob(torch.randn(2, 8)).shape, a.predict(torch.randn(2, 8)))
