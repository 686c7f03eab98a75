"""Trains the FashionMNIST classifier in several processes, each on its part of every batch.

    python -m torchlike.distributed.run --standalone --nproc-per-node 2 examples/ddp_fashion_mnist.py [--root DIR] [--epochs 3]

The losses are the same as those of one process with whole batches: compare with ``--nproc-per-node 1``. FashionMNIST is read from
``--root``. If it is not there, the small sample of it that is part of torchlike is used.
"""

from __future__ import annotations

import argparse
from typing import Any

import torchlike as torch
from torchlike import distributed as dist, nn
from torchlike.nn.parallel import DistributedDataParallel
from torchlike.utils.data import DataLoader, DistributedSampler
from torchlike.vision import datasets
from torchlike.vision.transforms import ToTensor

BATCH = 64  # of all processes together


def load(root: str) -> Any:
    try:
        return datasets.FashionMNIST(root=root, train=True, transform=ToTensor())
    except (RuntimeError, FileNotFoundError):
        return datasets.FashionMNIST(root=str(datasets.FashionMNIST.sample_root()), train=True, transform=ToTensor())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", default="data")
    parser.add_argument("--epochs", type=int, default=3)
    options = parser.parse_args()
    dist.init_process_group()
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)
    data = load(options.root)
    sampler = DistributedSampler(data, drop_last=True)
    loader = DataLoader(data, batch_size=BATCH // size, sampler=sampler, drop_last=True)
    model = DistributedDataParallel(
        nn.Sequential(nn.Flatten(), nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 10))
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(options.epochs):
        sampler.set_epoch(epoch)
        total, batches = torch.zeros(()), 0
        for images, labels in loader:
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            total += loss.detach()
            batches += 1
        dist.all_reduce(total, op=dist.ReduceOp.AVG)
        if rank == 0:
            print(f"epoch {epoch + 1}: loss {total.item() / batches:.4f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
