"""Lines of `tests/ops/lines.py` about Python numbers in tensors: which fit a dtype, wrap or raise, and even spacing."""

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import adopt_near, outcome


@pytest.mark.parametrize("shared", [False, True], ids=["own", "shared"])
@pytest.mark.parametrize("line", every_line("numbers"))
def test_as_recorded(line, shared, golden):
    told = outcome(torch, line, shared)
    assert told == adopt_near(golden("lines")["numbers"][line], told)
