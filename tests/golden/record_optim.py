"""Records what PyTorch gives for every row of `tests/optim/algorithms.py` and `schedules.py`.

Run where PyTorch is installed: `python -m tests.golden.record_optim`.
"""

import json
from pathlib import Path

import numpy as np
import torch

from tests.optim import algorithms, averages, schedules


def main() -> None:
    here = Path(__file__).parent
    arrays = {}
    for name in algorithms.ALGORITHMS:
        for dtype in ("float32", "float64"):
            for key, array in algorithms.run(torch, name, dtype, lambda t: t.numpy().copy()).items():
                arrays[f"{name}/{dtype}/{key}"] = array
    for name in algorithms.SEARCHES:
        for dtype in ("float32", "float64"):
            for key, array in algorithms.run_search(torch, name, dtype, lambda t: t.numpy().copy()).items():
                arrays[f"LBFGS/{name}/{dtype}/{key}"] = array
    np.savez_compressed(here / "optim.npz", **arrays)
    rates = {f"{name}/{kind}/{closed}": schedules.run(torch, name, kind, closed) for name in schedules.SCHEDULES for kind in ("SGD", "Adam") for closed in (False, True)}  # fmt: skip  # noqa: E501
    words = {
        "torch": torch.__version__,
        "repr": {name: repr(algorithms.make(torch, name, [torch.ones(1, 1)])) for name in algorithms.ALGORITHMS},
        "averages": averages.everything(torch),
        "schedules": rates | schedules.composed(torch),
    }
    (here / "optim_words.json").write_text(json.dumps(words) + "\n", encoding="utf-8")
    print(f"{len(arrays)} arrays, {len(rates)} schedules")


if __name__ == "__main__":
    main()
