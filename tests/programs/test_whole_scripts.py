"""Programs that `import torch` run unchanged under `python -m torchlike`, and print the numbers that PyTorch printed."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.programs import random_blocks
from tests.programs.whole_scripts import FOLDER

ROOT = Path(__file__).parents[2]
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
NUMBER = re.compile(r"-?\d+\.\d*(?:e[+-]?\d+)?")

pytestmark = pytest.mark.recorded


@pytest.fixture(scope="module")
def outputs() -> dict[str, dict[str, str]]:
    command = [sys.executable, "-m", "torchlike", "-m", "tests.programs.whole_scripts"]
    environment = os.environ | {"TORCHLIKE_COMPILE": "auto"}  # as users run it
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, env=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_there_are_forty_nine(golden):
    assert len(NAMES) >= 49 and sorted(golden("scripts")["printed"]) == NAMES


@pytest.mark.costly
@pytest.mark.parametrize("name", NAMES)
def test_a_script_prints_what_it_printed_with_pytorch(outputs, golden, name):
    assert_same(outputs["printed"][name], golden("scripts")["printed"][name])


@pytest.mark.parametrize("name", random_blocks.BLOCKS)
def test_a_block_of_a_lesson_prints_what_it_printed_with_pytorch(outputs, golden, name):
    assert_same(outputs["lessons"][name], golden("programs")["random"][name])


def assert_same(found: str, expected: str) -> None:
    """Asserts that two texts are equal, with numbers that agree to four digits."""
    assert NUMBER.sub("#", found) == NUMBER.sub("#", expected)
    numbers, wanted = ([float(each) for each in NUMBER.findall(text)] for text in (found, expected))
    assert numbers == pytest.approx(wanted, rel=1e-4, abs=2e-5)
