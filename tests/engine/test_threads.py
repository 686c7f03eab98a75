"""Threads that record, exchange pending values and read them get the values that a single thread would have computed."""

import os
import random
import threading
from typing import Any

import pytest

import torchlike as torch
from torchlike import _extensions
from torchlike.engine import recorder
from torchlike.engine.segment import Segment

CURSOR: Any = Segment.cursor
ROUNDS = int(os.environ.get("TORCHLIKE_THREAD_ROUNDS", "20"))  # set it to 100 or more by hand


def run(target, count):
    """Runs ``target(number)`` in ``count`` threads; an exception in one of them is raised here."""
    errors = []

    def guarded(number):
        try:
            target(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
        assert not thread.is_alive(), "a thread waits for ever"
    if errors:
        raise errors[0]


@pytest.mark.parametrize("seed", range(3))
def test_pending_values_exchanged_at_random(seed):
    """Eight threads take tensors from a common list, compute with them, read some, write to some, and put some back."""
    shelf = [(torch.full((8,), float(n)) * 1, float(n)) for n in range(16)]  # tensors and their elements' value
    lock = threading.Lock()

    def work(number):
        rng = random.Random(1000 * seed + number)
        own, known = torch.zeros(8), 0.0
        for _ in range(ROUNDS):
            with lock:
                (a, x), (b, y) = rng.choice(shelf), rng.choice(shelf)
            for _ in range(rng.randrange(1, 6)):
                kind = rng.randrange(4)
                if kind == 0:
                    a, x = a * 0.5 + b, x * 0.5 + y
                elif kind == 1:
                    a, x = (a - b) * 0.25, (x - y) * 0.25
                elif kind == 2:
                    own.add_(a * 0.125)
                    known += x * 0.125
                else:
                    a, x = torch.stack([a, b]).mean(0), (x + y) / 2
            if rng.random() < 0.3:
                assert a[3].item() == pytest.approx(x, rel=1e-4, abs=1e-4)
            if rng.random() < 0.2:
                torch.engine.flush()
            if rng.random() < 0.1:
                torch.engine.boundary()
            with lock:
                shelf[rng.randrange(len(shelf))] = a, x
            assert own[rng.randrange(8)].item() == pytest.approx(known, rel=1e-3, abs=1e-3)

    run(work, 8)
    for tensor, value in shelf:
        assert tensor.tolist() == pytest.approx([value] * 8, rel=1e-4, abs=1e-4)


def test_two_threads_finish_one_value():
    """The second thread waits until the first has run the segment."""
    for width in range(ROUNDS // 4):
        x = torch.ones(width + 3)
        pending = [x * n + 1 for n in range(6)]
        gate = threading.Barrier(4)

        def read(number, pending=pending, gate=gate):
            gate.wait(60)
            for n, tensor in enumerate(pending):
                assert tensor[0].item() == n + 1.0

        run(read, 4)


def test_metrics_read_by_another_thread_while_training_goes_on():
    torch.manual_seed(0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(8, 3), torch.randn(8, 1)

    def train(steps, losses):
        for _ in range(steps):
            optimizer.zero_grad()
            loss = ((model(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())

    expected: list[torch.Tensor] = []
    start = [p.detach().clone() for p in model.parameters()]
    train(60, expected)
    expected = [loss.item() for loss in expected]
    with torch.no_grad():
        for p, old in zip(model.parameters(), start, strict=True):
            p.copy_(old)
    losses, seen, over = [], [], threading.Event()

    def read():
        while not over.is_set() or len(seen) < len(losses):
            if len(seen) < len(losses):
                seen.append(losses[len(seen)].item())
                model.weight.detach().tolist()

    reader = threading.Thread(target=read)
    reader.start()
    try:
        train(60, losses)
    finally:
        over.set()
        reader.join(60)
    assert seen == pytest.approx(expected, rel=1e-4)


def test_workers_that_load_from_pending_tensors():
    x, y = torch.arange(40.0).reshape(20, 2) * 1, torch.arange(20) * 1  # pending
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(x, y), batch_size=5, num_workers=2)
    for _ in range(3):
        rows = [(a.tolist(), b.tolist()) for a, b in loader]
        assert [b for _, b in rows] == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]
        x, y = x + 0, y + 0


@pytest.mark.recorded
@pytest.mark.skipif(
    _extensions.enabled, reason="a compiled segment cannot be given another class: `make compare` runs this"
)
def test_a_record_that_comes_too_late_for_a_run_is_made_again():
    """Another thread runs the segment after an op has looked it up and before the op is recorded."""
    x = torch.tensor([1.0, 2.0])
    for op in (lambda a: a * 7, lambda a: a - 0.75):
        before = x * 3
        segment: Any = recorder().segment

        class Racing(type(segment)):
            """A segment that another thread runs just before its cursor is assigned."""

            __slots__ = ()

            def _assign(self, node, before=before):
                if not self.closed:
                    run(lambda _: before.tolist(), 1)
                CURSOR.__set__(self, node)

            cursor = property(CURSOR.__get__, _assign)

        segment.__class__ = Racing
        after = op(before)
        assert segment.closed
        assert after.tolist() == op(torch.tensor([3.0, 6.0])).tolist()
