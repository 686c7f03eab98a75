"""Trains the FashionMNIST classifier on all devices of one process, each of which keeps a part of every parameter.

    python examples/fsdp_fashion_mnist.py [--root DIR] [--epochs 2] [--devices 8]

For comparison the same classifier is also trained on one device; the losses are the same. Without an accelerator the devices are threads
of the CPU. FashionMNIST is read from ``--root``. If it is not there, the small sample of it that is part of torchlike is used.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

import torchlike as torch
from torchlike import nn
from torchlike.distributed.fsdp import fully_shard
from torchlike.utils.data import DataLoader
from torchlike.vision import datasets
from torchlike.vision.transforms import ToTensor

BATCH = 64


def load(root: str) -> Any:
    try:
        return datasets.FashionMNIST(root=root, train=True, transform=ToTensor())
    except (RuntimeError, FileNotFoundError):
        return datasets.FashionMNIST(root=str(datasets.FashionMNIST.sample_root()), train=True, transform=ToTensor())


def train(data: Any, epochs: int, sharded: bool) -> list[float]:
    """Trains the classifier and returns the mean loss of each epoch."""
    torch.manual_seed(0)
    model: Any = nn.Sequential(
        nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10)
    )
    if sharded:
        fully_shard(model)
        weight = model[1].weight
        print(f"a weight of shape {tuple(weight.shape)}: each device keeps {tuple(weight.to_local().shape)}")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
    losses = []
    for _ in range(epochs):
        total, batches = torch.zeros(()), 0
        for images, labels in DataLoader(data, batch_size=BATCH, shuffle=True, drop_last=True):
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            batches += 1
        losses.append(total.item() / batches)
    return losses


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--devices", type=int, default=8)
    options = parser.parse_args()
    # JAX reads the number of devices when the first device is used, so it is set before that.
    os.environ.setdefault("XLA_FLAGS", f"--xla_force_host_platform_device_count={options.devices}")
    data = load(options.root)
    alone, together = train(data, options.epochs, False), train(data, options.epochs, True)
    for epoch, (one, all_of_them) in enumerate(zip(alone, together, strict=True), 1):
        print(f"epoch {epoch}: loss {one:.4f} on one device, {all_of_them:.4f} on all")
        if abs(one - all_of_them) > 1e-3:
            raise SystemExit("the losses differ")


if __name__ == "__main__":
    main()
