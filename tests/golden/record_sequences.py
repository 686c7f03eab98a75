"""Records what PyTorch gives for every row of `tests/nn/modules/sequences.py`, and what it says to its lines.

Run where PyTorch is installed: `python -m tests.golden.record_sequences`.
"""

import json
from pathlib import Path

import numpy as np
import torch

from tests.nn.modules.sequences import LINES, ROWS, run, said


def main() -> None:
    here = Path(__file__).parent
    arrays = {
        f"{row.name}/{name}": array
        for row in ROWS
        for name, array in run(torch, row, lambda t: t.numpy().copy()).items()
    }
    np.savez_compressed(here / "sequences.npz", **arrays)
    words = {"torch": torch.__version__, "said": {line: said(torch, line) for line in LINES}}
    (here / "sequence_words.json").write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    print(f"{len(ROWS)} layers, {len(arrays)} arrays, {len(LINES)} lines")


if __name__ == "__main__":
    main()
