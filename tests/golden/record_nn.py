"""Records what PyTorch gives for every row of `tests/nn/modules/layers.py` and `initialisers.py`, and how it prints layers.

Run where PyTorch is installed: `python -m tests.golden.record_nn`.
"""

import json
from pathlib import Path

import numpy as np
import torch

from tests.nn.initialisers import INITIALISERS, fill
from tests.nn.modules.layers import LAYERS, SEED, run


def main() -> None:
    here = Path(__file__).parent
    arrays = {}
    for row in LAYERS:
        for name, array in run(torch, row, lambda t: t.numpy().copy()).items():
            arrays[f"{row.name}/{name}"] = array
    np.savez_compressed(here / "nn_layers.npz", **arrays)
    drawn = {}
    for name in INITIALISERS:
        torch.manual_seed(SEED)
        drawn[name] = fill(torch, name).numpy().copy()
        drawn[f"{name}.next"] = torch.rand(1).numpy()  # as much of the stream must be used up
    np.savez_compressed(here / "nn_init.npz", **drawn)
    words = {"torch": torch.__version__, "repr": {row.name: repr(row.make(torch)) for row in LAYERS}}
    (here / "nn_words.json").write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    print(f"{len(LAYERS)} layers, {len(arrays)} arrays")


if __name__ == "__main__":
    main()
