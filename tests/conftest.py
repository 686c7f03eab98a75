"""Helpers for all tests: golden files, recorded once from PyTorch by `tests/golden/record*.py`."""

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

GOLDEN = Path(__file__).parent / "golden"

# The recorders import PyTorch and run where it is installed, never with the tests.
collect_ignore_glob = ["golden/*"]


def read_golden(name: str) -> dict[str, Any]:
    """What `tests/golden/<name>.npz` (arrays by name) or `tests/golden/<name>.json` holds."""
    arrays, words = GOLDEN / f"{name}.npz", GOLDEN / f"{name}.json"
    if arrays.exists():
        with numpy.load(arrays, allow_pickle=False) as file:
            return dict(file)
    return json.loads(words.read_text(encoding="utf-8"))


@pytest.fixture(scope="session")
def golden():
    """`golden("ops")` reads the golden file of that name."""
    return read_golden
