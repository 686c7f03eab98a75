"""What a user waits for: seconds from the start of a process until its first steps are done, and its memory, beside PyTorch's.

    python -m benchmarks.first_minute [--rounds 1] [--only transformer] [--json FILE] [--memory]

Each engine trains in a process of its own, imports included: ``first_steps.py``. `torchlike` begins with an empty cache of programs,
`torchlike, again` with what that run has left there. With ``--memory`` the figures are the peaks of the whole processes.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from ._rounds import Figures, Result, arguments, engines, finish
from .first_steps import CASES
from .step import MODULES

PROGRAM = Path(__file__).with_name("first_steps.py")
# The steps whose end is noted.
MARKS = (1, 10, 40)
AGAIN = "torchlike, again"


def process(engine: str, case: str, cache: str) -> tuple[list[float], float]:
    """Seconds from the start of a process until each of its steps was done, and its peak memory in MiB."""
    command = [sys.executable, str(PROGRAM), MODULES[engine], case, "--steps", str(max(MARKS)), "--seconds", "600"]
    environment = {**os.environ, "TORCHLIKE_CACHE_DIR": cache, "TORCHLIKE_COMPILE": "auto"}  # as users run it
    lines = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.splitlines()
    return [float(line.split()[1]) for line in lines if line.split()[0].isdigit()], float(lines[-1])


def run(rounds: int = 1, only: str | None = None) -> tuple[Result, Result]:
    """The seconds until steps are done, and the peaks of memory."""
    seconds, memory = Result("first_minute", "s"), Result("processes", "MiB")
    for case in CASES:
        if only not in (None, case):
            continue
        times: dict[int, Figures] = {mark: {} for mark in MARKS}
        peaks: Figures = {}
        for _ in range(rounds):
            with tempfile.TemporaryDirectory() as cache:
                for name in engines("torchlike", "pytorch"):
                    for shown in (name, AGAIN) if name == "torchlike" else (name,):
                        ends, peak = process(name, case, cache)
                        peaks.setdefault(shown, []).append(peak)
                        for mark in MARKS:
                            times[mark].setdefault(shown, []).append(ends[mark - 1])
        for mark in MARKS:
            seconds.add(f"{case}, {mark} step{'s' if mark > 1 else ''}", times[mark])
        memory.add(case, peaks)
    return seconds, memory


def main() -> None:
    parser = arguments(__doc__, 1, CASES)
    parser.add_argument("--memory", action="store_true")
    args = parser.parse_args()
    finish(run(args.rounds, args.only)[args.memory], args.json)


if __name__ == "__main__":
    main()
