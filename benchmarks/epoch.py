"""Time of a whole FashionMNIST epoch with the DataLoader: torchlike and PyTorch, in turns in one process.

    python -m benchmarks.epoch --root DIR [--rounds 5] [--limit 60000]

torchlike reads its own ``vision.datasets.FashionMNIST`` with ``ToTensor``. PyTorch, without torchvision, gets a dataset that does the
least that torchvision's does for a sample: a uint8 picture to a float32 tensor in [0, 1].
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .parity import arrays


def torchlike_data(root: Path, limit: int) -> Any:
    from torchlike.utils.data import Subset
    from torchlike.vision.datasets import FashionMNIST
    from torchlike.vision.transforms import ToTensor

    whole = FashionMNIST(root=root, train=True, transform=ToTensor())
    return whole if limit >= len(whole) else Subset(whole, range(limit))


def pytorch_data(root: Path, limit: int) -> Any:
    import torch
    from torch.utils.data import Dataset

    images, labels = arrays(root, "train", limit)
    pictures = torch.from_numpy((images[:, 0] * 255).round().astype("uint8"))

    class Pictures(Dataset):
        def __len__(self) -> int:
            return len(pictures)

        def __getitem__(self, index: int) -> tuple[Any, int]:
            return pictures[index].unsqueeze(0).to(torch.float32).div(255), int(labels[index])

    return Pictures()


def epoch(torch: Any, dataset: Any) -> Callable[[], float]:
    nn, data = torch.nn, importlib.import_module(f"{torch.__name__}.utils.data")
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=1e-3)
    loader = data.DataLoader(dataset, batch_size=64, shuffle=True)

    def run() -> float:
        for batch, (X, y) in enumerate(loader):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if batch % 100 == 0:
                loss.item()
        return loss.item()

    return run


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--root", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limit", type=int, default=60_000)
    args = parser.parse_args()
    runs = {
        "torchlike": epoch(importlib.import_module("torchlike"), torchlike_data(args.root, args.limit)),
        "pytorch": epoch(importlib.import_module("torch"), pytorch_data(args.root, args.limit)),
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for number in range(args.rounds + 1):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            if number:  # the first round warms up
                times[name].append(time.perf_counter() - start)
    medians = {name: statistics.median(t) for name, t in times.items()}
    print("  ".join(f"{name} {seconds:.2f} s" for name, seconds in medians.items()), end="   ")
    print(f"torchlike / pytorch {medians['torchlike'] / medians['pytorch']:.2f}")


if __name__ == "__main__":
    main()
