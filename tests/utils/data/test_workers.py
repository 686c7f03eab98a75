"""Workers: order, errors, timeouts, signals, iteration that stops early; and that a worker is a process of its own."""

import contextlib
import gc
import multiprocessing
import os
import re
import signal
import sqlite3
import subprocess
import sys
import time
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.utils.data.scenarios import what_processes_draw
from torchlike import engine
from torchlike.random_streams.rng import default_generator
from torchlike.utils.data import (
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    get_worker_info,
    random_split,
)
from torchlike.utils.data._channel import connect
from torchlike.utils.data.collate import default_collate_fn_map

pytestmark = [
    pytest.mark.recorded,
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.skipif(sys.platform != "linux", reason="workers are forks, which need no pickling, on Linux alone"),
]
fork: Any = multiprocessing.get_context("fork")


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
    """A traceback may keep an iterator that raised, and its workers, alive until the garbage collector runs.

    pytest keeps the traceback of the last test that failed, for debuggers: without the names below one failure would fail all that follow.
    """
    for name in ("last_exc", "last_value", "last_traceback"):
        if hasattr(sys, name):
            delattr(sys, name)
    gc.collect()
    assert wait_for_no_workers()


def own_info() -> Any:
    return get_worker_info()


def workers_alive():
    return multiprocessing.active_children()


def wait_for_no_workers():
    deadline = time.monotonic() + 5
    while workers_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    return workers_alive() == []


@pytest.mark.parametrize(
    ("error", "kind", "last"),
    [
        (ValueError("odd"), ValueError, "ValueError: odd\n"),
        (KeyError("name"), KeyError, "KeyError: 'name'\n"),
        (TwoArguments(1, 2), RuntimeError, "TwoArguments: (1, 2)\n"),
        (WithMessage(message="hey"), WithMessage, "WithMessage: hey\n"),
        (FileNotFoundError(2, "No such file"), FileNotFoundError, "FileNotFoundError: [Errno 2] No such file\n"),
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
    release = fork.Event()
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
        assert len(workers_alive()) == 2
        break
    assert wait_for_no_workers()


def test_persistent_workers_stay_and_end_with_the_loader():
    loader = DataLoader(Numbers(4), num_workers=2, persistent_workers=True)
    first = list(loader)
    before = workers_alive()
    assert len(before) == 2
    assert len(first) == 4
    assert [batch.item() for batch in loader] == [0, 1, 2, 3]
    assert workers_alive() == before
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
    later = fork.Event()

    def what(index):
        if index == 0:
            later.wait(10)
        if index == 3:
            later.set()

    assert [batch.item() for batch in DataLoader(Numbers(6, what), num_workers=2)] == list(range(6))


def test_out_of_order_gives_what_is_there():
    done = fork.Event()
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
    fetched = fork.Array("b", 100)
    loader = DataLoader(Numbers(100, lambda index: fetched.__setitem__(index, 1)), num_workers=2, prefetch_factor=3)
    batches = iter(loader)

    def wait_for(count):
        deadline = time.monotonic() + 10
        while sum(fetched) < count and time.monotonic() < deadline:
            time.sleep(0.01)
        time.sleep(0.05)
        assert [index for index, mark in enumerate(fetched) if mark] == list(range(count))

    wait_for(6)
    next(batches)
    wait_for(7)


def test_a_worker_has_a_dataset_of_its_own():
    class Kept(Numbers):
        seen: Any = None

        def __getitem__(self, index):
            self.seen = [*(self.seen or ()), index]
            return own_info().id, os.getpid(), len(self.seen)

    data = Kept(4)
    samples = [tuple(batch[0]) for batch in DataLoader(data, num_workers=2, collate_fn=list)]
    assert [(worker, count) for worker, _, count in samples] == [(0, 1), (1, 1), (0, 2), (1, 2)]
    assert len({process for _, process, _ in samples} | {os.getpid()}) == 3
    assert data.seen is None


def test_a_worker_has_the_dataset_as_it_was_when_the_loop_began():
    class Growing(Numbers):
        step = 1

        def __getitem__(self, index):
            return index * self.step

    data = Growing(4)
    loader = DataLoader(data, num_workers=1)
    batches = iter(loader)
    data.step = 10
    assert [batch.item() for batch in batches] == [0, 1, 2, 3]
    assert [batch.item() for batch in loader] == [0, 10, 20, 30]


def test_what_a_worker_knows_and_draws_does_not_disturb_the_program():
    class Drawing(Numbers):
        def __getitem__(self, index):
            info = own_info()
            with pytest.raises(AttributeError, match="cannot assign to field 'id'"):
                info.id = 7
            return info.worker_method, torch.initial_seed() == info.seed, torch.rand(1).item()

    torch.manual_seed(0)
    iterator = iter(DataLoader(Drawing(4), num_workers=2, collate_fn=list))
    state = default_generator.get_state().tolist()
    samples = [sample for batch in iterator for sample in batch]
    assert default_generator.get_state().tolist() == state
    assert [sample[:2] for sample in samples] == [("multiprocessing", True)] * 4
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


class Records(Dataset):
    """Reads its file through a handle that it opens when it is first asked, as is usual where there are workers."""

    file: Any = None

    def __init__(self, path, count):
        self.path, self.count = path, count

    def __len__(self):
        return self.count

    def __getitem__(self, index: Any):
        if self.file is None:
            self.file = open(self.path, "rb")  # noqa: SIM115 - as programs do
        self.file.seek(index * 4096)
        return index, np.frombuffer(bytearray(self.file.read(4096)), np.int64)


def test_workers_share_no_handle(tmp_path):
    path = tmp_path / "records"
    path.write_bytes(b"".join(np.full(512, number, np.int64).tobytes() for number in range(400)))
    data, _ = random_split(Records(path, 400), [300, 100])
    for index, record in DataLoader(data, 10, num_workers=4, shuffle=True):
        assert (record == index[:, None]).all()


def test_a_database_is_read():
    class Rows(Numbers):
        connection: Any = None

        def __getitem__(self, index):
            if self.connection is None:
                self.connection = sqlite3.connect(":memory:")
            return self.connection.execute("select ?", (index,)).fetchone()[0]

    assert sum(int(batch.sum()) for batch in DataLoader(Subset(Rows(20), range(20)), 2, num_workers=2)) == 190


def test_init_may_change_the_dataset():
    class Opened(Numbers):
        handle: Any = None

        def open(self, worker):
            self.handle = worker

        def __getitem__(self, index):
            return self.handle

    data = Opened(4)
    assert [batch.item() for batch in DataLoader(data, num_workers=2, worker_init_fn=data.open)] == [0, 1, 0, 1]


# ---- what comes back


def test_batches_come_back_as_they_were():
    shapes = [(3, 300, 50), (0, 4), (), (7,)]
    dtypes = [torch.float32, torch.bfloat16, torch.int64, torch.bool, torch.complex64, torch.uint8]

    class Things(Numbers):
        def __getitem__(self, index):
            torch.manual_seed(index)
            tensors = [(torch.rand(shape) * 9).to(dtype) for shape in shapes for dtype in dtypes]
            arrays = [np.arange(20000.0).reshape(100, -1).T, np.zeros((0, 2)), np.array("text"), np.float32(index)]
            others = [torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(1)), torch.eye(3).to_sparse()]
            return tensors, arrays, others, {"long": "x" * 100_000, "none": None}, torch.ones(4, 6)[:, 2:].T

    def compare(found, expected):
        assert type(found) is type(expected)
        if isinstance(found, torch.Tensor) and found.layout is torch.strided:
            assert found.dtype == expected.dtype
            assert torch.equal(found, expected)
            assert found.requires_grad == expected.requires_grad
        elif isinstance(found, torch.Tensor):
            compare(found.to_dense(), expected.to_dense())
        elif isinstance(found, np.ndarray):
            assert found.dtype == expected.dtype
            assert found.flags.writeable == expected.flags.writeable
            np.testing.assert_array_equal(found, expected)
        elif isinstance(found, (list, tuple)):
            for one, other in zip(found, expected, strict=True):
                compare(one, other)
        else:
            assert found == expected

    batches = list(DataLoader(Things(6), num_workers=2, collate_fn=lambda samples: samples[0]))
    for index, batch in enumerate(batches):
        compare(batch, Things(6)[index])


def test_a_batch_that_is_kept_is_not_written_over():
    class Wide(Numbers):
        def __getitem__(self, index):
            return torch.full((20_000 + 1000 * (index % 7),), float(index))

    kept = {}
    for index, batch in enumerate(DataLoader(Wide(60), None, num_workers=2)):
        if index % 3 == 0:
            kept[index] = batch[5:], batch.numpy()[1:3]
        if index % 10 == 9:  # and some are let go
            kept.pop(min(kept))
    for index, (rest, part) in kept.items():
        assert rest.eq(index).all()
        assert (part == index).all()


def test_memory_is_used_again():
    class Large(Numbers):
        def __getitem__(self, index):
            return torch.full((100_000,), float(index))

    batches = DataLoader(Large(40), None, num_workers=1)
    places = {batch.numpy().__array_interface__["data"][0] for batch in batches if batch[0] >= 0}
    places = {
        batch._value().array.__array_interface__["data"][0] for batch in DataLoader(Large(40), None, num_workers=1)
    }
    assert len(places) <= 6


def test_a_batch_may_be_written_to():
    class Large(Numbers):
        def __getitem__(self, index):
            return torch.zeros(50_000)

    for batch in DataLoader(Large(10), None, num_workers=1):
        assert not batch.any()
        batch.add_(1)
        batch.numpy()[:] = 3
        for place in range(6):
            batch[place] = 2
        assert batch.sum().item() == 3 * 50_000 - 6


def test_many_arrays_and_long_lists_of_indices():
    data = Numbers(30_000)
    (batch,) = DataLoader(data, 30_000, num_workers=1)
    assert torch.equal(batch, torch.arange(30_000))
    (arrays,) = DataLoader(
        data, 3000, sampler=range(3000), num_workers=1, collate_fn=lambda s: [np.array([n]) for n in s]
    )
    assert [int(array[0]) for array in arrays] == list(range(3000))
    loader = DataLoader(Numbers(3000), 1, num_workers=1, prefetch_factor=3000)  # more than any socket holds
    assert [batch.item() for batch in loader] == list(range(3000))


def test_what_a_worker_computes():
    weight = torch.arange(12.0).reshape(3, 4).requires_grad_()
    layer = torch.nn.Linear(4, 2)

    class Computing(Numbers):
        def __getitem__(self, index):
            x = torch.nn.functional.interpolate(torch.eye(4)[None, None], scale_factor=2, mode="bilinear")
            y = (weight[index % 3] * 2).sum()
            y.backward()
            with torch.no_grad():
                return (
                    x.sum(),
                    y.detach(),
                    weight.grad.clone(),
                    layer(torch.ones(4)).std(),
                    torch.linalg.svdvals(torch.eye(3)),
                )

    (layer(torch.ones(4)).sum() + weight.sum()).item()
    here = Computing(3)[0]
    weight.grad = None
    there = next(iter(DataLoader(Computing(3), None, num_workers=1)))
    for one, other in zip(here, there, strict=True):
        torch.testing.assert_close(one, other)
    assert weight.grad is None


def test_shared_memory_is_shared():
    counts = torch.zeros(4).share_memory_()

    class Counting(Numbers):
        def __getitem__(self, index):
            counts[index] += 1
            return index

    list(DataLoader(Counting(4), num_workers=1))
    assert counts.tolist() == [1.0] * 4


# ---- ends


@pytest.mark.parametrize(
    ("how", "why"),
    [
        (lambda: os.kill(os.getpid(), signal.SIGKILL), r"is killed by signal: Killed\. $"),
        (lambda: sys.exit(3), "exited unexpectedly with exit code 3. Details are lost"),
        (lambda: os._exit(7), "exited unexpectedly with exit code 7. Details are lost"),
    ],
    ids=["killed", "sys.exit", "os._exit"],
)
def test_a_worker_that_ends_by_itself(how, why):
    # The program asks for batch 5 once it has used batch 1, so the worker cannot end before the first two batches have arrived.
    batches = iter(DataLoader(Numbers(8, lambda index: index == 5 and how()), num_workers=2))
    found = [next(batches).item(), next(batches).item()]
    with pytest.raises(RuntimeError, match=r"^DataLoader worker \(pid\(s\) \d+\) exited unexpectedly$") as lost:
        found.extend(batch.item() for batch in batches)
    assert re.search(rf"^DataLoader worker \(pid \d+\) {why}", str(lost.value.__cause__))
    found.extend(batch.item() for batch in batches)
    assert found == sorted(found)
    assert {0, 1, 4, 6} <= set(found)  # what the other one makes, and what had arrived


@pytest.mark.parametrize("sends_first", [True, False])
def test_what_a_worker_sent_before_it_was_killed_arrives(sends_first):
    """The system reports that tasks were left unread before it hands out what was sent earlier."""
    here, there = connect(fork, 1)
    if sends_first:
        there.post("sent")
    here.post("never read")
    there.close()
    if sends_first:
        assert here.collect() == "sent"
    with pytest.raises(EOFError):
        here.collect()


def test_an_interrupt_ends_the_workers():
    def what(index):
        if index == 2:
            os.kill(os.getppid(), signal.SIGINT)
            time.sleep(20)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        for _ in DataLoader(Numbers(100, what), num_workers=2):
            pass
    for process in workers_alive():
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid or 0, signal.SIGINT)  # as a terminal does, to all processes of the program
    gc.collect()
    assert wait_for_no_workers()
    assert time.monotonic() - start < 15


PROGRAM = """
import os, sys, time
import torchlike as torch
class Slow(torch.utils.data.Dataset):
    def __len__(self):
        return 1000
    def __getitem__(self, index):
        time.sleep(0.01)
        return index, os.getpid()
seen = set()
for index, process in torch.utils.data.DataLoader(Slow(), num_workers=2):
    seen.add(process.item())
    if len(seen) == 2:
        print(*seen, flush=True)
        {end}
"""


@pytest.mark.costly
@pytest.mark.parametrize("end", ["os.kill(os.getpid(), 9)", "sys.exit(5)", "raise ValueError('mine')", "os._exit(5)"])
def test_workers_end_with_the_program(end):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.replace("{end}", end)], capture_output=True, text=True, timeout=100
    )
    assert done.returncode != 0
    assert done.stderr.count("Traceback") == ("ValueError" in end), done.stderr
    processes = [int(word) for word in done.stdout.split()]
    deadline = time.monotonic() + 10
    while (
        alive := [process for process in processes if os.path.exists(f"/proc/{process}")]
    ) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(processes) == 2
    assert alive == []


def test_a_fork_of_the_program_leaves_its_workers_alone():
    loader = DataLoader(Numbers(6), num_workers=2, persistent_workers=True)
    assert len(list(loader)) == 6
    child = os.fork()
    if child == 0:
        del loader
        gc.collect()
        os._exit(0)
    os.waitpid(child, 0)
    other = DataLoader(Numbers(3), num_workers=1, persistent_workers=True)
    assert len(list(other)) == 3
    assert len(list(loader)) == 6
    start = time.monotonic()
    del loader  # while the workers of the other one, which were forked later, are alive
    gc.collect()
    assert time.monotonic() - start < 3
    assert len(workers_alive()) == 1


# An interrupt may come while a finalizer runs, where Python prints it and goes on.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_epochs_with_kills_and_interrupts():
    class Fragile(Numbers):
        def __getitem__(self, index):
            if torch.rand(1) < 0.02:
                os.kill(os.getpid(), signal.SIGKILL)
            return torch.full((5000,), index)

    signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    ended = {"whole": 0, "killed": 0, "interrupted": 0}
    try:
        for epoch in range(16):
            signal.setitimer(signal.ITIMER_REAL, 0.05 * (epoch % 4))
            seen = []
            try:
                for batch in DataLoader(Fragile(40), 2, num_workers=4):
                    seen += batch[:, 7].tolist()
                ended["whole"] += 1
                assert seen == list(range(40))
            except RuntimeError:
                ended["killed"] += 1
            except KeyboardInterrupt:
                ended["interrupted"] += 1
            assert seen == list(range(len(seen)))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
    gc.collect()
    assert wait_for_no_workers()
    assert ended["killed"] > 0


@pytest.mark.parametrize("call", ["dismiss", "_end_all"])
def test_a_handler_that_raises_while_workers_are_ended_leaves_none(call, monkeypatch):
    batches: Any = iter(DataLoader(Numbers(40), 2, num_workers=3))
    next(batches)
    crew = batches._crew
    batches._stop.detach()  # called here instead
    members = list(crew._members)
    assert len(members) == 3

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(crew, call, interrupt)
    with pytest.raises(KeyboardInterrupt):
        crew.stop()
    for member in members:
        member.join(5)
    assert not any(member.is_alive() for member in members)


# ---- other ways to start, and none


def test_how_workers_start_by_default(monkeypatch):
    seen = []

    def start(method):
        seen.append(method)
        return fork

    monkeypatch.setattr(multiprocessing, "get_context", lambda method=None: start(method))
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: None)
    list(DataLoader(Numbers(1), num_workers=1))
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none: "spawn")
    list(DataLoader(Numbers(1), num_workers=1))
    assert seen == ["fork", None]  # None: what the program chose for itself


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


@pytest.mark.parametrize(
    "context", ["fork", "spawn", multiprocessing.get_context("forkserver")], ids=["fork", "spawn", "forkserver"]
)
def test_processes(context):
    loader = DataLoader(Elsewhere(), num_workers=1, prefetch_factor=1, multiprocessing_context=context, collate_fn=list)
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


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_processes_draw_what_pytorchs_draw(golden, method):
    found = what_processes_draw(torch, multiprocessing_context=method)
    assert found == golden("data")["processes"]


def test_systems_without_such_sockets(monkeypatch):
    monkeypatch.setattr("torchlike.utils.data._channel.sys.platform", "other")
    loader = DataLoader(Numbers(7), 2, num_workers=2, persistent_workers=True, multiprocessing_context="fork")
    for _ in range(2):
        assert [batch.tolist() for batch in loader] == [[0, 1], [2, 3], [4, 5], [6]]
    del loader
    gc.collect()
    assert wait_for_no_workers()
    with pytest.raises(ValueError, match="Caught ValueError in DataLoader worker process 1"):
        list(DataLoader(Numbers(4, fail(ValueError("odd"))), num_workers=2))
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        list(DataLoader(Numbers(4, lambda index: os._exit(1)), num_workers=2))


class Rows(TensorDataset):
    pass


def _rows():
    return TensorDataset(torch.arange(6.0), torch.arange(6))


def _with(**attributes):
    data = _rows()
    vars(data).update(attributes)
    return data


def _none(worker):
    pass


NONE_OF_THE_USERS = {
    "tensors": (_rows, {}),
    "a part": (lambda: Subset(_rows(), [4, 0, 1, 2]), {}),
    "a part of a part": (lambda: Subset(random_split(_rows(), [5, 1], torch.Generator())[0], range(4)), {}),
    "an array of the user's": (lambda: TensorDataset(torch.from_numpy(np.arange(6))), {}),
    "a view": (lambda: TensorDataset(torch.arange(12)[::2]), {}),
}
_numbers: Any = Numbers(4)
SOME_OF_THE_USERS = {
    "a subclass": (lambda: Rows(torch.arange(6)), {}),
    "a part of a subclass": (lambda: Subset(Rows(torch.arange(6)), range(4)), {}),
    "a method of the object": (lambda: _with(__getitems__=lambda indices: [(index,) for index in indices]), {}),
    "a kind of tensor": (lambda: TensorDataset(torch.nn.Parameter(torch.ones(6), False)), {}),
    "indices of the user's": (lambda: Subset(_rows(), _numbers), {}),
    "collate_fn": (_rows, {"collate_fn": list}),
    "no collation": (_rows, {"batch_size": None}),
    "worker_init_fn": (_rows, {"worker_init_fn": _none}),
    "another dataset": (lambda: range(4), {}),
}


def starts_processes(make, options):
    before = workers_alive()  # of iterators that nobody has collected yet
    batches = iter(DataLoader(make(), **{"batch_size": 2, "num_workers": 2, **options}))
    next(batches)
    return not set(workers_alive()) <= set(before)


@pytest.mark.parametrize("name", NONE_OF_THE_USERS)
def test_no_process_starts_where_no_code_of_the_users_would_run(name):
    make, options = NONE_OF_THE_USERS[name]
    assert not starts_processes(make, options)
    batches = [[part.tolist() for part in batch] for batch in DataLoader(make(), 2, num_workers=2)]
    assert batches == [[part.tolist() for part in batch] for batch in DataLoader(make(), 2)]


def test_no_process_starts_beside_a_class_of_tensors_that_sees_operations():
    class Seeing(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    made = torch.Tensor._make_subclass(Seeing, torch.ones(2))  # pyright: ignore[reportAttributeAccessIssue]
    assert isinstance(made, Seeing)
    assert not starts_processes(_rows, {})


@pytest.mark.costly
@pytest.mark.parametrize("name", SOME_OF_THE_USERS)
def test_processes_start_where_code_of_the_users_would_run(name):
    assert starts_processes(*SOME_OF_THE_USERS[name])


def test_processes_start_where_a_program_changed_the_library(monkeypatch):
    monkeypatch.setattr(TensorDataset, "__getitem__", lambda self, index: (os.getpid(),))
    assert starts_processes(_rows, {})
    monkeypatch.undo()
    monkeypatch.setitem(default_collate_fn_map, torch.Tensor, lambda batch, **_: os.getpid())
    assert starts_processes(_rows, {})
    monkeypatch.undo()

    class Mode(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with Mode():
        assert starts_processes(_rows, {})


def test_without_processes_the_data_are_those_of_the_beginning_too():
    array, tensor = np.zeros(4), torch.zeros(4)
    data = TensorDataset(torch.from_numpy(array), tensor, tensor[:])
    batches = iter(DataLoader(data, num_workers=1))
    array[:] = 1
    tensor.add_(1)
    assert not any(part.any() for batch in batches for part in batch)
    loader = DataLoader(data, 2, num_workers=1)
    assert all(part.all() for batch in loader for part in batch)


def test_without_processes_errors_are_those_of_a_worker():
    with pytest.raises(
        IndexError, match=r"(?s)^Caught IndexError in DataLoader worker process 1\.\nOriginal Traceback"
    ):
        list(DataLoader(_rows(), num_workers=2, batch_sampler=[[0], [9]]))
