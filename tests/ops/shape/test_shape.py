"""Shapes: the lines of `tests/ops/lines.py` give the results, layouts, gradients and errors recorded from PyTorch."""

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("shape"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["shape"][line], told)
