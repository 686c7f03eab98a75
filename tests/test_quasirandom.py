"""Sobol' sequences: PyTorch's points, scrambled and not, by every method of drawing them."""

import pytest

import torchlike as torch

SobolEngine = torch.quasirandom.SobolEngine


def test_the_first_points_are_pytorchs():
    engine = SobolEngine(2)
    first = [[0, 0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    second = [[0.375, 0.375], [0.875, 0.875], [0.625, 0.125], [0.125, 0.625]]
    assert engine.draw_base2(2).tolist() == first and engine.draw_base2(2).tolist() == second
    assert engine.num_generated == 8
    assert engine.reset() is engine and engine.draw().tolist() == first[:1]
    assert engine.draw(7).tolist() == [*first[1:], *second]


def test_skipping_points_leads_to_the_same_ones():
    for skipped in range(9):
        plain, fast = SobolEngine(5), SobolEngine(5)
        if skipped:
            plain.draw(skipped)
        assert fast.fast_forward(skipped) is fast
        assert fast.draw(3).tolist() == plain.draw(3).tolist()
        assert fast.quasi.tolist() == plain.quasi.tolist()


def test_scrambling_draws_what_pytorch_draws():
    engine = SobolEngine(2, scramble=True, seed=1)
    assert engine.sobolstate[:, 0].tolist() == [618168938, 677328205]
    assert engine.sobolstate[:, -1].tolist() == [1, 888609271] and engine.shift.tolist() == [287468019, 388430972]
    assert engine.draw().flatten().tolist() == pytest.approx([0.2677, 0.3618], abs=1e-4)
    points = SobolEngine(3, scramble=True, seed=5).draw(64, dtype=torch.float64)
    assert points.dtype is torch.float64 and points.min() >= 0 and points.max() < 1
    for column in (points * 4).long().T:  # as evenly distributed as the plain sequence
        assert column.bincount().tolist() == [16] * 4


def test_results_may_be_given_memory_and_dtype():
    out = torch.empty(0)
    assert SobolEngine(3).draw(4, out=out) is out and out.shape == (4, 3)


def test_what_is_wrong_is_said_in_pytorchs_words():
    for dimension in (0, 21202):
        with pytest.raises(ValueError, match=r"Supported range of dimensionality for SobolEngine is \[1, 21201\]"):
            SobolEngine(dimension)
    engine = SobolEngine(2)
    engine.draw(3)
    with pytest.raises(ValueError, match=r"3 points have been previously generated, then: n=3\+2\*\*1=5"):
        engine.draw_base2(1)
    with pytest.raises(RuntimeError, match="negative dimension -1"):
        SobolEngine(2).draw(0)
    assert repr(SobolEngine(3, scramble=True, seed=2)) == "SobolEngine(dimension=3, scramble=True, seed=2)"
