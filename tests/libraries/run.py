"""Runs programs that use libraries built on PyTorch, with torchlike in PyTorch's place, and compares their output with PyTorch's.

Beside each program stand the seconds of the processor's time that it took, and those that it took with PyTorch where this was recorded.

    python -m tests.libraries.run [name ...]            each program under `python -m torchlike`
    python -m tests.libraries.run --quick               those of the libraries in quick.txt, which CI runs
    python -m tests.libraries.run --record [name ...]   under PyTorch itself, whose output is kept in tests/golden/libraries.json

The libraries come from PyPI, unmodified. `make libraries` and `make quick-libraries` make an environment with them and without PyTorch.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

HERE = Path(__file__).parent
GOLDEN = HERE.parent / "golden" / "libraries.json"
SECONDS = HERE.parent / "golden" / "libraries_seconds.json"
NUMBER = re.compile(r"-?\d+\.\d+(?:[eE][-+]?\d+)?|-?\d+")


def programs(names: list[str]) -> dict[str, Path]:
    found = {path.stem.strip("_"): path for path in sorted((HERE / "programs").glob("*.py"))}
    if unknown := [name for name in names if name not in found]:
        sys.exit(f"no such program: {', '.join(unknown)}; there are {', '.join(found)}")
    return {name: path for name, path in found.items() if not names or name in names}


def quick() -> list[str]:
    """Returns the programs of the libraries that install and run quickest; quick.txt has their names on PyPI."""
    lines = (HERE / "quick.txt").read_text(encoding="utf-8").split("\n")
    names = [line.replace("-", "_") for line in lines if line and not line.startswith("#")]
    return [{"pytorch_ignite": "ignite"}.get(name, name) for name in names]


def run(path: Path, command: list[str], timeout: float) -> tuple[str, str, float]:
    """Returns what a program prints, its error (an empty text if none), and the seconds of the processor's time that it took.

    It runs in a folder of its own, because some libraries write files where they run.
    """
    environment = {**os.environ, "PYTHONHASHSEED": "0", "HF_HUB_OFFLINE": "1"}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen([*command, str(path)], stdout=out, stderr=err, env=environment, cwd=folder)
        killer = threading.Timer(timeout, child.kill)
        killer.start()
        _, status, usage = os.wait4(child.pid, 0)  # which, unlike Popen.wait, says what this child alone has used
        killer.cancel()
        child.returncode = os.waitstatus_to_exitcode(status)
        printed, complaints = (_content(file) for file in (out, err))
    error = complaints.strip().split("\n")[-1] if child.returncode else ""
    if child.returncode < 0:
        error = f"was ended by signal {-child.returncode}, or took more than {timeout:.0f} s"
    return printed, error, usage.ru_utime + usage.ru_stime


def _content(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")


def difference(ours: str, theirs: str) -> str:
    """Returns where two outputs differ, in words or in numbers by more than four digits, or an empty text."""
    for mine, other in zip(ours.splitlines(), theirs.splitlines(), strict=False):
        x, y = [float(n) for n in NUMBER.findall(mine)], [float(n) for n in NUMBER.findall(other)]
        close = len(x) == len(y) and all(abs(a - b) <= 1e-4 + 5e-4 * abs(b) for a, b in zip(x, y, strict=True))
        if not close or NUMBER.sub("0", mine) != NUMBER.sub("0", other):
            return f"printed {mine.strip()[:120]!r} where PyTorch printed {other.strip()[:120]!r}"
    count, expected = len(ours.splitlines()), len(theirs.splitlines())
    return "" if count == expected else f"printed {count} lines where PyTorch printed {expected}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("names", nargs="*")
    parser.add_argument("--quick", action="store_true", help="run the programs of the libraries in quick.txt")
    parser.add_argument("--record", action="store_true", help="run PyTorch, and keep what it prints")
    parser.add_argument("--jobs", type=int, default=1, help="how many programs run at once")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for each program")
    options = parser.parse_args()
    golden = json.loads(GOLDEN.read_text(encoding="utf-8")) if GOLDEN.exists() else {}
    taken = json.loads(SECONDS.read_text(encoding="utf-8")) if SECONDS.exists() else {}
    chosen = programs([*options.names, *(quick() if options.quick else [])])
    command = [sys.executable] if options.record else [sys.executable, "-m", "torchlike"]
    failed = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        outcomes = pool.map(lambda path: run(path, command, options.timeout), chosen.values())
        for name, (printed, error, seconds) in zip(chosen, outcomes, strict=True):
            if options.record and not error:
                golden[name], taken[name] = printed, round(seconds, 1)
            elif not options.record:
                error = error or difference(printed, golden[name])
            failed += bool(error)
            beside = f"{taken[name]:7.1f} s" if name in taken else "        -"
            print(f"{'FAILED' if error else 'ok':7s}{name:28s}{seconds:7.1f} s{beside}  {error[:200]}", flush=True)
    if options.record:
        for file, content in ((GOLDEN, golden), (SECONDS, taken)):
            file.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{failed} failed" if failed else "all passed")
    sys.exit(bool(failed))


if __name__ == "__main__":
    main()
