"""Trains the FashionMNIST classifier of PyTorch's quickstart, on CPU, GPU or TPU, and saves a picture of its predictions.

    python examples/fashion_mnist.py [--root DIR] [--device cpu] [--epochs 5] [--seed 0] [--shuffle] [--dropout 0.2] [--picture FILE]

FashionMNIST is read from ``--root``. If it is not there, it is downloaded; if that fails, the small sample of it that is part of
torchlike is used.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from typing import Any

import numpy as np
from tqdm import tqdm

import torchlike as torch
from torchlike import nn
from torchlike.utils.data import ConcatDataset, DataLoader
from torchlike.vision import datasets
from torchlike.vision.transforms import ToTensor


class NeuralNetwork(nn.Module):
    """Two hidden layers of 512 units on the flattened picture."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.flatten = nn.Flatten()
        regularize = [nn.Dropout(dropout)] if dropout else []
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 512),
            nn.ReLU(),
            *regularize,
            nn.Linear(512, 512),
            nn.ReLU(),
            *regularize,
            nn.Linear(512, 10),
        )

    def forward(self, x: Any) -> Any:
        x = self.flatten(x)  # (N, 1, 28, 28) -> (N, 784)
        return self.linear_relu_stack(x)  # (N, 10)


# How often an epoch goes over the 1,500 pictures of the sample: as many steps then as over the 60,000 of the whole data.
PASSES = 40
# In 4,700 steps over so few pictures the tutorial's rate of 0.001 learns too little.
LR, LR_OF_THE_SAMPLE = 1e-3, 2e-2


def load(root: str, download: bool) -> tuple[Any, Any, bool]:
    """Returns training and test data from the root, or else from the network, or else from the sample, and whether it is the sample."""

    def both(where: str, fetch: bool) -> tuple[Any, Any]:
        train, test = (
            datasets.FashionMNIST(root=where, train=train, download=fetch, transform=ToTensor())
            for train in (True, False)
        )
        return train, test

    try:
        return *both(root, False), False
    except (RuntimeError, FileNotFoundError):
        pass
    if download:
        try:
            return *both(root, True), False
        except Exception as error:
            print(f"FashionMNIST is not under {root!r} and cannot be downloaded: {error}", file=sys.stderr)
    sample = datasets.FashionMNIST.sample_root()
    print(f"Training on the small sample that is part of torchlike instead ({sample}).", file=sys.stderr)
    train, test = both(str(sample), False)
    print(
        f"It has only {len(train):,} pictures to train on and {len(test)} to test with. Each epoch goes {PASSES} times over them, "
        "so that it has as many steps as over the whole data.",
        file=sys.stderr,
    )
    return ConcatDataset([train] * PASSES), test, True


def train(dataloader: Any, model: Any, loss_fn: Any, optimizer: Any, device: str, progress: bool) -> None:
    size = len(dataloader.dataset)
    model.train()
    bar = tqdm(dataloader, unit="batch", leave=False, disable=not progress, file=sys.stderr)
    for batch, (X, y) in enumerate(bar):
        X, y = X.to(device), y.to(device)
        loss = loss_fn(model(X), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        if batch % 100 == 0:
            value, current = loss.item(), (batch + 1) * len(X)
            tqdm.write(f"loss: {value:>7f}  [{current:>5d}/{size:>5d}]", file=sys.stdout)


def test(dataloader: Any, model: Any, loss_fn: Any, device: str) -> float:
    model.eval()
    test_loss, correct = 0.0, 0.0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    test_loss /= len(dataloader)
    accuracy = correct / len(dataloader.dataset)
    print(f"Test Error: \n Accuracy: {(100 * accuracy):>0.1f}%, Avg loss: {test_loss:>8f} \n")
    return accuracy


def picture(path: str, dataset: Any, model: Any, device: str, rows: int = 4, columns: int = 8, scale: int = 3) -> None:
    """Saves test images with their predicted classes: a green frame if the prediction is right, a red one if not."""
    from PIL import Image, ImageDraw

    cell, caption = 28 * scale, 14
    sheet = Image.new("RGB", (columns * (cell + 8), rows * (cell + caption + 8)), "white")
    draw = ImageDraw.Draw(sheet)
    model.eval()
    for i in range(rows * columns):
        image, label = dataset[i]
        with torch.no_grad():
            predicted = int(model(image.unsqueeze(0).to(device)).argmax(1).item())
        left, top = (i % columns) * (cell + 8) + 4, (i // columns) * (cell + caption + 8) + 4
        gray = (image.squeeze(0).numpy() * 255).astype(np.uint8)
        sheet.paste(Image.fromarray(gray).resize((cell, cell)), (left, top))
        color = "green" if predicted == label else "red"
        draw.rectangle([left - 2, top - 2, left + cell + 1, top + cell + 1], outline=color, width=2)
        draw.text((left, top + cell + 2), dataset.classes[predicted], fill=color)
    sheet.save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description="Trains the FashionMNIST classifier of PyTorch's quickstart.")
    parser.add_argument(
        "--root",
        default=os.environ.get("TORCHLIKE_DATA", "data"),
        help="folder of FashionMNIST/raw; data is downloaded to it",
    )
    parser.add_argument("--device", default=None, help="cpu, cuda, tpu or mps; by default the accelerator, if any")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, help=f"default {LR}; {LR_OF_THE_SAMPLE} for the sample")
    parser.add_argument("--shuffle", action="store_true", help="draw the training data in random order")
    parser.add_argument("--dropout", type=float, default=0.0)
    parser.add_argument(
        "--picture", default="fashion_mnist.png", help="where to save test images with predictions; '' for none"
    )
    parser.add_argument("--no-download", action="store_true")
    args = parser.parse_args()

    accelerator = torch.accelerator.current_accelerator()
    device = args.device or (accelerator.type if accelerator is not None else "cpu")
    print(f"Using {device} device")
    training_data, test_data, is_sample = load(args.root, not args.no_download)
    lr = args.lr if args.lr is not None else LR_OF_THE_SAMPLE if is_sample else LR

    torch.manual_seed(args.seed)
    train_dataloader = DataLoader(training_data, batch_size=args.batch_size, shuffle=args.shuffle)
    test_dataloader = DataLoader(test_data, batch_size=args.batch_size)
    model = NeuralNetwork(args.dropout).to(device)
    print(model)
    loss_fn = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr)

    start = time.perf_counter()
    for epoch in range(args.epochs):
        print(f"Epoch {epoch + 1}\n-------------------------------")
        train(train_dataloader, model, loss_fn, optimizer, device, progress=sys.stderr.isatty())
        test(test_dataloader, model, loss_fn, device)
    print(f"Done! ({time.perf_counter() - start:.1f} s)")

    if args.picture:
        try:
            picture(args.picture, test_data, model, device)
            print(f"Saved test images with predictions to {args.picture}")
        except ModuleNotFoundError:
            print("No picture was saved: that needs Pillow (pip install pillow).", file=sys.stderr)


if __name__ == "__main__":
    main()
