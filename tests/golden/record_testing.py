"""Records what PyTorch gives and says to the calls of `tests/testing/calls.py`.

Run where PyTorch is installed: `python -m tests.golden.record_testing`.
"""

import json
from pathlib import Path

import torch

from tests.testing.calls import CALLS, said


def main() -> None:
    words = {"torch": torch.__version__, "said": {line: said(torch, line) for line in CALLS}}
    path = Path(__file__).parent / "testing.json"
    path.write_text(json.dumps(words, indent=1) + "\n", encoding="utf-8")
    print(f"{len(CALLS)} calls")


if __name__ == "__main__":
    main()
