"""As many of the recorded calls of operators as the time allows, on the device, in an order that is another one each day."""

from __future__ import annotations

import datetime
import os
import re
import subprocess
import sys
import time
from pathlib import Path

from . import device

COUNTED = re.compile(r"(\d+) (passed|failed|xfailed|skipped|error)")


def run(folder: Path, seconds: float) -> dict[str, object]:
    """How many calls passed and failed, and the names of those that failed; the whole report is a file of the folder."""
    processes = 2 if device.is_made_up() else max(2, min(12, (os.cpu_count() or 2) - 2))
    order = os.environ.get("TORCHLIKE_ACCELERATOR_ORDER", datetime.date.today().isoformat())
    environment = os.environ | {
        "TORCHLIKE_ACCELERATOR": "all",
        "TORCHLIKE_ACCELERATOR_ORDER": order,
        "TORCHLIKE_ACCELERATOR_UNTIL": str(time.time() + seconds * 0.85),  # the rest is for starting and reporting
    }
    command = [
        *(sys.executable, "-m", "pytest", "tests/accelerator/test_operators.py", "-W", "default", "-q", "--tb=short"),
        *("-rfxE", "-n", str(processes), "--durations=15", "-p", "no:cacheprovider"),
    ]
    report = folder / "operators.log"
    with report.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, env=environment)
        try:
            process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    text = report.read_text(errors="replace")
    lines = text.splitlines()
    counts = {word: int(number) for number, word in COUNTED.findall(lines[-1] if lines else "")}
    failed = [line.split(" ")[1].partition("::")[2] for line in lines if line.startswith(("FAILED ", "ERROR "))]
    return {"order": order, **counts, "failures": failed}
