"""Runs programs of either library in a process of their own, so that a crash or a hang ends only that process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from .comparing import first_difference
from .running import run

ROOT = Path(__file__).parents[2]


def serve(
    module: str, double: bool, op_by_op: bool, words: bool, uninterrupted: bool = False, copies: bool = False
) -> None:
    """Runs the programs that come as JSON lines, ``[seed, text]``, and writes ``[seed, rows]`` for each."""
    import importlib

    torch = importlib.import_module(module)
    if double:
        torch.set_default_dtype(torch.float64)
    if module == "torch":
        torch.set_num_threads(1)
    elif op_by_op:
        os.environ["TORCHLIKE_OP_BY_OP"] = "1"  # for threads that start later
        importlib.import_module("torchlike.engine").set_op_by_op(True)
    for line in sys.stdin:
        seed, text = json.loads(line)
        print(json.dumps([seed, run(module, text, words, uninterrupted, copies)]), flush=True)


def rows_of(module: str, programs: dict[int, str], *options: str, timeout: float = 120) -> dict[int, Any]:
    """Returns the rows by seed, from one process. A program that ends the process, or takes too long, has one row that says so."""
    command = [sys.executable, "-m", "tests.fuzz", "serve", module, *options]
    text = "".join(json.dumps([seed, text]) + "\n" for seed, text in programs.items())
    try:
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=timeout, cwd=ROOT, check=False
        )
        lines, end, said = done.stdout, done.returncode, done.stderr[-600:]
    except subprocess.TimeoutExpired as late:
        lines, end, said = (late.stdout or b"").decode(), f"after {timeout} seconds", ""
    found = dict(json.loads(line) for line in lines.splitlines() if line.startswith("["))
    if end:
        lost = next((seed for seed in programs if seed not in found), None)
        if lost is not None:
            found[lost] = [["the process ended", str(end), said]]
    return found


def difference(text: str, *options: str):
    """Returns the first difference between the two libraries' rows of one program, each in a process of its own."""
    theirs = rows_of("torch", {0: text}, *(o for o in options if o in ("--double", "--words")))
    ours = rows_of("torchlike", {0: text}, *options)
    return first_difference(theirs[0], ours[0])
