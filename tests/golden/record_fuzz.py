"""Records programs of the fuzzer and the rows that PyTorch writes for them: `python -m tests.golden.record_fuzz`.

The file contains the programs as text, so that they stay the same if the generator changes.
"""

import json
from pathlib import Path

import torch

from tests.fuzz.found import FOUND
from tests.fuzz.programs import program_of
from tests.fuzz.running import run

HERE = Path(__file__).parent
SEEDS = {
    "engine": [11],
    "training": [12],
    "modules": [13, 17],
    "threads": [14],
    "transforms": [18, 19, 22],
    "mixed": [15],
}


def rounded(rows):
    """Rounds to seven digits, the precision of float32."""
    if isinstance(rows, list):
        return [rounded(each) for each in rows]
    return float(f"{rows:.7g}") if isinstance(rows, float) else rows


if __name__ == "__main__":
    torch.set_num_threads(1)
    programs = {f"{kind} {seed}": str(program_of(seed, kind, 5)) for kind, seeds in SEEDS.items() for seed in seeds}
    programs |= FOUND
    record = {name: {"text": text, "rows": rounded(run("torch", text))} for name, text in programs.items()}
    (HERE / "fuzz.json").write_text(
        json.dumps({"pytorch": torch.__version__, "programs": record}, indent=None, separators=(",", ":")) + "\n",
        encoding="utf-8",
    )
