"""Records what the programs of `tests/programs` print on PyTorch: `python -m tests.golden.record_programs`."""

import contextlib
import io
import json
from pathlib import Path

import torch
from torch.utils.data import DataLoader, TensorDataset

from benchmarks.parity import arrays
from tests.programs import quickstart, random_blocks

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "torchlike/vision/datasets/sample"


def printed(program, *args):
    """What a program prints."""
    torch.manual_seed(0)
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        program(*args)
    return out.getvalue()


if __name__ == "__main__":
    sets = [TensorDataset(*map(torch.tensor, arrays(SAMPLE, part))) for part in ("train", "t10k")]
    record = {
        "pytorch": torch.__version__,
        "quickstart": printed(quickstart.run, torch, *sets, DataLoader, 2),
        "random": {name: printed(block, torch) for name, block in random_blocks.BLOCKS.items()},
    }
    (HERE / "programs.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
