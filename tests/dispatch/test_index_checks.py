"""Indices that are known when an op is called are checked there, once, and again as soon as anything about the call is another."""

import numpy as np
import pytest

import torchlike as torch
from torchlike.dispatch import index_checks

F = torch.nn.functional
TABLE = torch.arange(20.0).reshape(10, 2)


def known(*numbers):
    """Indices that lie on the host."""
    return torch.tensor(numbers)


def computed(*numbers):
    """Indices that a program has computed before."""
    indices = torch.tensor(numbers) + 0
    torch.engine.flush()
    return indices


@pytest.mark.parametrize("make", [known, computed])
def test_a_wrong_index_is_told_at_its_line(make):
    good, bad = make(1, 9), make(1, 10)
    for _ in range(4):
        assert F.embedding(good, TABLE).tolist() == [[2, 3], [18, 19]]
    happened = False
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(bad, TABLE)
        happened = True
    assert not happened


@pytest.mark.parametrize("make", [known, computed])
def test_an_index_is_checked_for_each_table(make):
    rows = make(1, 9)
    F.embedding(rows, TABLE)
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(rows, TABLE[:9].clone())
    assert F.embedding(rows, TABLE).tolist() == [[2, 3], [18, 19]]


def test_a_target_is_checked_for_each_class_that_is_ignored():
    logits, target = torch.zeros(2, 3), known(0, 3)
    assert F.cross_entropy(logits, target, ignore_index=3).item() == pytest.approx(np.log(3))
    with pytest.raises(IndexError, match="Target 3 is out of bounds"):
        F.cross_entropy(logits, target, ignore_index=1)


def test_the_other_indices_of_a_call_are_checked_with_the_first():
    first, second, beyond = known(0, 1), known(0, 1), known(0, 2)
    for _ in range(3):
        assert TABLE[first, second].tolist() == [0, 3]
    with pytest.raises(IndexError, match="index 2 is out of bounds"):
        TABLE[first, beyond]


@pytest.mark.parametrize(
    "write",
    [
        lambda rows: rows.__setitem__(1, 10),
        lambda rows: rows.__setitem__(slice(1, 2), torch.tensor([10])),
        lambda rows: rows[1:].add_(9),
        lambda rows: rows[1].fill_(10),
        lambda rows: rows.add_(9),
        lambda rows: rows.data.mul_(10),
        lambda rows: rows.copy_(torch.tensor([1, 10])),
        lambda rows: rows.numpy().__setitem__(1, 10),
        lambda rows: rows.set_(torch.tensor([1, 10])),
    ],
)
@pytest.mark.parametrize("writes_before", [0, 10])
@pytest.mark.parametrize("make", [known, computed, lambda *numbers: torch.from_numpy(np.array(numbers))])
def test_an_index_is_checked_again_after_a_write(write, writes_before, make):
    """After some writes NumPy makes them, in memory of which the engine knows the elements."""
    rows = make(1, 1)
    for _ in range(writes_before):
        rows[0] = 1
        rows[1:].add_(1).sub_(1)
    for _ in range(3):
        assert F.embedding(rows, TABLE).tolist() == [[2, 3], [2, 3]]
    write(rows)
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(rows, TABLE).tolist()


def test_large_indices_of_a_program_are_left_to_the_program(monkeypatch):
    monkeypatch.setattr(index_checks, "MAX_BYTES", 8)
    for make in (known, computed):
        good, bad = make(1, 9), make(1, 10)
        for _ in range(3):
            assert F.embedding(good, TABLE).tolist() == [[2, 3], [18, 19]]
        with pytest.raises(IndexError, match="index out of range in self"):
            F.embedding(bad, TABLE).tolist()


def test_large_indices_of_the_host_are_checked_once(monkeypatch):
    monkeypatch.setattr(index_checks, "MAX_BYTES", 8)
    rows = F.embedding(known(1, 9), TABLE)
    assert not torch.engine.recorder().segment.cursor.checked
    assert rows.tolist() == [[2, 3], [18, 19]]
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(known(1, 10), TABLE)


def test_more_calls_than_are_remembered():
    rows = known(1, 2)
    for _ in range(2):
        for size in range(3, 3 + 2 * index_checks.MAX_PASSED):
            assert F.embedding(rows, torch.ones(size, 1)).tolist() == [[1], [1]]
    with pytest.raises(IndexError, match="index out of range in self"):
        F.embedding(rows, torch.ones(2, 1))


@pytest.mark.recorded
def test_a_step_whose_targets_are_known_has_no_check():
    """Whether the targets were computed by NumPy or by a program, or are new, the step is the same program."""
    torch.manual_seed(0)
    layer, inputs = torch.nn.Linear(4, 3), torch.randn(2, 4)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
    batches = [known(0, 2), computed(0, 2), known(1, 2)]

    def step(target):
        loss = F.cross_entropy(layer(inputs), target)
        assert not torch.engine.recorder().segment.cursor.checked
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    for target in batches * 4:
        step(target).item()
    torch.explain(reset=True)
    for target in [*batches, known(0, 0), known(2, 2)]:
        step(target).item()
    assert torch.explain().compiles == 0
