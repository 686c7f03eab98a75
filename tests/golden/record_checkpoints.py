"""Writes checkpoints with PyTorch, and a description of their contents: `python -m tests.golden.record_checkpoints`."""

import json
import warnings
from pathlib import Path
from typing import Any

import torch

from tests.serialization.cases import CASES, LEGACY, described, trained

FOLDER = Path(__file__).parent / "checkpoints"

if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a warning of PyTorch about its own storages
    FOLDER.mkdir(exist_ok=True)
    torch.manual_seed(0)
    every: dict[str, Any] = {name: case(torch) for name, case in CASES.items()}
    model, optimizer = trained(torch)
    torch.save(every, FOLDER / "cases.pt")
    torch.save({name: every[name] for name in LEGACY}, FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, FOLDER / "training.pt")
    torch.save(model, FOLDER / "module.pt")
    after = model.eval()(torch.ones(1, 2))
    words = {
        "torch": torch.__version__,
        "cases": {name: described(value) for name, value in every.items()},
        "training": described({"model": model.state_dict(), "optimizer": optimizer.state_dict()}),
        "module of ones": after.tolist(),
    }
    (FOLDER.parent / "checkpoints.json").write_text(json.dumps(words) + "\n", "utf-8")
    print(*(f"{path.name}: {path.stat().st_size} bytes" for path in sorted(FOLDER.iterdir())), sep="\n")
