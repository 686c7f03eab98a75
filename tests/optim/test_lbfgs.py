"""LBFGS takes PyTorch's steps to the minimum; its state is saved and loaded; errors."""

import pickle

import numpy as np
import pytest

import torchlike as torch
from tests.optim.algorithms import SEARCHES, run_search, valley

pytestmark = pytest.mark.composed

# A curvature is a difference of gradients, so its last bits are the first to differ.
TOLERANCE = {"float32": 1e-5, "float64": 1e-12}


@pytest.mark.parametrize("name", SEARCHES)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_the_way_is_pytorchs(golden, name: str, dtype: str):
    start = f"LBFGS/{name}/{dtype}/"
    expected = {k.removeprefix(start): v for k, v in golden("optim").items() if k.startswith(start)}
    found = run_search(torch, name, dtype, lambda t: t.numpy().copy())
    assert list(found) == list(expected)
    for key, array in found.items():
        tolerance = TOLERANCE[dtype] * (1 if key.startswith(("param", "losses")) else 100)
        np.testing.assert_allclose(array, expected[key], rtol=tolerance, atol=tolerance, err_msg=key)


def test_the_state_has_pytorchs_names_and_goes_on():
    optimizer, params, closure = valley(torch, "float64", line_search_fn="strong_wolfe")
    optimizer.step(closure)
    state, there = pickle.loads(pickle.dumps(optimizer.state_dict())), [p.detach().clone() for p in params]
    names = "H_diag al d func_evals n_iter old_dirs old_stps prev_flat_grad prev_loss ro t"
    assert sorted(state["state"][0]) == names.split()
    optimizer.step(closure)
    expected = [p.detach().numpy().copy() for p in params]
    other, others, closure = valley(torch, "float64", line_search_fn="strong_wolfe")
    with torch.no_grad():
        for param, before in zip(others, there, strict=True):
            param.copy_(before)
    other.load_state_dict(state)
    other.step(closure)
    for param, array in zip(others, expected, strict=True):
        np.testing.assert_allclose(param.detach().numpy(), array, rtol=1e-12)


def test_a_flat_start_ends_at_once():
    w = torch.zeros(2, requires_grad=True)
    optimizer = torch.optim.LBFGS([w])

    def closure():
        optimizer.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 0.0
    assert optimizer.state[w] == {"func_evals": 1, "n_iter": 0}


def test_what_is_refused():
    w, b = torch.ones(2, requires_grad=True), torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match=r"^LBFGS doesn't support per-parameter options \(parameter groups\)$"):
        torch.optim.LBFGS([{"params": [w]}, {"params": [b]}])
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'closure'"):
        torch.optim.LBFGS([w]).step()  # pyright: ignore[reportCallIssue]
    optimizer, _, closure = valley(torch, "float32", line_search_fn="bisection")
    with pytest.raises(RuntimeError, match="^only 'strong_wolfe' is supported$"):
        optimizer.step(closure)
