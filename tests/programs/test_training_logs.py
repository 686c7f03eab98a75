"""The classifier's training log equals PyTorch's for the same seed, with shuffling and with dropout."""

import pytest

import torchlike
from tests.programs.training import VARIANTS, log
from torchlike.engine import recorder

pytestmark = pytest.mark.composed


@pytest.mark.parametrize("variant", VARIANTS)
def test_log_equals_pytorchs(golden, variant):
    expected_losses, expected_accuracies = golden("training")["logs"][variant]
    torchlike.explain(reset=True)
    losses, accuracies = log(torchlike, variant)
    first = len(expected_losses) // 3
    assert [f"{x:.3e}" for x in losses[:first]] == [f"{x:.3e}" for x in expected_losses[:first]]
    assert losses == pytest.approx(expected_losses, rel=1e-4)
    # within 0.1 points: each of the 300 pictures gets the class that PyTorch predicts
    assert accuracies == pytest.approx(expected_accuracies, abs=1.001e-3)
    if not recorder().op_by_op:
        # programs for a training step, the last smaller one, an evaluation step, its last one, and a few before the loop is compiled
        assert torchlike.explain().compiles <= 12
