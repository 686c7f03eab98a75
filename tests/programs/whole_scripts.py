"""Runs the programs of the folder scripts and blocks of lessons, and collects what they print.

`python -m torchlike -m tests.programs.whole_scripts` prints it as JSON; there `import torch` means torchlike, otherwise PyTorch.
"""

import contextlib
import io
import json
import re
import runpy
import sys
import warnings
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest import mock

FOLDER = Path(__file__).with_name("scripts")


def printed(path: Path) -> str:
    """Runs a program as the main program and returns what it prints, without addresses."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), mock.patch.object(sys, "argv", [str(path)]):
        runpy.run_path(str(path), run_name="__main__")
    return re.sub(r"0x[0-9a-f]+", "0x", out.getvalue())


def everything(torch: ModuleType) -> dict[str, Any]:
    assert sys.modules["torch"] is torch, "the programs would run on another torch"
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        found[path.stem] = printed(path)
        torch.use_deterministic_algorithms(False)
    return {"printed": found}


if __name__ == "__main__":
    import torch  # pyright: ignore[reportMissingImports]

    from tests.programs import blocks, random_blocks

    warnings.simplefilter("ignore")
    lessons = {name: blocks.printed(torch, block, torch) for name, block in random_blocks.BLOCKS.items()}
    json.dump(everything(torch) | {"lessons": lessons}, sys.stdout)
