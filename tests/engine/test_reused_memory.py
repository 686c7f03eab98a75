"""A step of a large program takes its memory from what the process has already, and one run at a time holds it."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest

import torchlike as torch
from torchlike.engine import compiling, executable, forget
from torchlike.engine.executable import COMPILER_OPTIONS, REUSED_MEMORY, compiled_with, options_for_cpu

pytestmark = pytest.mark.recorded
GLIBC = executable._trim is not None and Path("/proc/self/statm").exists()


def large_step(x):
    """Needs some 60 MiB: the last of 15 products is read first."""
    products = [(x * number) @ x.T for number in range(1, 16)]  # [1000, 1000] each
    row = x[:4] @ x.T
    for product in reversed(products):
        row = torch.tanh(row @ product)
    return row.sum()


MEASURE = """
def pages_of(step):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    result = step(x).item()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, result

runs = [pages_of(large_step) for _ in range(8)]
for thread in threading.enumerate():
    if thread.name == "torchlike-compiler":
        background._worker.stop()
runs += [pages_of(large_step) for _ in range(8)]
first, second = sorted(pages for pages, _ in runs[4:8])[2], sorted(pages for pages, _ in runs[-6:])[3]
print(first, second, len({result for _, result in runs[4:]}), torch.explain().compiles)
"""


@pytest.mark.skipif(not GLIBC, reason="the C library is not glibc")
def test_a_large_program_is_compiled_again_to_keep_its_memory():
    program = "import resource, threading\nimport torchlike as torch\nfrom torchlike.engine import background\n"
    program += f"x = torch.randn(1000, 64)\n{inspect.getsource(large_step)}{MEASURE}"
    environment = {**os.environ, "TORCHLIKE_COMPILE": "now", "TORCHLIKE_OP_BY_OP": "0", "TORCHLIKE_CACHE_DIR": ""}
    run = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    before, after, results, compiles = map(int, run.stdout.split())
    # 58 MiB are 14,700 pages. Which of XLA's threads allocates decides how many still are mapped anew.
    assert before > 12000 > 9000 > after, run.stdout
    assert results == 1, "the two programs compute the same bits"
    assert compiles < 4


def test_a_large_run_waits_for_the_one_before(monkeypatch):
    waited = []

    class Output:
        def is_deleted(self):
            return False

        def block_until_ready(self):
            waited.append(True)
            raise RuntimeError("that run failed: its own affair")

    x = torch.randn(1000, 64)
    with compiling("now"):
        forget()
        for _ in range(4):
            large_step(x).item()
        executable._large_runs.last = Output()
        assert large_step(x).item() and waited == [True]
        executable._large_runs.last = Output()
        (x[:2] + 1).sum().item()  # a small one does not
        assert waited == [True]
    executable._large_runs.last = None


class Lowered:
    """Knows some options, as a version of XLA does."""

    def __init__(self, *known):
        self.known, self.asked = known, []

    def compile(self, compiler_options):
        import jax

        self.asked.append(dict(compiler_options))
        for name in compiler_options:
            if name not in self.known:
                raise jax.errors.JaxRuntimeError(f"INVALID_ARGUMENT: No such compile option: '{name}'")
        return "compiled"


def test_an_option_that_xla_does_not_know_is_left_out(monkeypatch):
    monkeypatch.setattr(executable, "_unknown", set())
    xla = Lowered(*COMPILER_OPTIONS, "xla_disable_hlo_passes")
    assert compiled_with(xla, options_for_cpu(True, True, reuse_memory=True)) == "compiled"
    assert xla.asked[-1] == {**COMPILER_OPTIONS, "xla_disable_hlo_passes": "cse_barrier_expander"}
    assert not REUSED_MEMORY.keys() & options_for_cpu(False, False, reuse_memory=True).keys()
    with pytest.raises(Exception, match="xla_allow_excess_precision"):
        compiled_with(Lowered(), COMPILER_OPTIONS)  # one that every program needs
