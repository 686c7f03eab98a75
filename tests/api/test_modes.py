"""The options of the suite choose in which modes its tests run."""

import re
import subprocess
import sys
from collections import Counter, defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NAME = re.compile(r"^(tests/\S+::.*?)\[(.*-)?(traced|eager|interpreted)\]$")
COSTLY = "tests/engine/test_scatters.py::test_values_are_the_same_and_sums_are_scattered"

pytestmark = pytest.mark.recorded


def collected(*options: str) -> dict[str, dict[str, set[str]]]:
    """The modes of each case of each test of some files."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *options]
    files = ["autograd/test_inplace.py", "nn/test_flax.py", "api/test_modes.py", "engine/test_scatters.py"]
    paths = [f"tests/{file}" for file in files]
    done = subprocess.run([*command, *paths], cwd=ROOT, capture_output=True, text=True, timeout=300, check=True)
    modes = defaultdict[str, dict[str, set[str]]](lambda: defaultdict(set))
    for line in done.stdout.splitlines():
        if found := NAME.match(line):
            modes[found[1]][found[2] or ""].add(found[3])
    return modes


def test_each_once_leaves_no_test_out_and_compiles_some():
    every, once = collected("--every-mode"), collected("--each-once")
    assert once.keys() == every.keys()
    others = []
    for test, cases in every.items():
        assert all(once[test][case] <= modes for case, modes in cases.items())
        left_out = [case for case in cases if not once[test][case]]
        assert len(cases) - len(left_out) >= (max(2, len(cases) / 4) if test == COSTLY else len(cases))
        others += [once[test][case] for case, modes in cases.items() if "interpreted" in modes and case not in left_out]
    assert all("interpreted" in modes for modes in others)
    assert 0.01 < Counter(map(len, others))[2] / len(others) < 0.1
    assert len([case for case, modes in once[COSTLY].items() if modes]) < len(every[COSTLY])
    assert once[f"tests/api/test_modes.py::{test_each_once_leaves_no_test_out_and_compiles_some.__name__}"] == {
        "": {"traced"}
    }


def test_turns_leave_no_test_out_and_show_all_modes_together():
    every = collected("--every-mode")
    turns = [collected("--every-mode", "--turn", str(turn)) for turn in range(6)]
    for test, cases in every.items():
        for case, modes in cases.items():
            assert set().union(*(turn[test][case] for turn in turns)) == modes
            always = modes & {"interpreted"} or modes
            assert test == COSTLY or all(always <= turn[test][case] for turn in turns)
            for mode in modes - always:
                assert sum(mode in turn[test][case] for turn in turns) == 1
    for turn in turns:
        assert turn.keys() >= every.keys()
        assert len(every[COSTLY]) / 8 < sum(map(bool, turn[COSTLY].values())) < len(every[COSTLY]) / 4
