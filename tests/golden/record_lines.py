"""Records what PyTorch makes of the lines in `tests/ops/lines.py` into lines.json: `python -m tests.golden.record_lines`."""

import json
from pathlib import Path

import torch

from tests.ops.lines import BY_FILE, every_line
from tests.ops.running import outcome

if __name__ == "__main__":
    recorded = {file: {line: outcome(torch, line) for line in every_line(file)} for file in BY_FILE}
    text = json.dumps({"torch": torch.__version__, **recorded}, indent=0)
    Path(__file__).with_name("lines.json").write_text(text + "\n", encoding="utf-8")
    print({file: len(rows) for file, rows in recorded.items()})
