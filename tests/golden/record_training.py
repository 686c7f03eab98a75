"""Records the classifier's training logs from PyTorch, on the sample of FashionMNIST that ships with the package.

PYTHONPATH=. python tests/golden/record_training.py
"""

import json
from pathlib import Path

import torch

from benchmarks.parity import arrays, train

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "torchlike/vision/datasets/sample"
VARIANTS = {
    "plain": {"shuffle": False, "dropout": 0.0},
    "shuffled": {"shuffle": True, "dropout": 0.0},
    "dropout": {"shuffle": True, "dropout": 0.25},
}

if __name__ == "__main__":
    sets = [arrays(SAMPLE, part) for part in ("train", "t10k")]
    logs = {name: train(torch, *sets, epochs=3, every=10, lr=0.01, **options) for name, options in VARIANTS.items()}
    record = {"torch": torch.__version__, "options": VARIANTS, "logs": logs}
    (HERE / "training.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    print(record)
