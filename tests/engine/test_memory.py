"""The engine keeps alive only the arrays of values that somebody holds, and a bounded number of programs, kernels and traces."""

import gc
import json
import os
import subprocess
import sys
import weakref
from collections import Counter, deque

import jax
import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import kernel, program, recorder
from torchlike.engine.kernel import Kernel
from torchlike.engine.memory import mappings
from torchlike.engine.program import Program
from torchlike.engine.recorder import MAX_UNREFERENCED_BYTES
from torchlike.engine.segment import Segment
from torchlike.engine.tiers import choice

nn = torch.nn
MEGABYTE = 2**20


def batch():
    return torch.from_numpy(np.ones((512, 1024), np.float32)).clone()  # 2 MB


def held():
    """Returns the bytes of all arrays that are alive, on the device or as inputs of pending ops."""
    gc.collect()
    own = recorder()
    pending = [a for s in [own.segment, own.ended, *own.waiting] if s is not None for a in s.leaf_arrays]
    on_host = {id(a): a.nbytes for a in pending if isinstance(a, np.ndarray)}
    return sum(a.nbytes for a in jax.live_arrays()) + sum(on_host.values())


def test_losses_that_are_kept_do_not_keep_their_batches():
    model = nn.Linear(1024, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for i in range(30):
        loss = (model(batch()) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
        if i == 9:
            before = held()
    assert held() - before < 3 * MEGABYTE


@pytest.mark.parametrize("kept", [False, True])
def test_pending_sums_do_not_keep_what_they_are_the_sums_of(kept):
    before, total, sums, most = held(), torch.zeros(()), [], 0
    for i in range(40):
        if kept:
            sums.append(batch().sum())
        else:
            total = total + batch().sum()
        if i % 10 == 9:
            most = max(most, held() - before)
    assert most < 2 * MAX_UNREFERENCED_BYTES + 3 * MEGABYTE
    assert (sums[-1] if kept else total / 40).item() == 512 * 1024


def test_segments_in_which_nothing_was_recorded_are_not_kept():
    """Each change of a mode begins a segment."""

    def number_of_segments():
        gc.collect()
        return sum(type(o) is Segment for o in gc.get_objects())

    def change_modes(times):
        for _ in range(times):
            with torch.op_by_op():
                torch.ones(2) + 1
            torch.set_default_dtype(torch.float64)
            torch.set_default_dtype(torch.float32)

    change_modes(2)
    before = number_of_segments()
    change_modes(20)
    assert number_of_segments() <= before
    assert len(recorder().waiting) <= 1


@pytest.mark.recorded
def test_a_step_is_not_cut_for_the_size_of_its_parameters():
    """Arrays that somebody else holds too take no more memory because pending ops refer to them."""
    model = nn.Sequential(nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1024))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x = torch.ones(2, 1024)
    torch.engine.flush()
    for _ in range(4):
        torch.explain(reset=True)
        model(x).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
        torch.engine.flush()
        assert torch.explain().segments == 1


@pytest.mark.recorded
def test_programs_that_were_not_used_for_long_go(monkeypatch):
    monkeypatch.setattr(program, "MAX_PROGRAMS_KEPT", 8)
    often = torch.ones(5, 3)
    for n in range(6, 30):
        for x in (torch.ones(n, 3), often):
            for _ in range(3):
                ((x * 3 + 1) * x).sum().item()
        if n == 10:
            torch.explain(reset=True)
    gc.collect()
    assert len([p for p in gc.get_objects() if type(p) is Program]) <= 8 + 1
    assert torch.explain().compiles == 19  # the path that ran often was compiled once


# A process of its own: in one that has compiled much before, executables of other programs go while these come.
MAPPED = """
import json, sys
import torchlike as torch
from torchlike.engine.memory import mappings

def use(n):
    for _ in range(3):
        x = torch.ones(n, n, requires_grad=True)
        ((x @ x).tanh() * x).sum().backward()
        x.grad.sum().item()

use(5)
start, counts = mappings.in_use(), []
if sys.argv[1] == "few":
    mappings.allowed = lambda: start + 60
mappings._Watch.rest = 0
for n in range(30, 36):
    use(n)
    counts.append(mappings.in_use() - start)
print(json.dumps(counts))
"""


@pytest.mark.recorded
@pytest.mark.skipif(not mappings.in_use(), reason="the system does not say how many mappings there are")
def test_mappings_of_memory_stay_fewer_than_the_system_allows(tmp_path):
    """LLVM ends the process where it is refused one: a process that runs for long compiles many programs."""
    counts = {}
    for allowed in ("few", "many"):
        environment = {**os.environ, "TORCHLIKE_COMPILE": "now", "TORCHLIKE_CACHE_DIR": str(tmp_path / allowed)}
        command = [sys.executable, "-c", MAPPED, allowed]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment, check=True)
        counts[allowed] = json.loads(done.stdout)
    assert max(counts["few"]) < 60 + 40, counts
    assert counts["many"][-1] > 60 + 40, counts  # there would be more than allowed


@pytest.mark.recorded
def test_nothing_is_dropped_where_the_system_does_not_say_how_many_mappings_it_allows(monkeypatch):
    dropped = []
    monkeypatch.setattr(mappings, "droppers", [lambda: dropped.append(1)])
    for most, drops in ((0, False), (3, True), (9, False)):
        monkeypatch.setattr(mappings, "allowed", lambda most=most: most)
        monkeypatch.setattr(mappings, "in_use", lambda: 5)
        monkeypatch.setattr(mappings._Watch, "rest", 0)
        dropped.clear()
        mappings.compiled()
        assert bool(dropped) == drops


@pytest.mark.recorded
def test_kernels_and_traces_of_sizes_that_never_come_again_go(monkeypatch):
    own = recorder()
    own.forget()
    monkeypatch.setattr(kernel, "_recent", deque(maxlen=16))
    monkeypatch.setattr(own, "room", 60)
    gc.collect()
    known = weakref.WeakSet(k for k in gc.get_objects() if isinstance(k, Kernel))
    for n in range(5, 45):
        x = torch.ones(n, 2, requires_grad=True)
        (x * 3 + 1).sum().backward()
        assert x.grad is not None and x.grad[0, 0].item() == 3.0
    gc.collect()
    new = [k for k in gc.get_objects() if isinstance(k, Kernel) and k not in known]
    assert own.nodes <= 60
    assert len(new) < 120  # of some 320


def test_nothing_that_jax_makes_on_the_way_to_an_executable_is_kept():
    """An MLIR module takes more than a megabyte, whatever it contains."""

    def kept():
        gc.collect()
        names = [type(thing).__name__ for thing in gc.get_objects()]
        return [names.count(name) for name in ("MeshComputation", "DynamicJaxprTrace")]

    def loop(size):
        for _ in range(2):
            x = torch.ones(size, 3)
            (x.tanh() * 2 + x.sum(0)).sum().item()

    loop(1000)
    before = kept()
    for size in range(1001, 1006):
        loop(size)
    assert kept() == before


def test_an_array_that_somebody_has_is_not_donated_by_a_step_that_ran_before():
    model = nn.Linear(4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i in range(6):
        if i == 4:  # the step has run as one program, which reuses the memory of the weight
            kept = torch.interop.to_jax(model.weight)
            expected = np.array(kept)
        optimizer.zero_grad()
        model(torch.ones(2, 4)).sum().backward()
        optimizer.step()
    model.weight.tolist()
    assert np.array_equal(kept, expected)


@pytest.mark.recorded
def test_sizes_that_never_come_again_leave_few_kernels_in_the_tree(monkeypatch):
    own = recorder()
    own.forget()
    monkeypatch.setattr(own, "room_for_kernels", 24)
    for n in range(5, 37):
        x = torch.ones(n, 2)
        assert ((x * 3 + 1).exp() / 2 - x).sum().item() > 0
    assert own.kernels <= 24
    assert own.nodes < 36


@pytest.mark.recorded
def test_a_long_step_of_few_kernels_stays_in_the_tree(monkeypatch):
    own = recorder()
    own.forget()
    monkeypatch.setattr(own, "room_for_kernels", 60)
    steps = []
    for _ in range(5):
        before = own.nodes
        x = torch.ones(3)
        for _ in range(200):
            x = (x * 0.5).sin() + 1
        assert x.sum().item() > 0
        steps.append(own.nodes - before)
    assert steps[0] > 500
    assert steps[-1] == 0


def bytes_of_objects():
    gc.collect()
    return sum(map(sys.getsizeof, gc.get_objects()))


@pytest.mark.recorded
def test_an_operation_of_another_size_takes_less_than_three_kilobytes(monkeypatch):
    monkeypatch.setattr(choice, "mode", "never")

    def run(n):
        x = torch.from_numpy(np.ones(n, np.float32))
        y = (x * 2 + 1).exp()
        return (y / (y + 1)).sum().item()

    for n in range(1, 250):
        run(n)
    before = bytes_of_objects()
    for n in range(250, 350):
        run(n)
    assert (bytes_of_objects() - before) / 100 < 6 * 2_600


@pytest.mark.uncompiled
def test_calls_of_new_sizes_leave_no_cycles():
    """What only the garbage collector finds makes it run: a text that grows has dozens of new sizes with each token."""

    def compute(n):
        x = torch.ones(2, n, requires_grad=True)
        y = torch.cat([x, x[:, :1]], 1).reshape(-1)[1:].exp()
        (torch.where(y > 2, y, 0.0).view(-1, 1) * 3).sum().backward()
        return x.grad.sum().item()

    compute(2)
    gc.disable()
    try:
        for n in range(23, 33):  # traces for single sizes, for several, and those that these are compared with
            gc.collect()
            gc.freeze()  # what there is already is not counted: a call may take the place of what earlier tests have left
            compute(n)
            gc.set_debug(gc.DEBUG_SAVEALL)
            gc.collect()
            found, _ = [*gc.garbage], gc.garbage.clear()
            gc.set_debug(0)
            assert len(found) < 10, Counter(map(type, found))
    finally:
        gc.unfreeze()
        gc.enable()
