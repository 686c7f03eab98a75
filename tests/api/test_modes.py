"""The options of the suite choose in which modes its tests run."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"^(tests/\S+::.*?)\[(.*-)?(traced|eager|interpreted)\]$")

pytestmark = pytest.mark.recorded


def collected(option: str) -> dict[str, set[str]]:
    """The modes of each test of some files."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", option]
    files = ["tests/autograd/test_inplace.py", "tests/nn/test_flax.py", "tests/api/test_modes.py"]
    done = subprocess.run([*command, *files], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    modes = defaultdict[str, set[str]](set)
    for line in done.stdout.splitlines():
        if found := NAME.match(line):
            modes[f"{found[1]}[{found[2] or ''}"].add(found[3])
    return modes


def test_each_once_leaves_no_test_out_and_compiles_some():
    every, once = collected("--every-mode"), collected("--each-once")
    assert once.keys() == every.keys()
    assert all(modes <= every[test] for test, modes in once.items())
    others = {test: modes for test, modes in once.items() if "interpreted" in every[test]}
    assert all("interpreted" in modes for modes in others.values())
    counts = Counter(len(modes) for modes in others.values())
    assert 0.03 < counts[2] / len(others) < 0.25
    assert once[f"tests/api/test_modes.py::{test_each_once_leaves_no_test_out_and_compiles_some.__name__}["] == {
        "traced"
    }
