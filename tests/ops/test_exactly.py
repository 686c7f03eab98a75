"""Divisions are rounded once, whatever the compiler knows of the divisor: bit for bit what NumPy and PyTorch's CPU kernels give."""

import numpy as np
import pytest

import torchlike as torch

X = (np.random.default_rng(0).normal(size=(40, 49)) * 30).astype(np.float32)
ROW = np.abs(X[:1]) + np.float32(0.5)
SEVEN, TENTH, HUNDRED = np.float32(7), np.float32(0.1), np.float32(100)

QUOTIENTS = {
    "number": (lambda x, row: x / 7, X / SEVEN),
    "0-dim tensor": (lambda x, row: x / torch.tensor(7.0), X / SEVEN),
    "row": (lambda x, row: x / row, X / ROW),
    "expanded row": (lambda x, row: x / row.expand_as(x), X / ROW),
    "root": (lambda x, row: x / row.sqrt(), X / np.sqrt(ROW)),
    "one element": (lambda x, row: x[3, 4] / 7, X[3, 4] / SEVEN),
    "back": (lambda x, row: x * 7 / 7, X * SEVEN / SEVEN),
    "integers": (lambda x, row: x.long() / 7, X.astype(np.int64).astype(np.float32) / SEVEN),
    "truncated": (lambda x, row: torch.div(x, 0.1, rounding_mode="trunc"), np.trunc(X / TENTH)),
    "decimals": (lambda x, row: x.round(decimals=2), np.round(X * HUNDRED) / HUNDRED),
    "mean": (lambda x, row: x.round().mean(1), np.round(X).sum(1) / np.float32(49)),
    "addcdiv": (lambda x, row: torch.addcdiv(x, x, row, value=0.5), X + X * np.float32(0.5) / ROW),
    "rsqrt": (lambda x, row: row.rsqrt(), np.float32(1) / np.sqrt(ROW)),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_to_the_last_bit(name):
    quotient, expected = QUOTIENTS[name]
    for _ in range(3):  # op by op, and as a compiled trace
        found = quotient(torch.from_numpy(X.copy()), torch.from_numpy(ROW.copy())).numpy()
        np.testing.assert_array_equal(found, expected)


def test_quotients_rounded_down_are_those_of_the_exact_division():
    # The float32 number 0.1 is a little more than a tenth, so that 2.1 holds 20 of them, as PyTorch counts.
    x = torch.tensor([2.1, 0.3, -1.9, -2.2, 0.7])
    assert torch.div(x, 0.1, rounding_mode="floor").tolist() == [20, 3, -19, -23, 6]


def test_gradients_too():
    x = torch.from_numpy(X.copy()).requires_grad_()
    for _ in range(3):
        x.grad = None
        (x / 7).backward(torch.from_numpy(ROW.copy()).expand_as(x))
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(ROW / SEVEN, X.shape))
