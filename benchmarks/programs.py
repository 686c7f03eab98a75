"""Whole programs, each as a process of its own, with PyTorch and with torchlike in its place, in turns.

    python -m benchmarks.programs [--rounds 3] [--only char_gpt] [--json FILE]

The programs are those of `tests/programs/scripts`, short and none of them a steady loop alone. What counts is the time of the process
less that of ``import torch``. torchlike runs each twice: with an empty cache, and with what the first run left there. They print the
same numbers: a test sees to that.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ._rounds import Result, arguments, engines, finish

FOLDER = Path(__file__).parents[1] / "tests" / "programs" / "scripts"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py"))
LEAST = 0.01  # seconds: shown for a program that takes no longer than the import
COMMANDS = {"torchlike": ["-m", "torchlike"], "torchlike, first": ["-m", "torchlike"], "pytorch": []}


def seconds(command: list[str], cache: str) -> float:
    """The seconds from the start of a process to its end.

    Raises:
        subprocess.CalledProcessError: it failed.
    """
    environment = os.environ | {"TORCHLIKE_CACHE_DIR": cache, "XDG_CACHE_HOME": cache, "TORCHLIKE_COMPILE": "auto"}
    start = time.perf_counter()
    subprocess.run(
        [sys.executable, *command], env=environment, check=True, capture_output=True, cwd=Path(__file__).parents[1]
    )
    return time.perf_counter() - start


def imports(names: list[str], folder: str) -> dict[str, float]:
    """Seconds of a program that only imports, the fastest of three."""
    program = Path(folder, "imports.py")
    program.write_text("import torch\n", encoding="utf-8")
    return {name: min(seconds([*COMMANDS[name], str(program)], folder) for _ in range(3)) for name in names}


def run(rounds: int = 3, only: str | None = None) -> Result:
    """Seconds of each program without the import."""
    result = Result("programs", "s")
    names = ["torchlike, first", "torchlike", *engines("pytorch")]
    with tempfile.TemporaryDirectory() as folder:
        least = imports(names, folder)
        for program in PROGRAMS if only is None else [only]:
            figures: dict[str, list[float]] = {name: [] for name in ("torchlike", *names)}
            for number in range(rounds):
                cache = str(Path(folder, f"{program}-{number}"))
                for name in names:
                    took = seconds([*COMMANDS[name], str(FOLDER / f"{program}.py")], cache) - least[name]
                    figures[name].append(max(took, LEAST))
            result.add(program, figures)
    return result


def main() -> None:
    args = arguments(__doc__, 3, PROGRAMS).parse_args()
    finish(run(args.rounds, args.only), args.json)


if __name__ == "__main__":
    main()
