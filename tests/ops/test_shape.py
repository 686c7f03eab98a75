"""Lines of `tests/ops/lines.py` about shapes: results, layouts, gradients, errors as recorded from PyTorch."""

import pytest

import torchlike as torch
from tests.ops.lines import every_line
from tests.ops.running import outcome


@pytest.mark.parametrize("line", every_line("shape"))
def test_as_recorded(line, golden):
    assert outcome(torch, line) == golden("lines")["shape"][line]
