"""A step of a large program takes its memory from what the process has already, and one run at a time holds it."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import Aval, compiling, executable, forget
from torchlike.engine.aval import CPU
from torchlike.engine.executable import COMPILER_OPTIONS, compiled_with, options_for_cpu
from torchlike.engine.memory import heap

pytestmark = pytest.mark.recorded
GLIBC = heap._trim is not None and Path("/proc/self/statm").exists()


def large_step(x, count=15):
    """Needs 4 MiB for each of the products, since the last is read first."""
    products = [(x * number) @ x.T for number in range(1, count + 1)]  # [1000, 1000] each
    row = x[:4] @ x.T
    for product in reversed(products):
        row = torch.tanh(row @ product)
    return row.sum()


MEASURE = """
def pages_of(step):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    result = step(x, count).item()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, result

tasks = []
large_programs.begin = tasks.append  # the second program is made when the test says so
# Beside other work threads of XLA take their heaps one after another, for a dozen steps.
first = [pages_of(large_step) for _ in range(24)][12:]
for task in tasks:
    task.run()
second = [pages_of(large_step) for _ in range(24)][12:]
pages = [sorted(pages for pages, _ in steps) for steps in (first, second)]
print(pages[0][0], pages[0][6], pages[1][0], len(tasks), *[result for _, result in first + second])
"""


def measured(cache, count=15):
    """Pages that are mapped in the best and in a usual step before second programs are made, and in the best one after that; how many
    second programs these are; and all results.
    """
    program = f"import resource\nimport torchlike as torch\nfrom torchlike.engine.memory import large_programs\ncount = {count}\n"
    program += f"x = torch.arange(64000.0).reshape(1000, 64).sin()\n{inspect.getsource(large_step)}{MEASURE}"
    environment = {**os.environ, "TORCHLIKE_COMPILE": "now", "TORCHLIKE_OP_BY_OP": "0", "TORCHLIKE_CACHE_DIR": cache}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "heap" not in run.stderr, "XLA warns of arrays that are larger than a block"
    best, usual, after, tasks, *results = run.stdout.split()
    return int(best), int(usual), int(after), int(tasks), set(results)


# 60 MiB are 15,000 pages. Beside other work some hundred are mapped anew.
FEW, ALL = 3000, 12000


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
def test_a_large_program_is_compiled_again_to_keep_its_memory(tmp_path):
    _, before, after, tasks, results = measured(str(tmp_path))
    assert before > ALL and after < FEW and tasks == 1
    # A program that is kept on no disk is such a one from the beginning.
    before, _, after, tasks, own_results = measured("")
    assert before < FEW and after < FEW and tasks == 0
    assert len(results | own_results) == 1, "all of them compute the same bits"


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
def test_more_memory_than_a_heap_of_glibc_is_kept_as_well():
    # Threads have heaps of 64 MiB, which glibc gives back when they are empty.
    before, _, after, tasks, _ = measured("", count=60)
    assert before < FEW and after < FEW and tasks == 0


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
    assert compiled_with(xla, options_for_cpu(True, True, block_bytes=8)) == "compiled"
    assert xla.asked[-1] == {**COMPILER_OPTIONS, "xla_disable_hlo_passes": "cse_barrier_expander"}
    assert executable.BLOCKS not in options_for_cpu(False, False, block_bytes=8)
    with pytest.raises(Exception, match="xla_allow_excess_precision"):
        compiled_with(Lowered(), COMPILER_OPTIONS)  # one that every program needs


def test_the_largest_array_of_a_program():
    text = "tensor<8x128xbf16> tensor<i1> tensor<3x4xi64> tensor<2xf8E4M3FN> tensor<100xcomplex<f64>>"
    assert executable.largest_array(text) == 2048
    text = jax.jit(lambda x: ((x[:, None] * x).sum(), x > 0)).lower(jnp.ones(100, jnp.float32)).as_text()
    assert executable.largest_array(text) == 40000


def test_a_program_of_larger_arrays_than_blocks_stays_as_it_is():
    aval = Aval((3000, 3000), np.dtype(np.float32), CPU)  # 34 MiB
    with pytest.raises(executable.TooLarge):
        executable.compile_ahead(lambda x: (x @ x,), [aval], [aval], reuse_memory=True)


class Heap:
    """One in which blocks get the addresses that a test says, of a process that has so many bytes."""

    def __init__(self, monkeypatch):
        self.address, self.resident, self.most, self.given_back, self.freed = 1000, 500, 600, 0, 0
        for name in ("malloc", "free", "trim"):
            monkeypatch.setattr(heap, f"_{name}", getattr(self, name))
        monkeypatch.setattr(heap, "resident", lambda: (self.resident, self.most))
        monkeypatch.setattr(heap, "_room", heap.Room())
        heap._room._begun -= 1000

    def malloc(self, nbytes):
        return self.address

    def free(self, address):
        assert address == self.address

    def trim(self, nbytes):
        self.given_back += 1
        self.resident -= self.freed


def test_memory_is_given_back_where_a_run_would_take_more_than_ever(monkeypatch):
    known, place = Heap(monkeypatch), heap.Place()
    place.make_room(200)
    assert known.given_back == 1, "of its first run nothing is known"
    place.make_room(200)
    assert known.given_back == 1, "it has its place"
    known.address = 2000
    place.make_room(100)
    assert known.given_back == 1, "there is room below what the process had once"
    known.address = 3000
    place.make_room(101)
    assert known.given_back == 2
    for _ in range(2):
        place.make_room(heap.LARGEST_BLOCK_KEPT)
    assert known.given_back == 4, "it is mapped anew for each run"


def test_giving_memory_back_takes_a_small_part_of_the_time(monkeypatch):
    known = Heap(monkeypatch)
    heap._room._begun += 1000 - 1  # the process is a second old
    known.freed = 10**8  # each time 10 ms of clearing
    for _ in range(50):
        known.resident = known.freed
        heap.Place().make_room(200)
    assert 3 <= known.given_back <= 5


def test_where_the_system_does_not_say_how_much_memory_there_is_nothing_is_given_back(monkeypatch, tmp_path):
    resident = heap.resident
    known = Heap(monkeypatch)
    monkeypatch.setattr(heap, "resident", resident)
    for status in ("", "Name: python\n"):
        monkeypatch.setattr(heap, "STATUS", tmp_path / "status")
        if status:
            heap.STATUS.write_text(status)
        assert heap.resident() == (0, 0)
        heap.Place().make_room(10**6)
    assert not known.given_back
    (tmp_path / "status").write_text("VmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n")
    assert heap.resident() == (2**20, 2**21)
