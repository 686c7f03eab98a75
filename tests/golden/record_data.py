"""Records what PyTorch does in the scenarios of tests/utils/data: run `python -m tests.golden.record_data`."""

import json
import warnings
from pathlib import Path

import torch

from tests.utils.data.scenarios import COLLATE, CONVERT, ERRORS, SCENARIOS, outcome, what_processes_draw

FILE = Path(__file__).parent / "data.json"


def drawn_by_transforms() -> dict[str, list]:
    """What RandomHorizontalFlip and RandomCrop(3) of a 5 x 7 image draw, written with PyTorch's own functions."""
    torch.manual_seed(0)
    flips = [bool(torch.rand(1) < 0.4) for _ in range(20)]
    corners = [[torch.randint(0, room, (1,)).item() for room in (5 - 3 + 1, 7 - 3 + 1)] for _ in range(20)]
    return {"flips": flips, "corners": corners}


def record() -> None:
    """Writes data.json: orders, batches and errors by name, with PyTorch's version."""
    tables = {"orders": SCENARIOS, "collate": COLLATE, "convert": CONVERT, "errors": ERRORS}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of tensors over read-only memory, and of more workers than processors
        found = {
            kind: {name: make(torch) if kind == "orders" else outcome(make, torch) for name, make in table.items()}
            for kind, table in tables.items()
        }
        found["processes"] = what_processes_draw(torch)
        found["transforms"] = drawn_by_transforms()
    FILE.write_text(json.dumps({"torch": torch.__version__, **found}, separators=(",", ":")) + "\n", encoding="utf-8")
    print({kind: len(table) for kind, table in found.items()}, FILE.stat().st_size, "bytes")


if __name__ == "__main__":
    record()
