"""Optimisers beside PyTorch where it is installed: twenty steps, and a state that goes from one to the other and on."""

import numpy as np
import pytest

import torchlike
from tests.optim.algorithms import ALGORITHMS, make, problem, run, train

torch = pytest.importorskip("torch")


def numpy(tensor):
    return tensor.detach().numpy().copy()


@pytest.mark.parametrize("name", ALGORITHMS)
def test_twenty_steps(name: str):
    expected, found = run(torch, name, "float64", numpy), run(torchlike, name, "float64", numpy)
    assert list(found) == list(expected)
    tolerance = 1e-6 if name.startswith("Muon") else 1e-12  # Muon computes in bfloat16
    for key, array in found.items():
        np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance, err_msg=key)


def translated(value, to):
    """A state dictionary with the tensors of the other side."""
    if isinstance(value, dict):
        return {k: translated(v, to) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(translated(v, to) for v in value)
    return to.tensor(value.numpy().copy()) if hasattr(value, "numpy") else value


@pytest.mark.parametrize("name", [n for n in ALGORITHMS if "_" not in n and n != "Muon"])
@pytest.mark.parametrize(("here", "there"), [(torch, torchlike), (torchlike, torch)], ids=["from", "to"])
def test_a_state_goes_over_and_on(name: str, here, there):
    params, loss = problem(here, "float64")
    optimizer = make(here, name, params)
    train(optimizer, loss, 3)
    others, other_loss = problem(there, "float64")
    with there.no_grad():
        for mine, other in zip(params, others, strict=True):
            other.copy_(there.tensor(numpy(mine)))
    other = make(there, name, others)
    other.load_state_dict(translated(optimizer.state_dict(), there))
    optimizer.load_state_dict(optimizer.state_dict())  # which rounds what other dtypes the state has
    train(optimizer, loss, 3)
    train(other, other_loss, 3)
    for mine, theirs in zip(params, others, strict=True):
        np.testing.assert_allclose(numpy(theirs), numpy(mine), rtol=1e-10)
