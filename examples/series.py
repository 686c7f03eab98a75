"""Trains an LSTM to forecast a noisy series from its last 40 values.

    python -m torchlike examples/series.py
    python examples/series.py                      with PyTorch itself

Exits with an error unless its squared error is less than a fifth of that of predicting the last value again.
"""

import sys

import torch
from torch import nn

TARGET = 0.2
WINDOW = 40


class Forecaster(nn.Module):
    """Predicts the value that follows a window of the series."""

    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x):
        states, _ = self.lstm(x.unsqueeze(-1))  # (N, T) -> (N, T, hidden)
        return self.out(states[:, -1]).squeeze(-1)  # (N,)


def main():
    torch.manual_seed(0)
    time = torch.arange(1200.0)
    series = torch.sin(0.35 * time) + 0.6 * torch.sin(0.11 * time + 1) + 0.05 * torch.randn(1200)
    windows = series.unfold(0, WINDOW + 1, 1)  # (1160, 41): windows, each one step later than the last
    X, y = windows[:, :-1], windows[:, -1]
    train, test = slice(0, 900), slice(900, None)

    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=10)
    for epoch in range(10):
        total = 0.0
        order = torch.randperm(900)
        for rows in order.split(100):
            loss = nn.functional.mse_loss(model(X[train][rows]), y[train][rows])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            total += loss.item()
        schedule.step()
        print(f"epoch {epoch + 1}: loss {total / 9:.4f}")

    with torch.no_grad():
        error = nn.functional.mse_loss(model(X[test]), y[test]).item()
    as_now = nn.functional.mse_loss(X[test][:, -1], y[test]).item()
    print(f"mean squared error {error:.4f}; of predicting the last value again {as_now:.4f}")
    if error > TARGET * as_now:
        sys.exit(f"Expected less than {TARGET * as_now:.4f}.")


if __name__ == "__main__":
    main()
