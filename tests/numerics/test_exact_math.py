"""Divisions are rounded once, whatever the compiler knows about the divisor: bit for bit as by NumPy and PyTorch's CPU kernels."""

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
    "again": (lambda x, row: x / 7 / row, X / SEVEN / ROW),
    "twice": (lambda x, row: 1 / (1 / x), 1 / (1 / X)),
    "cumsum": (lambda x, row: x.cumsum(1), np.cumsum(X, 1, np.float64).astype(np.float32)),
    "cumprod": (lambda x, row: (x / 16).cumprod(0), np.cumprod(X / 16, 0, np.float64).astype(np.float32)),
    "var": (lambda x, row: x.var(1), X.astype(np.float64).var(1, ddof=1).astype(np.float32)),
    "pool": (
        lambda x, row: torch.nn.functional.adaptive_avg_pool1d(x.round()[None], 10)[0, :, 0],
        np.round(X)[:, :5].sum(1) / np.float32(5),
    ),
    "rsqrt": (lambda x, row: row.rsqrt(), np.float32(1) / np.sqrt(ROW)),
}


@pytest.mark.parametrize("name", QUOTIENTS)
def test_to_the_last_bit(name):
    quotient, expected = QUOTIENTS[name]
    for _ in range(3):  # in eager mode, and as a compiled trace
        found = quotient(torch.from_numpy(X.copy()), torch.from_numpy(ROW.copy())).numpy()
        np.testing.assert_array_equal(found, expected)


def test_what_is_rounded_down_later_is_not_one_off():
    tenths = np.arange(-500, 500, dtype=np.float32) / np.float32(10)
    found = torch.div(torch.arange(-500, 500) / 10, 0.1, rounding_mode="floor")
    assert found.tolist() == np.floor_divide(tenths, TENTH).tolist()


def test_elements_fall_into_the_bins_of_the_exact_division():
    tenths = torch.arange(-500, 500) / 10  # on the borders and between them
    assert torch.histc(tenths, 20, -50, 50).tolist() == [50.0] * 20


def test_gradients_too():
    x = torch.from_numpy(X.copy()).requires_grad_()
    for _ in range(3):
        x.grad = None
        (x / 7).backward(torch.from_numpy(ROW.copy()).expand_as(x))
        assert x.grad is not None
        np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(ROW / SEVEN, X.shape))


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_powers_and_logarithms_of_whole_numbers(dtype):
    whole = torch.arange(-20, 21, dtype=dtype)
    powers = [2.0**n for n in range(-20, 21)]
    assert torch.exp2(whole).tolist() == powers
    assert torch.log2(torch.tensor(powers, dtype=dtype)).tolist() == whole.tolist()
    assert torch.log10(torch.tensor([10.0**n for n in range(16)], dtype=dtype)).tolist() == list(range(16))
