"""Time of an epoch with the DataLoader, with 0, 2 and 4 workers: torchlike and PyTorch, in turns.

    python -m benchmarks.epoch [--rounds 5] [--root DIR] [--pictures 60000] [--slow-samples 500] [--only "2 workers"] [--json FILE]

Both read the same pictures, of FashionMNIST's size, by a dataset that does for a sample what torchvision's does: a uint8 picture
becomes a float32 tensor in [0, 1]. With ``--root`` they are those of FashionMNIST; without, noise. The slow samples take 10 ms of Python
each besides, so that an epoch takes as long as the workers need for them.
"""

from __future__ import annotations

import functools
import importlib
import time
from pathlib import Path
from typing import Any

import numpy as np

from torchlike.engine import recorder

from ._rounds import Maker, Result, Run, arguments, engines, finish, in_turns
from .parity import arrays
from .step import MODULES

WORKERS = {"no workers": 0, "2 workers": 2, "4 workers": 4}
SLOW = " of slow samples"
CASES = [*WORKERS, *[workers + SLOW for workers in WORKERS]]
SECONDS_OF_A_SLOW_SAMPLE = 0.01


class Pictures:
    """Samples of a picture (1, 28, 28) and a label."""

    def __init__(self, engine: str, root: Path | None, count: int) -> None:
        if root is None:
            random = np.random.default_rng(0)
            self.images = random.integers(0, 256, (count, 28, 28), np.uint8)
            self.labels = random.integers(0, 10, count)
        else:
            images, self.labels = arrays(root, "train", count)
            self.images = (images[:, 0] * 255).round().astype(np.uint8)
        self.engine = engine

    def __len__(self) -> int:
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        torch = importlib.import_module(MODULES[self.engine])
        return torch.from_numpy(self.images[index]).unsqueeze(0).to(torch.float32).div(255), int(self.labels[index])


class SlowPictures(Pictures):
    """The same, each after so many seconds of Python."""

    def __getitem__(self, index: int) -> tuple[Any, int]:
        end = time.thread_time() + SECONDS_OF_A_SLOW_SAMPLE
        while time.thread_time() < end:
            pass
        return super().__getitem__(index)


def prepared(engine: str, workers: int, root: Path | None, count: int, slow: bool = False) -> Run:
    """The run of an engine: one epoch of the quickstart's loop, after one that warms up."""
    torch = importlib.import_module(MODULES[engine])
    if engine == "torchlike":
        recorder().set_compile_mode(
            "auto"
        )  # as programs run: what a dataset does for a sample is too little to be compiled
    nn, data = torch.nn, importlib.import_module(f"{torch.__name__}.utils.data")
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    loss_fn, optimizer = nn.CrossEntropyLoss(), torch.optim.SGD(model.parameters(), lr=1e-3)
    dataset = (SlowPictures if slow else Pictures)(engine, root, count)
    loader = data.DataLoader(dataset, batch_size=64, shuffle=True, num_workers=workers)

    def run() -> float:
        start = time.perf_counter()
        for batch, (X, y) in enumerate(loader):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if batch % 100 == 0:
                loss.item()
        loss.item()
        return time.perf_counter() - start

    run()
    return run


def run(
    rounds: int = 5, only: str | None = None, root: Path | None = None, count: int = 60_000, slow_count: int = 500
) -> Result:
    """Seconds of an epoch. Each engine has a process of its own, because both fork their workers."""
    result = Result("epoch", "s")
    for name in CASES:
        if only in (None, name):
            slow, workers = name.endswith(SLOW), WORKERS[name.removesuffix(SLOW)]
            size = slow_count if slow else count
            makers: dict[str, Maker] = {
                e: functools.partial(prepared, e, workers, root, size, slow) for e in engines("torchlike", "pytorch")
            }
            result.add(name, in_turns(makers, rounds, apart=True))
    return result


def main() -> None:
    parser = arguments(__doc__, 5, CASES)
    parser.add_argument("--root", type=Path)
    parser.add_argument("--pictures", type=int, default=60_000)
    parser.add_argument("--slow-samples", type=int, default=500)
    args = parser.parse_args()
    finish(run(args.rounds, args.only, args.root, args.pictures, args.slow_samples), args.json)


if __name__ == "__main__":
    main()
