"""Records what PyTorch gives for every case of `tests/nn/utils/cases.py`.

Run where PyTorch is installed: `python -m tests.golden.record_nn_utils`.
"""

import json
import warnings
from pathlib import Path

import torch
import torch.nn.utils.prune

from tests.nn.utils.cases import CASES


def main() -> None:
    warnings.simplefilter("ignore")
    found = {name: case(torch) for name, case in CASES.items()}
    path = Path(__file__).parent / "nn_utils.json"
    path.write_text(json.dumps({"torch": torch.__version__} | found) + "\n", encoding="utf-8")
    print(f"{len(found)} cases")


if __name__ == "__main__":
    main()
