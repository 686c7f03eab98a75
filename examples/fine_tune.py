"""Fine-tunes a network that was trained on other classes: it trains a new last layer and leaves all other layers frozen.

    python examples/fine_tune.py [--weights FILE, ADDRESS or DEFAULT] [--root DIR] [--device cpu] [--epochs 2] [--images 2000] [--seed 0]

Without ``--weights`` a ResNet is first trained on the first five classes of FashionMNIST and saved. Then it is loaded and frozen, gets a
new last layer, and that layer is trained on the other five classes. ``--weights DEFAULT`` takes torchvision's weights from ImageNet.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from typing import Any

from fashion_mnist import load

import torchlike as torch
from torchlike import nn
from torchlike.utils.data import DataLoader, Subset
from torchlike.vision import models

FIRST, SECOND = range(5), range(5, 10)  # classes
TESTED = 1024  # pictures


def part(dataset: Any, classes: range, most: int) -> Subset:
    """Returns the first pictures of a data set that belong to some classes."""
    wanted = [i for i, label in enumerate(dataset.targets.tolist()) if label in classes]
    return Subset(dataset, wanted[:most])


def batches(data: Any, classes: range, device: str, shuffle: bool = False) -> Any:
    """Returns pictures with three channels, as the network expects them, and labels that count from 0."""
    for X, y in DataLoader(data, batch_size=64, shuffle=shuffle, drop_last=shuffle):
        yield X.to(device).expand(-1, 3, -1, -1), y.to(device) - classes.start


def train(model: Any, data: Any, classes: range, epochs: int, lr: float, device: str) -> None:
    """Trains the parameters that are not frozen."""
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=lr, momentum=0.9)
    for epoch in range(epochs):
        for number, (X, y) in enumerate(batches(data, classes, device, shuffle=True)):
            loss = loss_fn(model(X), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
            if number % 20 == 0:
                print(f"epoch {epoch + 1}, batch {number + 1}: loss {loss.item():.4f}", flush=True)


def accuracy(model: Any, data: Any, classes: range, device: str) -> float:
    """Returns the share of pictures that a model classifies correctly."""
    model.eval()
    with torch.no_grad():
        right = sum((model(X).argmax(1) == y).sum().item() for X, y in batches(data, classes, device))
    return right / len(data)


def pretrain(path: str, sets: tuple[Any, Any], args: argparse.Namespace) -> None:
    """Trains a whole network on the first classes, and saves it."""
    model = models.resnet18(num_classes=len(FIRST)).to(args.device)
    train(model, part(sets[0], FIRST, args.images), FIRST, args.epochs, 0.01, args.device)
    right = accuracy(model, part(sets[1], FIRST, TESTED), FIRST, args.device)
    print(f"Trained on {len(FIRST)} classes: {100 * right:.1f}% right")
    torch.save(model.state_dict(), path)
    print(f"Saved to {path}")


def pretrained(weights: str) -> Any:
    """Returns a network with the given weights, and with as many classes as they were trained on."""
    if weights == "DEFAULT":
        return models.resnet18(weights=weights)
    return models.resnet18(weights=weights, num_classes=len(FIRST))


def main() -> None:
    parser = argparse.ArgumentParser(description="Fine-tunes a ResNet with a frozen body on FashionMNIST.")
    parser.add_argument("--weights", help="a file, an address or DEFAULT; by default a network is trained")
    parser.add_argument("--root", default=os.environ.get("TORCHLIKE_DATA", "data"), help="folder with FashionMNIST/raw")
    parser.add_argument("--device", default="cpu", help="cpu, cuda, tpu or mps")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--images", type=int, default=2000, help="how many pictures to train on, at most")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--target", type=float, default=0.75, help="the share of right answers to reach")
    args = parser.parse_args()
    sets = load(args.root, download=False)
    torch.manual_seed(args.seed)
    start = time.perf_counter()

    with tempfile.TemporaryDirectory() as folder:
        weights = args.weights
        if weights is None:
            weights = os.path.join(folder, "pretrained.pt")
            pretrain(weights, sets, args)
        model = pretrained(weights)

    for parameter in model.parameters():
        parameter.requires_grad = False  # freeze all layers
    model.fc = nn.Linear(model.fc.in_features, len(SECOND))  # a new layer, which is not frozen
    model.to(args.device).eval()  # so that the statistics of batch normalization do not change either
    frozen = {name: tensor.clone() for name, tensor in model.state_dict().items() if not name.startswith("fc.")}
    tested = part(sets[1], SECOND, TESTED)
    before = accuracy(model, tested, SECOND, args.device)
    train(model, part(sets[0], SECOND, args.images), SECOND, args.epochs, 0.01, args.device)
    right = accuracy(model, tested, SECOND, args.device)

    unchanged = all(torch.equal(model.state_dict()[name], tensor) for name, tensor in frozen.items())
    print(f"Fine-tuned on {len(SECOND)} other classes: {100 * right:.1f}% right, {100 * before:.1f}% before")
    print(f"Frozen tensors unchanged: {unchanged}. ({time.perf_counter() - start:.1f} s)")
    if not unchanged or right < args.target:
        sys.exit(f"Expected {100 * args.target:.0f}% and unchanged tensors.")


if __name__ == "__main__":
    main()
