"""The classifier's training logs with PyTorch and with torchlike, from the same code, and the differences between them.

    python -m benchmarks.parity --root DIR [--epochs 3] [--shuffle] [--dropout 0.2] [--limit N]

Needs PyTorch. Prints each pair of losses (every 100 batches) and each epoch's test accuracy; exits with 1 unless the losses of the first
epoch agree to 4 significant digits and the accuracies to 0.1 points.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from torchlike.vision.datasets.idx import find_idx, read_idx


def arrays(root: Path, part: str, limit: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Pictures as float32 in [0, 1], (N, 1, 28, 28), and labels as int64, (N,)."""
    paths = (find_idx(root / "FashionMNIST/raw", f"{part}-{kind}-ubyte") for kind in ("images-idx3", "labels-idx1"))
    images, labels = (read_idx(path)[:limit] for path in paths if path is not None)
    return images[:, None].astype(np.float32) / np.float32(255), labels.astype(np.int64)


def train(
    torch: Any,
    train_set: Any,
    test_set: Any,
    *,
    epochs: int,
    shuffle: bool,
    dropout: float,
    every: int = 100,
    lr: float = 1e-3,
) -> tuple[list[float], list[float]]:
    """The quickstart's loop in the given namespace: losses of every ``every``-th batch, accuracy after each epoch."""
    nn = torch.nn
    data = importlib.import_module(f"{torch.__name__}.utils.data")
    torch.manual_seed(0)
    train_loader, test_loader = (
        data.DataLoader(data.TensorDataset(torch.tensor(x), torch.tensor(y)), batch_size=64, shuffle=shuffled)
        for (x, y), shuffled in ((train_set, shuffle), (test_set, False))
    )
    drop = [nn.Dropout(dropout)] if dropout else []
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), *drop, nn.Linear(512, 512), nn.ReLU(), *drop, nn.Linear(512, 10)
    )
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=lr)
    losses, accuracies = [], []
    for _ in range(epochs):
        model.train()
        for batch, (X, y) in enumerate(train_loader):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if batch % every == 0:
                losses.append(loss.item())
        model.eval()
        correct = 0.0
        with torch.no_grad():
            for X, y in test_loader:
                correct += (model(X).argmax(1) == y).type(torch.float).sum().item()
        accuracies.append(correct / len(test_set[1]))
    return losses, accuracies


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument("--limit", type=int)
    args = parser.parse_args()
    sets = [arrays(args.root, part, args.limit) for part in ("train", "t10k")]
    logs, seconds = {}, {}
    for name in ("torch", "torchlike"):
        start = time.perf_counter()
        logs[name] = train(
            importlib.import_module(name), *sets, epochs=args.epochs, shuffle=args.shuffle, dropout=args.dropout
        )
        seconds[name] = time.perf_counter() - start
    (losses, accuracies), (our_losses, our_accuracies) = logs["torch"], logs["torchlike"]
    for a, b in zip(losses, our_losses, strict=True):
        print(f"loss      PyTorch {a:.6f}  torchlike {b:.6f}")
    for a, b in zip(accuracies, our_accuracies, strict=True):
        print(f"accuracy  PyTorch {100 * a:.2f} %  torchlike {100 * b:.2f} %")
    print(f"seconds   PyTorch {seconds['torch']:.1f}  torchlike {seconds['torchlike']:.1f}")
    first = len(losses) // args.epochs
    digits = all(f"{a:.3e}" == f"{b:.3e}" for a, b in zip(losses[:first], our_losses[:first], strict=True))
    near = all(abs(a - b) <= 1e-3 for a, b in zip(accuracies, our_accuracies, strict=True))
    print(f"first epoch equal to 4 digits: {digits}; accuracies within 0.1 points: {near}")
    return 0 if digits and near else 1


if __name__ == "__main__":
    sys.exit(main())
