"""Checkpoints of several processes: what four have saved, two and one load, equal to the last bit."""

from pathlib import Path

import pytest

import torchlike as torch
from tests.distributed.checkpoint_scenarios import whole_tensors
from tests.distributed.processes import Processes
from torchlike.distributed import checkpoint

pytestmark = pytest.mark.recorded


def test_what_four_processes_have_saved_two_and_one_load(tmp_path: Path) -> None:
    folder = str(tmp_path)
    four = Processes(4)
    assert four.run("saved", folder, 1) == [None] * 4
    assert four.run("loaded", folder, 1) == [[[], 1, True]] * 4
    assert four.run("saved", folder, 2) == [None] * 4
    # A process that cannot write leaves what was there, and all processes say which one it was.
    assert four.run("saved", folder, 3, True) == ["[3]"] * 4
    assert four.run("loaded", folder, 2) == [[[], 2, True]] * 4
    four.close()
    two = Processes(2)
    assert two.run("loaded", folder, 2) == [[[], 2, True]] * 2
    two.close()
    state = {"tensors": {name: torch.zeros_like(each) for name, each in whole_tensors(torch, 0).items()}, "step": 0}
    checkpoint.load(state, checkpoint_id=folder)
    expected = whole_tensors(torch, 2)
    assert all(torch.equal(each, expected[name]) for name, each in state["tensors"].items()) and state["step"] == 2


def test_training_in_processes_goes_on_from_a_checkpoint(tmp_path: Path) -> None:
    two = Processes(2)
    before = two.run("trained", str(tmp_path), True)
    for after, expected in zip(two.run("trained", str(tmp_path), False), before, strict=True):
        assert after[0] == expected[0]
        assert after == pytest.approx(expected, rel=1e-6)  # programs of other sizes round in another way
    two.close()
