"""Translation by a recurrent network with attention, as a tutorial writes it."""

from __future__ import unicode_literals, print_function, division
import unicodedata, re, random
import torch
import torch.nn as nn
from torch import optim
import torch.nn.functional as F
import numpy as np
from torch.utils.data import TensorDataset, DataLoader, RandomSampler

device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
SOS_token = 0
EOS_token = 1
random.seed(3)
torch.manual_seed(3)
np.random.seed(3)


class Lang:
    def __init__(self, name):
        self.name = name
        self.word2index = {}
        self.word2count = {}
        self.index2word = {0: "SOS", 1: "EOS"}
        self.n_words = 2

    def addSentence(self, sentence):
        for word in sentence.split(" "):
            self.addWord(word)

    def addWord(self, word):
        if word not in self.word2index:
            self.word2index[word] = self.n_words
            self.word2count[word] = 1
            self.index2word[self.n_words] = word
            self.n_words += 1
        else:
            self.word2count[word] += 1


def normalizeString(s):
    s = "".join(c for c in unicodedata.normalize("NFD", s.lower().strip()) if unicodedata.category(c) != "Mn")
    s = re.sub(r"([.!?])", r" \1", s)
    return re.sub(r"[^a-zA-Z!?]+", r" ", s).strip()


raw = [
    "Je suis ici\tI am here",
    "Tu es là\tyou are there",
    "Il est grand\the is tall",
    "Elle est grande\tshe is tall",
    "Nous sommes ici\twe are here",
    "Je ne suis pas grand\tI am not tall",
]
pairs = [[normalizeString(s) for s in l.split("\t")] for l in raw]
a, b = Lang("fra"), Lang("eng")
for p in pairs:
    a.addSentence(p[0])
    b.addSentence(p[1])
MAX_LENGTH = 8


class EncoderRNN(nn.Module):
    def __init__(self, input_size, hidden_size, dropout_p=0.1):
        super(EncoderRNN, self).__init__()
        self.hidden_size = hidden_size
        self.embedding = nn.Embedding(input_size, hidden_size)
        self.gru = nn.GRU(hidden_size, hidden_size, batch_first=True)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, input):
        embedded = self.dropout(self.embedding(input))
        output, hidden = self.gru(embedded)
        return output, hidden


class BahdanauAttention(nn.Module):
    def __init__(self, hidden_size):
        super(BahdanauAttention, self).__init__()
        self.Wa = nn.Linear(hidden_size, hidden_size)
        self.Ua = nn.Linear(hidden_size, hidden_size)
        self.Va = nn.Linear(hidden_size, 1)

    def forward(self, query, keys):
        scores = self.Va(torch.tanh(self.Wa(query) + self.Ua(keys)))
        scores = scores.squeeze(2).unsqueeze(1)
        weights = F.softmax(scores, dim=-1)
        context = torch.bmm(weights, keys)
        return context, weights


class AttnDecoderRNN(nn.Module):
    def __init__(self, hidden_size, output_size, dropout_p=0.1):
        super(AttnDecoderRNN, self).__init__()
        self.embedding = nn.Embedding(output_size, hidden_size)
        self.attention = BahdanauAttention(hidden_size)
        self.gru = nn.GRU(2 * hidden_size, hidden_size, batch_first=True)
        self.out = nn.Linear(hidden_size, output_size)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, encoder_outputs, encoder_hidden, target_tensor=None):
        batch_size = encoder_outputs.size(0)
        decoder_input = torch.empty(batch_size, 1, dtype=torch.long, device=device).fill_(SOS_token)
        decoder_hidden = encoder_hidden
        decoder_outputs, attentions = [], []
        for i in range(MAX_LENGTH):
            decoder_output, decoder_hidden, attn_weights = self.forward_step(
                decoder_input, decoder_hidden, encoder_outputs
            )
            decoder_outputs.append(decoder_output)
            attentions.append(attn_weights)
            if target_tensor is not None:
                decoder_input = target_tensor[:, i].unsqueeze(1)
            else:
                _, topi = decoder_output.topk(1)
                decoder_input = topi.squeeze(-1).detach()
        decoder_outputs = torch.cat(decoder_outputs, dim=1)
        decoder_outputs = F.log_softmax(decoder_outputs, dim=-1)
        attentions = torch.cat(attentions, dim=1)
        return decoder_outputs, decoder_hidden, attentions

    def forward_step(self, input, hidden, encoder_outputs):
        embedded = self.dropout(self.embedding(input))
        query = hidden.permute(1, 0, 2)
        context, attn_weights = self.attention(query, encoder_outputs)
        input_gru = torch.cat((embedded, context), dim=2)
        output, hidden = self.gru(input_gru, hidden)
        return self.out(output), hidden, attn_weights


def get_dataloader(batch_size):
    n = len(pairs)
    input_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
    target_ids = np.zeros((n, MAX_LENGTH), dtype=np.int32)
    for idx, (inp, tgt) in enumerate(pairs):
        i = [a.word2index[w] for w in inp.split(" ")] + [EOS_token]
        t = [b.word2index[w] for w in tgt.split(" ")] + [EOS_token]
        input_ids[idx, : len(i)] = i
        target_ids[idx, : len(t)] = t
    data = TensorDataset(torch.LongTensor(input_ids).to(device), torch.LongTensor(target_ids).to(device))
    return DataLoader(data, sampler=RandomSampler(data), batch_size=batch_size)


loader = get_dataloader(3)
enc, dec = EncoderRNN(a.n_words, 16).to(device), AttnDecoderRNN(16, b.n_words).to(device)
eo, do = optim.Adam(enc.parameters(), lr=0.01), optim.Adam(dec.parameters(), lr=0.01)
crit = nn.NLLLoss()
for epoch in range(1, 16):
    total = 0
    for inp, tgt in loader:
        eo.zero_grad()
        do.zero_grad()
        o, h = enc(inp)
        out, _, _ = dec(o, h, tgt)
        loss = crit(out.view(-1, out.size(-1)), tgt.view(-1))
        loss.backward()
        eo.step()
        do.step()
        total += loss.item()
    if epoch % 5 == 0:
        print("%d %.4f" % (epoch, total / len(loader)))
enc.eval()
dec.eval()
with torch.no_grad():
    ids = torch.tensor(
        [a.word2index[w] for w in pairs[0][0].split(" ")] + [EOS_token], dtype=torch.long, device=device
    ).view(1, -1)
    o, h = enc(ids)
    out, _, att = dec(o, h)
    _, topi = out.topk(1)
    words = []
    for idx in topi.squeeze():
        if idx.item() == EOS_token:
            words.append("<EOS>")
            break
        words.append(b.index2word[idx.item()])
    print(">", pairs[0][0], "<", " ".join(words), att.shape, att[0, :2].numpy().round(3))
