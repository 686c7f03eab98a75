"""Writes the golden files anew with PyTorch: `python -m tests.golden.record`, or only some, with their names as arguments.

`tests/golden/tables.py` computes their content, and this file defines their layout. It needs an installed PyTorch.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from tests.conftest import GOLDEN
from tests.golden import ops
from tests.golden.packed import pack
from tests.golden.tables import TABLES, answers

COMPACT = (",", ":")


def a_line_for_each_part(words: dict[str, Any]) -> str:
    version, *parts = (f"{json.dumps(name)}: {json.dumps(part)}" for name, part in words.items())
    return f"{{{version},\n" + ",\n".join(parts) + "}"


def a_line_for_each_error(words: dict[str, Any]) -> str:
    lines = (f"{json.dumps(line)}: {json.dumps(error)}" for line, error in words["errors"].items())
    return f'{{"pytorch": {json.dumps(words["pytorch"])},\n"errors": {{\n' + ",\n".join(lines) + "\n}}"


def a_line_for_each_case(words: dict[str, Any]) -> str:
    lines = (json.dumps(row, separators=COMPACT) for row in words["cases"])
    return f'{{"torch":{json.dumps(words["torch"])},"cases":[\n' + ",\n".join(lines) + "\n]}"


def a_line_for_each_entry(words: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(key)}:{json.dumps(value)}" for key, value in words.items()) + "\n}"


# The layout of a file: few and meaningful lines, so that a difference shows what changed. Other files are JSON of one line.
LAYOUTS: dict[str, Callable[[dict[str, Any]], str]] = {
    "complex": lambda words: json.dumps(words, indent=0),
    "data": lambda words: json.dumps(words, separators=COMPACT),
    "dtypes": a_line_for_each_part,
    "errors": a_line_for_each_error,
    "flags": a_line_for_each_entry,
    "levels": lambda words: json.dumps(words).replace('}, "', '},\n"'),
    "lines": lambda words: json.dumps(words, indent=0),
    "printing": a_line_for_each_case,
    "rng": lambda words: json.dumps(words).replace('}, {"', '},\n{"'),
} | dict.fromkeys(
    (
        *(
            "dispatching",
            "distribution_words",
            "fx",
            "nn_words",
            "operators",
            "overrides",
            "programs",
            "scripts",
            "sequence_words",
        ),
        *("flops", "quantization", "sparse", "static_quantization", "testing", "traces", "training"),
    ),
    lambda words: json.dumps(words, indent=1),
)


def version_of(name: str) -> dict[str, str]:
    """Returns PyTorch's version as written in the file."""
    if name == "complex":
        return {}
    if name == "rng":
        return {"torch": torch.__version__.partition("+")[0]}
    return {"pytorch" if name in ("dtypes", "errors", "programs") else "torch": torch.__version__}


def record(name: str, folder: Path) -> None:
    """Writes one file."""
    content = answers(name, torch)
    if all(isinstance(value, np.ndarray) for value in content.values()):
        np.savez_compressed(folder / f"{name}.npz", **content)
    else:
        text = LAYOUTS.get(name, json.dumps)(version_of(name) | content)
        (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")
    print(f"{name}: {len(content)} entries")


def record_ops(folder: Path) -> None:
    arrays, words, left_out = ops.everything()
    pack(folder / "ops.npz", arrays, words)
    print(f"ops: {len(words) - 2} calls and {len(words['refused'])} refusals; left out {len(left_out)}:")
    for key, why in left_out.items():
        print(f"  {key}: {why}"[:200])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.golden.record", description=__doc__)
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"of ops, {', '.join(TABLES)}; all where none is named"
    )
    parser.add_argument("--folder", type=Path, default=GOLDEN, help="where the files go, instead of tests/golden")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    if unknown := {*asked.names} - {"ops", *TABLES}:
        parser.error(f"there is no {', '.join(sorted(unknown))}")
    for name in asked.names or ["ops", *TABLES]:
        record_ops(asked.folder) if name == "ops" else record(name, asked.folder)
