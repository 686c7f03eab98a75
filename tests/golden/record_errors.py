"""Records what PyTorch raises for the lines of `tests/errors/snippets.py`: `python -m tests.golden.record_errors`."""

import json
import warnings
from pathlib import Path

import torch

from tests.errors.snippets import objects, rows


def failure(line: str) -> list[str]:
    """Type and text of what the line raises."""
    try:
        exec(line, objects(torch))
    except Exception as error:
        return [type(error).__name__, str(error)]
    raise AssertionError(f"{line!r} does not fail")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    lines = [f"{json.dumps(line)}: {json.dumps(failure(line))}" for _, line in rows()]
    text = f'{{"pytorch": "{torch.__version__}",\n"errors": {{\n' + ",\n".join(lines) + "\n}}\n"
    (Path(__file__).parent / "errors.json").write_text(text, encoding="utf-8")
