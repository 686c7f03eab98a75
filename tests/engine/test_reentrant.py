"""If a value is read while an operation is being recorded, the recorded part runs, and the recorder stays consistent."""

import gc
from typing import Any

import numpy as np
import pytest

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


def test_finalizers_that_the_collector_runs_may_read_what_is_pending():
    """If a finalizer raises, Python drops the exception and pytest reports it."""

    class Reader:
        def __init__(self, tensor):
            self.tensor, self.itself = tensor, self

        def __del__(self):
            read.append((self.tensor * 2 + 1).sum())

    read, thresholds = [], gc.get_threshold()
    weight = torch.ones(2, requires_grad=True)
    gc.set_threshold(20, 2, 2)  # so that collections fall into all parts of a run
    try:
        for i in range(40):
            Reader(weight.detach() * i)
            (weight * i).exp().sum().backward()
            Reader(weight * 2)
            weight.grad = None
            assert float((weight.detach() + i).sum()) == 2 + 2 * i
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert gc.isenabled() and len(read) == 80
    assert sorted(x.item() for x in read) == sorted([10.0] * 40 + [2.0 + 4.0 * i for i in range(40)])


@pytest.mark.costly
@pytest.mark.recorded
@pytest.mark.parametrize("threshold", [1, 3, 11, 50])
def test_a_model_trains_as_always_while_finalizers_compute(threshold):
    """Collections fall into recording, replayed backward passes and flushes. The finalizers read several tensors of one collection."""

    class Reader:
        def __init__(self, key, tensor):
            self.key, self.tensor, self.itself = key, tensor, self

        def __del__(self):
            read[self.key] = (self.tensor * 2 + 1).sum()

    def trained(finalizers):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
        optimizer, x, losses = torch.optim.SGD(model.parameters(), lr=0.1), torch.randn(6, 4), []
        for i in range(12):
            if finalizers:
                Reader((i, 0), torch.full((3,), float(i)) * 3)
                Reader((i, 1), torch.ones(2) * i + 1)
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach() + torch.cat([x[i % 6], x[i % 6] + i]).sum())
            if i % 3 == 0:
                losses[-1].item()
        return [loss.item() for loss in losses]

    read, thresholds = {}, gc.get_threshold()
    expected = trained(finalizers=False)
    gc.set_threshold(threshold, 2, 2)
    try:
        losses = trained(finalizers=True)
    finally:
        gc.set_threshold(*thresholds)
    gc.collect()
    assert losses == pytest.approx(expected, rel=1e-5)
    computed = {key: value.item() for key, value in read.items()}
    assert computed == {(i, k): (18.0 * i + 3, 4.0 * i + 6)[k] for i in range(12) for k in (0, 1)}
