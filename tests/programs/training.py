"""Writes the classifier's training log on the sample of FashionMNIST that is part of the package."""

from pathlib import Path
from types import ModuleType
from typing import Any

import torchlike
from benchmarks.parity import arrays, train

SAMPLE = Path(torchlike.__file__).parent / "vision/datasets/sample"
VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {"shuffle": False, "dropout": 0.0},
    "shuffled": {"shuffle": True, "dropout": 0.0},
    "dropout": {"shuffle": True, "dropout": 0.25},
}


def sample() -> list[Any]:
    """Returns pictures and labels for training and for testing."""
    return [arrays(SAMPLE, part) for part in ("train", "t10k")]


def log(torch: ModuleType, variant: str) -> tuple[list[float], list[float]]:
    """Returns the loss of every tenth batch, and the accuracy after each epoch."""
    return train(torch, *sample(), epochs=3, every=10, lr=0.01, **VARIANTS[variant])


def everything(torch: ModuleType) -> dict[str, Any]:
    return {"options": VARIANTS, "logs": {variant: log(torch, variant) for variant in VARIANTS}}
