"""If a value is read while an operation is being recorded, the recorded part runs, and the recorder stays consistent."""

from typing import Any

import numpy as np

import torchlike as torch


def test_sizes_and_starts_that_are_tensors():
    x, i = torch.from_numpy(np.arange(10)), torch.tensor(0)
    one: Any = torch.as_tensor([1])
    total = torch.zeros((), dtype=torch.int64)
    for _ in range(8):
        total = total + torch.narrow(x, 0, torch.stack([i])[0], one[0])
        i = i + 1
    assert (total.tolist(), i.item()) == ([28], 8)


def test_numbers_that_vary_beside_memory_that_numpy_writes_to():
    array = np.zeros(3)
    x, total = torch.from_numpy(array), torch.zeros(3, dtype=torch.float64)
    for number in range(12):
        array[0] = number
        x.add_(0.25 * number)  # pending, and written to the array later
        total = total + x[1:].sum() * (number + 0.5) + torch.add(x, total, alpha=number / 4)
    expected, state = np.zeros(3), np.zeros(3)
    for number in range(12):
        state[0] = number
        state += 0.25 * number
        expected = expected + state[1:].sum() * (number + 0.5) + (state + expected * number / 4)
    np.testing.assert_allclose(total.numpy(), expected)
