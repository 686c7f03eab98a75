"""An LSTM that continues a series, and packed sequences of several lengths."""

import math

import torch
from torch.nn import LSTM, Linear, Module, MSELoss
from torch.nn.utils import clip_grad_norm_
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence


class Forecast(Module):
    def __init__(self, hidden=12):
        super().__init__()
        self.lstm, self.out = LSTM(1, hidden, num_layers=2, batch_first=True), Linear(hidden, 1)

    def forward(self, x, state=None):
        y, state = self.lstm(x, state)
        return self.out(y), state


torch.manual_seed(1)
series = torch.sin(torch.arange(0, 33) * (math.pi / 8)).view(1, -1, 1)
model, criterion = Forecast(), MSELoss()
optimizer = torch.optim.RMSprop(model.parameters(), lr=5e-3)
for step in range(20):
    loss = criterion(model(series[:, :-1])[0], series[:, 1:])
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    norm = clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    if step % 5 == 0:
        print(f"{step:2d} {loss:.5f} {norm:.5f}")
model.eval()
with torch.inference_mode():
    out, state = model(series)
    value, values = out[:, -1:], []
    for _ in range(4):
        value, state = model(value, state)
        values.append(round(value.item(), 4))
print(values)

parts = [torch.randn(n, 1) for n in (5, 3, 2)]
packed = pack_padded_sequence(pad_sequence(parts, batch_first=True), [5, 3, 2], batch_first=True)
out, lengths = pad_packed_sequence(model.lstm(packed)[0], batch_first=True)
print(tuple(out.shape), lengths.tolist(), f"{out.sum().item():.4f}")
