"""Workers: order, errors, timeouts, iteration that stops early; threads, and processes if asked for."""

import gc
import os
import threading
import time
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.utils.data.scenarios import what_processes_draw
from torchlike import engine
from torchlike.random_streams.rng import default_generator
from torchlike.utils.data import DataLoader, Dataset, IterableDataset, get_worker_info

pytestmark = [pytest.mark.recorded, pytest.mark.filterwarnings("ignore:This DataLoader will create")]


class Numbers(Dataset):
    """0, 1, 2, ...; calls `what(index)` first."""

    def __init__(self, count, what=lambda index: None):
        self.count, self.what = count, what

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        self.what(index)
        return index


class TwoArguments(Exception):
    def __init__(self, first, second):
        super().__init__(first, second)


class WithMessage(Exception):
    message = ""

    def __init__(self, *, message):
        super().__init__(message)


def fail(error):
    def what(index):
        if index == 1:
            raise error

    return what


@pytest.fixture(autouse=True)
def no_workers_of_other_tests():
    """A traceback may keep an iterator that raised, and its workers, alive until the garbage collector runs."""
    gc.collect()
    assert wait_for_no_workers()


def own_info() -> Any:
    return get_worker_info()


def worker_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("DataLoader worker")]


def wait_for_no_workers():
    deadline = time.monotonic() + 5
    while worker_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    return worker_threads() == []


@pytest.mark.parametrize(
    ("error", "kind", "last"),
    [
        (ValueError("odd"), ValueError, "ValueError: odd\n"),
        (KeyError("name"), KeyError, "KeyError: 'name'\n"),
        (TwoArguments(1, 2), RuntimeError, "TwoArguments: (1, 2)\n"),
        (WithMessage(message="hey"), WithMessage, "WithMessage: hey\n"),
        (FileNotFoundError(2, "No such file"), FileNotFoundError, "FileNotFoundError: [Errno 2] No such file\n"),
        (SystemExit(3), SystemExit, "SystemExit: 3\n"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_an_error_is_raised_with_its_type_and_its_traceback(error, kind, last):
    loader = DataLoader(Numbers(4, fail(error)), num_workers=2)
    with pytest.raises(kind) as caught:
        list(loader)
    text = str(caught.value)
    head = (
        f"Caught {type(error).__name__} in DataLoader worker process 1.\nOriginal Traceback (most recent call last):\n"
    )
    assert text.startswith(head)
    assert text.endswith(last)
    assert 'test_workers.py", line' in text
    assert "raise error" in text


@pytest.mark.parametrize("workers", [0, 1, 2])
def test_a_loop_can_go_on_after_an_error(workers):
    found, batches = [], iter(DataLoader(Numbers(4, fail(ValueError("odd"))), num_workers=workers))
    for _ in range(6):
        try:
            found.append(next(batches).item())
        except (ValueError, StopIteration) as error:
            found.append(type(error).__name__)
    assert found == [0, "ValueError", 2, 3, "StopIteration", "StopIteration"]


def test_errors_of_init_and_of_collate():
    def init(worker):
        raise RuntimeError(f"init {worker}")

    def collate(samples):
        raise TypeError("cannot")

    with pytest.raises(RuntimeError, match=r"(?s)^Caught RuntimeError in DataLoader worker process 0\..*init 0\n$"):
        list(DataLoader(Numbers(2), num_workers=2, worker_init_fn=init))
    with pytest.raises(TypeError, match=r"(?s)^Caught TypeError in DataLoader worker process 0\..*cannot\n$"):
        list(DataLoader(Numbers(2), num_workers=2, collate_fn=collate))


def test_an_error_in_an_iterable_dataset():
    class Broken(IterableDataset):
        def __iter__(self):
            yield 1
            raise ValueError("no more")

    batches = iter(DataLoader(Broken(), num_workers=1))
    assert next(batches).tolist() == [1]
    with pytest.raises(ValueError, match=r"(?s)^Caught ValueError in DataLoader worker process 0\..*no more\n$"):
        next(batches)


def test_a_timeout():
    release = threading.Event()
    loader = DataLoader(Numbers(2, lambda index: release.wait(10)), num_workers=1, timeout=0.05)
    batches = iter(loader)
    with pytest.raises(RuntimeError, match=r"^DataLoader timed out after 0\.05 seconds$"):
        next(batches)
    release.set()
    del batches
    gc.collect()
    assert wait_for_no_workers()


def test_workers_end_with_the_loop():
    assert [batch.tolist() for batch in DataLoader(Numbers(3), num_workers=2)] == [[0], [1], [2]]
    assert wait_for_no_workers()


def test_workers_end_when_a_loop_is_left_half_way():
    for _ in DataLoader(Numbers(1000), num_workers=2):
        assert len(worker_threads()) == 2
        break
    assert wait_for_no_workers()


def test_persistent_workers_stay_and_end_with_the_loader():
    loader = DataLoader(Numbers(4), num_workers=2, persistent_workers=True)
    first = list(loader)
    before = worker_threads()
    assert len(before) == 2
    assert len(first) == 4
    assert [batch.item() for batch in loader] == [0, 1, 2, 3]
    assert worker_threads() == before
    del loader, before, first
    gc.collect()
    assert wait_for_no_workers()


def test_persistent_workers_after_a_loop_left_half_way():
    loader = DataLoader(Numbers(20), num_workers=2, persistent_workers=True)
    for batch in loader:
        if batch.item() == 5:
            break
    assert [batch.item() for batch in loader] == list(range(20))


def test_order_is_kept_though_a_worker_is_slow():
    later = threading.Event()

    def what(index):
        if index == 0:
            later.wait(10)
        if index == 3:
            later.set()

    assert [batch.item() for batch in DataLoader(Numbers(6, what), num_workers=2)] == list(range(6))


def test_out_of_order_gives_what_is_there():
    done = threading.Event()
    loader = DataLoader(Numbers(8, lambda index: index == 0 and done.wait(10)), num_workers=2, in_order=False)
    found = []
    for batch in loader:
        found.append(batch.item())
        if len(found) == 3:
            done.set()
    assert sorted(found) == list(range(8))
    assert found[0] != 0


@pytest.mark.parametrize("in_order", [True, False])
def test_out_of_order_leaves_nothing_out(in_order):
    loader = DataLoader(Numbers(31), 3, num_workers=2, in_order=in_order, prefetch_factor=3)
    assert sorted(n for batch in loader for n in batch.tolist()) == list(range(31))


def test_workers_fetch_in_advance_and_no_further():
    fetched = []
    batches = iter(DataLoader(Numbers(100, fetched.append), num_workers=2, prefetch_factor=3))
    deadline = time.monotonic() + 5
    while len(fetched) < 6 and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.05)
    assert sorted(fetched) == list(range(6))
    next(batches)
    while len(fetched) < 7 and time.monotonic() < deadline:
        time.sleep(0.01)
    assert sorted(fetched) == list(range(7))


def test_a_worker_has_a_dataset_of_its_own():
    class Copied(Numbers):
        seen = None

        def __getitem__(self, index):
            self.seen = own_info().id
            return id(self), self.seen

    data = Copied(4)
    copies = {tuple(sample) for batch in DataLoader(data, num_workers=2, collate_fn=list) for sample in batch}
    assert len(copies) == 2
    assert {worker for _, worker in copies} == {0, 1}
    assert data.seen is None
    assert id(data) not in {place for place, _ in copies}


def test_what_a_worker_knows_and_draws_does_not_disturb_the_program():
    class Drawing(Numbers):
        def __getitem__(self, index):
            info = own_info()
            with pytest.raises(AttributeError, match="cannot assign to field 'id'"):
                info.id = 7
            return (
                info.worker_method,
                info.rng.torch_generator.initial_seed() == info.seed,
                info.rng.random_generator.random(),
            )

    torch.manual_seed(0)
    iterator = iter(DataLoader(Drawing(4), num_workers=2, collate_fn=list))
    state = default_generator.get_state().tolist()
    samples = [sample for batch in iterator for sample in batch]
    assert default_generator.get_state().tolist() == state
    assert [sample[:2] for sample in samples] == [("thread", True)] * 4
    assert len({draw for *_, draw in samples}) == 4
    assert get_worker_info() is None


def test_each_batch_is_a_boundary_for_the_engine(monkeypatch):
    calls = []
    monkeypatch.setattr(engine, "boundary", lambda: calls.append(1))
    batches = iter(DataLoader(range(3)))
    for _ in range(3):
        before = len(calls)
        next(batches)
        assert len(calls) > before


# ---- processes


def test_a_fork_is_refused_by_name():
    with pytest.raises(ValueError, match="multiprocessing_context='fork' is not supported"):
        DataLoader(range(3), num_workers=1, multiprocessing_context="fork")


class Elsewhere(Dataset):
    """Answers from another process, and fails there in three ways."""

    def __len__(self):
        return 5

    def __getitem__(self, index):
        if index == 2:
            raise KeyError("there")
        if index == 3:
            return lambda: None
        if index == 4:
            os._exit(1)
        return torch.tensor([index]), np.ones(2), own_info().worker_method, os.getpid()


def test_processes():
    # one batch ahead: a process that exits at once loses what its queue has not yet written, as in PyTorch
    loader = DataLoader(Elsewhere(), num_workers=1, prefetch_factor=1, multiprocessing_context="spawn", collate_fn=list)
    batches = iter(loader)
    for index in range(2):
        ((tensor, array, method, process),) = next(batches)
        assert tensor.tolist() == [index]
        assert array.tolist() == [1.0, 1.0]
        assert method == "multiprocessing"
        assert process != os.getpid()
    with pytest.raises(KeyError, match=r"(?s)Caught KeyError in DataLoader worker process 0\..*there"):
        next(batches)
    with pytest.raises(RuntimeError, match=r"(?s)in DataLoader worker process 0\..*pickle"):
        next(batches)
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$"):
        next(batches)


def test_processes_draw_what_pytorchs_draw(golden):
    found = what_processes_draw(torch, multiprocessing_context="spawn")
    assert found == golden("data")["processes"]
