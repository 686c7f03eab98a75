"""A step of a large program takes its memory from what the process has already, and one run at a time holds it."""

import inspect
import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import jax
import pytest

import torchlike as torch
from torchlike.engine import compiling, executable, forget, program, segment
from torchlike.engine.executable import COMPILER_OPTIONS, compiled_with, options_for_cpu
from torchlike.engine.memory import heap

pytestmark = pytest.mark.recorded
GLIBC = heap._trim is not None and Path("/proc/self/statm").exists()


def large_step(x, row, count):
    """Needs 4 MiB for each of the products, since the last is read first."""
    products = [((x + row) * number) @ x.T for number in range(1, count + 1)]  # [1000, 1000] each
    read = x[:4] @ x.T
    for product in reversed(products):
        read = torch.tanh(read @ product)
    return row + 0.001 * read.sum()


MEASURE = """
x, row, pages, results = torch.arange(64000.0).reshape(1000, 64).sin(), torch.zeros(1000, 64), [], []
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(3):  # the second and the third begin in a thread of XLA
        row = large_step(x, row, count)
    results.append(row[0, 0].item())
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
# Beside other work threads of XLA may take their memory one after another, for a dozen steps.
print(min(pages[4:]), *results)
"""


def measured(cache, count):
    """Pages that are mapped in the best three steps, and all results."""
    program = f"import resource\nimport torchlike as torch\ncount = {count}\n"
    program += inspect.getsource(large_step) + MEASURE
    environment = {**os.environ, "TORCHLIKE_COMPILE": "now", "TORCHLIKE_OP_BY_OP": "0", "TORCHLIKE_CACHE_DIR": cache}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    pages, *results = run.stdout.split()
    return int(pages), tuple(results)


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
@pytest.mark.parametrize("count", [15, 60])
def test_the_memory_of_a_large_program_is_kept(tmp_path, count):
    """Without a cache on disk, with one, and as it was read from there."""
    measurements = [measured(cache, count) for cache in ("", str(tmp_path), str(tmp_path))]
    # 4 MiB are 1,000 pages. Beside other work some hundred are mapped anew.
    assert all(pages < 300 * count for pages, _ in measurements), measurements
    assert len({results for _, results in measurements}) == 1, "all of them compute the same bits"


OP_BY_OP = """
import resource
import torchlike as torch

x, pages = torch.arange(500_000.0), []
for _ in range(12):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    kept = [x * number for number in range(8)]  # 2 MB each, which go together
    assert sum(kept)[1].item() == 28.0
    pages.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
print(min(pages[4:]))
"""


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
def test_the_memory_of_arrays_of_numpys_is_kept():
    """glibc would map each array anew: 500 pages."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MALLOC_")}
    environment["TORCHLIKE_COMPILE"] = "never"
    run = subprocess.run([sys.executable, "-c", OP_BY_OP], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 500


def test_a_large_run_waits_for_the_one_before(monkeypatch):
    waited = []

    class Output:
        def is_deleted(self):
            return False

        def block_until_ready(self):
            waited.append(True)
            raise RuntimeError("that run failed: its own affair")

    x = torch.ones(3) * 1
    with compiling("now"):
        forget()
        for _ in range(4):
            (x * 2 + 1).sum().item()
        for size, waits in ((0, 1), (2**40, 0)):
            monkeypatch.setattr(executable, "RESERVED_BYTES", size)
            executable._large_runs.last = Output()
            assert (x * 2 + 1).sum().item() == 9.0 and len(waited) == waits
            waited.clear()
    executable._large_runs.last = None


class Lowered:
    """Knows some options, as a version of XLA does."""

    def __init__(self, *known):
        self.known, self.asked = known, []

    def compile(self, compiler_options):
        self.asked.append(dict(compiler_options))
        for name in compiler_options:
            if name not in self.known:
                raise jax.errors.JaxRuntimeError(f"INVALID_ARGUMENT: No such compile option: '{name}'")
        return "compiled"


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setattr(executable, "_unknown", set())
    xla = Lowered(*COMPILER_OPTIONS, "xla_disable_hlo_passes")
    assert compiled_with(xla, options_for_cpu(True, True)) == "compiled"
    assert xla.asked[-1] == {**COMPILER_OPTIONS, "xla_disable_hlo_passes": "cse_barrier_expander"}
    with pytest.raises(Exception, match="xla_allow_excess_precision"):
        compiled_with(Lowered(), COMPILER_OPTIONS)  # one that every program needs


FAR = 2 * heap.SPARE_BYTES  # from one place to another


class Heap:
    """One in which blocks get the addresses that a test says, of a process that has so many bytes."""

    def __init__(self, monkeypatch):
        self.addresses, self.resident, self.most, self.given_back, self.freed = [FAR], 500, 600, 0, 0
        for name in ("allocate", "free", "trim"):
            monkeypatch.setattr(heap, f"_{name}", getattr(self, name))
        monkeypatch.setattr(heap, "resident", lambda: (self.resident, self.most))
        monkeypatch.setattr(heap, "_room", heap.Room())
        heap._room._begun -= 1000
        monkeypatch.setattr(heap._Kept, "nbytes", 0)
        monkeypatch.setattr(heap._Kept, "in_heap", None)

    def allocate(self, alignment, nbytes):
        if nbytes > heap.SPARE_BYTES - 1 and nbytes < heap.LARGEST_THRESHOLD:
            return 0
        return self.addresses.pop(0) if len(self.addresses) > 1 else self.addresses[0]

    def free(self, address):
        pass

    def trim(self, nbytes):
        self.given_back += 1
        self.resident -= self.freed


def test_memory_is_given_back_where_a_run_would_take_more_than_ever(monkeypatch):
    known, place = Heap(monkeypatch), heap.Place()
    place.make_room(200, 200)
    assert known.given_back == 1, "of its first run nothing is known"
    place.make_room(200, 200)
    assert known.given_back == 1, "it has its place"
    known.addresses = [FAR + 4096]
    place.make_room(200, 200)
    assert known.given_back == 1, "it has nearly its place"
    known.addresses = [2 * FAR]
    place.make_room(90, 100)
    assert known.given_back == 1, "there is room below what the process had once"
    known.addresses = [3 * FAR]
    place.make_room(90, 101)
    assert known.given_back == 2
    known.addresses = [4 * FAR, 3 * FAR]
    place.make_room(90, 101)
    assert known.given_back == 2, "the last run's block was not free at once"
    for _ in range(2):
        place.make_room(heap.LARGEST_THRESHOLD, heap.LARGEST_THRESHOLD)
    assert known.given_back == 4, "it is mapped anew for each run"
    heap._Kept.in_heap = True
    place.make_room(heap.LARGEST_THRESHOLD, heap.LARGEST_THRESHOLD)
    assert known.given_back == 4, "it is kept, too"


class Clock:
    """Time that passes in ``sleep`` alone."""

    now = 0.0

    def perf_counter(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def test_giving_memory_back_and_looking_take_a_small_part_of_the_time(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(heap, "time", clock)
    known = Heap(monkeypatch)
    heap._room._begun = -1.0  # the process is a second old
    known.freed = 10**8  # each time 10 ms of clearing
    for _ in range(50):
        known.resident = known.freed
        heap.Place().make_room(200, 200)
    # 3 % of the time are 30 ms, after which it is done once more. To look took 11 ms then, more than 1 %.
    assert known.given_back == 4 and 0.01 < clock.now < 0.012
    clock.now = 1.0  # another second: room for three more
    for _ in range(50):
        known.resident = known.freed
        heap.Place().make_room(200, 200)
    assert known.given_back == 7


def test_where_the_system_does_not_say_how_much_memory_there_is_nothing_is_given_back(monkeypatch, tmp_path):
    resident = heap.resident
    known = Heap(monkeypatch)
    monkeypatch.setattr(heap, "resident", resident)
    for status in ("", "Name: python\n"):
        monkeypatch.setattr(heap, "STATUS", tmp_path / "status")
        if status:
            heap.STATUS.write_text(status)
        assert heap.resident() == (0, 0)
        heap.Place().make_room(10**6, 10**6)
    assert not known.given_back
    (tmp_path / "status").write_text("VmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n")
    assert heap.resident() == (2**20, 2**21)


def test_a_program_that_is_too_large_ends_the_keeping_of_large_blocks(monkeypatch):
    Heap(monkeypatch)
    settings = {}
    monkeypatch.setattr(heap, "_mallopt", settings.__setitem__)
    heap.keep_blocks(2**26, 2**26)
    assert settings[heap._MMAP_MAX] == 0 and heap._Kept.in_heap
    heap.keep_blocks(2**30, 0)
    assert settings[heap._MMAP_MAX] == heap.MAPPED_BLOCKS and not heap._Kept.in_heap
    heap.keep_blocks(2**27, 2**27)
    assert settings[heap._MMAP_MAX] == heap.MAPPED_BLOCKS and not heap._Kept.in_heap
    assert settings[heap._TRIM_THRESHOLD] < 2**30


def test_what_a_path_lets_go_op_by_op_is_kept_for_the_next_time(monkeypatch):
    Heap(monkeypatch)
    settings = {}
    monkeypatch.setattr(heap, "_mallopt", settings.__setitem__)
    monkeypatch.setattr(heap._Kept, "freed", 0)
    heap.keep_arrays(2**20)
    assert settings[heap._TRIM_THRESHOLD] == 2 * heap.LARGEST_THRESHOLD, "no less than before"
    heap.keep_arrays(2**28)
    assert settings[heap._TRIM_THRESHOLD] == 2**28
    heap.keep_blocks(2**25, 2**25)
    assert settings[heap._TRIM_THRESHOLD] == 2**28, "for programs, less would be enough"
    heap.keep_arrays(2**40)
    assert settings[heap._TRIM_THRESHOLD] == heap.MOST_BYTES_KEPT


@pytest.mark.skipif(not GLIBC, reason="asks Linux")
def test_zeros_such_as_the_first_state_of_an_optimizer_are_memory_of_their_own():
    """Memory that was only read is one page of the system's, and each first write to it interrupts all processors."""
    program = """
import numpy as np
from torchlike.engine.memory.heap import resident
from torchlike.engine.value import Value
before = resident()[0]
zeros = Value.full((2**24,), np.dtype("float32"))
print(resident()[0] - before >= 2**26)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split() == ["True"]


def test_numpy_asks_for_large_pages_again_after_arrays_of_the_heap(monkeypatch):
    asks = []
    monkeypatch.setattr(heap, "_ask_for_large_pages", asks.append)
    monkeypatch.setattr(heap, "_usual", True)
    with pytest.raises(KeyError), heap.in_small_pages(heap.LARGEST_THRESHOLD - 1):
        assert asks == [False]
        raise KeyError
    assert asks == [False, True]
    with heap.in_small_pages(heap.LARGEST_THRESHOLD):
        assert asks == [False, True], "an array of that size is mapped by itself"
    one, other = heap.in_small_pages(1), heap.in_small_pages(1)
    for step in (one.__enter__, other.__enter__, lambda: one.__exit__(None, None, None)):
        step()
    other.__exit__(None, None, None)
    assert asks[-1] is True, "two threads may be within at once"
    monkeypatch.setattr(heap, "_usual", False)
    asks.clear()
    with heap.in_small_pages(1):
        assert asks == [], "the user has switched it off"


def test_a_step_of_training_keeps_its_memory_from_the_first_run_on(monkeypatch):
    kept, small = [], []
    monkeypatch.setattr(program, "keep_arrays", kept.append)
    monkeypatch.setattr(segment, "in_small_pages", lambda nbytes: (small.append(nbytes), nullcontext())[1])
    forget()
    layer = torch.nn.Linear(600, 600)
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    x = torch.ones(8, 600)
    x.sum().item()
    kept.clear(), small.clear()
    with compiling("auto"):
        loss = (layer(x) ** 2).mean()
        loss.backward()
        optimizer.step()
        loss.item()
    # In one part or two: an operation that other tests have made known may end the first.
    assert len(kept) == 1 and {*small} == {600 * 600 * 4}
