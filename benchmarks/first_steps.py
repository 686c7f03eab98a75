"""Trains one model in a process of its own and prints its memory step by step; see ``first_minute.py``, which starts it.

    python benchmarks/first_steps.py torchlike adam --steps 20

Alone here nothing is imported but the engine, so that the process is what a user's is. Each line is a step: seconds since the start, the
resident memory then and its peak so far, in MiB; at last the peak of the whole process.
"""

from __future__ import annotations

import argparse
import importlib
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

Step = Callable[[], Any]  # one step, which reads its loss


def resident() -> tuple[float, float]:
    """The resident memory of the process, and its peak, in MiB."""
    status = Path("/proc/self/status")
    if not status.exists():
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)
        return peak, peak
    fields = dict(line.split(":", 1) for line in status.read_text().splitlines())
    return int(fields["VmRSS"].split()[0]) / 1024, int(fields["VmHWM"].split()[0]) / 1024


def training(torch: Any, model: Any, optimizer: Any, loss: Callable[[], Any]) -> Step:
    def step() -> float:
        optimizer.zero_grad()
        error = loss()
        error.backward()
        optimizer.step()
        return error.item()

    return step


def linear(torch: Any, optimizer: Callable[[Any], Any]) -> Step:
    """Ten layers whose parameters have 90 MB, on a small batch."""
    model = torch.nn.Sequential(*[torch.nn.Linear(1500, 1500) for _ in range(10)])
    x = torch.randn(8, 1500)
    return training(torch, model, optimizer(model.parameters()), lambda: model(x).square().mean())


def adam(torch: Any) -> Step:
    return linear(torch, lambda parameters: torch.optim.Adam(parameters, lr=1e-3))


def momentum(torch: Any) -> Step:
    return linear(torch, lambda parameters: torch.optim.SGD(parameters, lr=1e-3, momentum=0.9))


def transformer(torch: Any) -> Step:
    """Four layers of attention over 128 tokens, in a batch of 32."""
    nn = torch.nn
    layer = nn.TransformerEncoderLayer(256, 8, 1024, dropout=0.1, batch_first=True)
    model = nn.Sequential(nn.TransformerEncoder(layer, 4), nn.Linear(256, 10))
    x, y = torch.randn(32, 128, 256), torch.randint(10, (32 * 128,))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    return training(torch, model, optimizer, lambda: nn.functional.cross_entropy(model(x).flatten(0, 1), y))


def convolutions(torch: Any) -> Step:
    """Residual blocks over pictures of 32 by 32, in a batch of 64."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, channels: int) -> None:
            super().__init__()
            self.inner = nn.Sequential(
                nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels),
            )  # fmt: skip

        def forward(self, x: Any) -> Any:
            return torch.relu(x + self.inner(x))

    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), Block(32), Block(32), nn.Conv2d(32, 64, 3, 2, 1), Block(64), Block(64),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(64, 10),
    )  # fmt: skip
    x, y = torch.randn(64, 3, 32, 32), torch.randint(10, (64,))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training(torch, model, optimizer, lambda: nn.functional.cross_entropy(model(x), y))


def maml(torch: Any) -> Step:
    """Five inner steps on each of 16 tasks at once, and the derivative of what comes of them."""
    func = torch.func
    shapes = [(128, 1), (128,), (128, 128), (128,), (1, 128), (1,)]
    parameters = [(torch.randn(shape) * 0.1).requires_grad_() for shape in shapes]
    x, y = torch.randn(16, 200, 1), torch.randn(16, 200, 1)

    def error(p: Any, x: Any, y: Any) -> Any:
        hidden = torch.relu(torch.relu(x @ p[0].T + p[1]) @ p[2].T + p[3])
        return (hidden @ p[4].T + p[5] - y).square().mean()

    def task(p: Any, x: Any, y: Any) -> Any:
        for _ in range(5):
            p = [each - 0.01 * g for each, g in zip(p, func.grad(error)(p, x, y), strict=True)]
        return error(p, x, y)

    optimizer = torch.optim.Adam(parameters, lr=1e-3)
    return training(
        torch, None, optimizer, lambda: func.vmap(task, in_dims=(None, 0, 0))(tuple(parameters), x, y).mean()
    )


def in_place(torch: Any) -> Step:
    """A tensor of 1 GB to which a number is added."""
    x = torch.zeros(2**28)

    def step() -> float:
        x.add_(1)
        return x[0].item()

    return step


CASES = {each.__name__: each for each in (adam, momentum, transformer, convolutions, maml, in_place)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("module", choices=("torchlike", "torch"))
    parser.add_argument("case", choices=CASES)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    start = time.perf_counter()
    torch = importlib.import_module(args.module)
    print(f"import  {time.perf_counter() - start:7.2f} s  now {resident()[0]:6.0f}", flush=True)
    torch.manual_seed(0)
    step, begun = CASES[args.case](torch), time.perf_counter()
    for number in range(args.steps):
        step()
        now, peak = resident()
        print(f"{number:6d}  {time.perf_counter() - start:6.1f} s  now {now:6.0f}  peak {peak:6.0f}", flush=True)
        if time.perf_counter() - begun > args.seconds:
            break
    print(resident()[1])


if __name__ == "__main__":
    main()
