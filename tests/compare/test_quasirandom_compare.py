"""Sobol' sequences against PyTorch's."""

import pytest

import torchlike

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.compare, pytest.mark.recorded]


@pytest.mark.parametrize(
    ("dimension", "scramble", "seed"),
    [(1, False, None), (40, False, None), (1200, False, None), (50, True, 7), (4, True, None)],
)
def test_points_are_pytorchs(dimension, scramble, seed):
    torch.manual_seed(3)
    torchlike.manual_seed(3)
    engines = [t.quasirandom.SobolEngine(dimension, scramble, seed) for t in (torch, torchlike)]
    for n in (1, 3, 4, 7):
        theirs, ours = (engine.draw(n) for engine in engines)
        assert ours.tolist() == theirs.tolist()
    theirs, ours = (engine.fast_forward(13).draw(5) for engine in engines)
    assert ours.tolist() == theirs.tolist()
    assert engines[1].quasi.tolist() == engines[0].quasi.tolist()
