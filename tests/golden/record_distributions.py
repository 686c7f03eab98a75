"""Records what PyTorch answers for every row of `tests/distributions/rows.py`, and what it says to its lines.

Run where PyTorch is installed: `python -m tests.golden.record_distributions`.
"""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.distributions.lines import LINES, said
from tests.distributions.rows import COMPOSED, ROWS, TRANSFORMS, asked, divergences, transformed


def main() -> None:
    here = Path(__file__).parent
    warnings.simplefilter("ignore")
    answers: dict[str, dict[str, Any]] = {name: asked(torch, name) for name in [*ROWS, *COMPOSED]}
    answers |= {f"transform {name}": transformed(torch, name) for name in TRANSFORMS}
    answers["divergences"] = divergences(torch)
    arrays, words = {}, {}
    for name, found in answers.items():
        for question, answer in found.items():
            (arrays if isinstance(answer, np.ndarray) else words)[f"{name}/{question}"] = answer
    np.savez_compressed(here / "distributions.npz", **arrays)
    said_words = {"torch": torch.__version__, "words": words, "said": {line: said(torch, line) for line in LINES}}
    (here / "distribution_words.json").write_text(json.dumps(said_words, indent=1) + "\n", encoding="utf-8")
    print(f"{len(answers)} rows, {len(arrays)} arrays, {len(LINES)} lines")


if __name__ == "__main__":
    main()
