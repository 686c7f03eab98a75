"""Draws from distributions that consume a varying number of random words, compared with PyTorch's on random parameters."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import torchlike

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.compare
QUICK = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def both(seed, draw):
    """Returns both libraries' draws for a seed, and the next number, which shows that both consumed as much of the stream."""
    found = []
    for library in (torch, torchlike):
        library.manual_seed(seed)
        drawn = draw(library)
        found.append((drawn.numpy(), library.rand(1).item()))
    return found


@QUICK
@given(seed=st.integers(0, 2**32), scale=st.sampled_from([0.1, 1.0, 5.0, 200.0]), double=st.booleans())
def test_laws_are_pytorchs(seed, scale, double):
    numbers = np.random.default_rng(seed).uniform(0.02, 1, (4, 3)) * scale
    dtype = "float64" if double else "float32"

    def tensor(library, array):
        return library.tensor(array, dtype=getattr(library, dtype))

    draws = {
        "poisson": lambda t: t.poisson(tensor(t, numbers)),
        "binomial": lambda t: t.binomial(tensor(t, np.ceil(numbers * 9)), tensor(t, numbers / scale)),
        "gamma": lambda t: t.distributions.Gamma(tensor(t, numbers), 2.0).sample((2,)),
        "dirichlet": lambda t: t.distributions.Dirichlet(tensor(t, numbers)).sample((2,)),
        "von mises": lambda t: t.distributions.VonMises(tensor(t, numbers), tensor(t, numbers)).sample(),
        "student": lambda t: t.distributions.StudentT(tensor(t, numbers)).sample(),
    }
    for name, draw in draws.items():
        (expected, after), (got, then) = both(seed, draw)
        assert after == then, name
        np.testing.assert_allclose(got, expected, 1e-12 if double else 1e-4, 1e-30, err_msg=name)
