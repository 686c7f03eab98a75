"""After a step that failed or was interrupted: the step has happened completely or not at all, and every tensor has a value."""

import itertools
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import torchlike as torch
from tests.engine.interrupts import interrupts
from tests.fuzz.interrupts import Interrupts
from torchlike.engine import checks, compiling, executable, program, recorder
from torchlike.engine.kernel import Kernel

nn = torch.nn


# Python drops an interrupt that comes while a finalizer runs, so the next one counts.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.recorded
@pytest.mark.parametrize(("when", "count"), [("hot", 25), ("new", 4)])
def test_a_step_that_is_interrupted_has_happened_or_has_not(when, count):
    came, harm = interrupts(count, when)
    assert (came, harm) == (count, [])


def model():
    torch.manual_seed(0)
    net = nn.Linear(4, 2)
    return net, torch.optim.Adam(net.parameters(), lr=0.1)


X = torch.linspace(-1, 1, 8).reshape(2, 4)


def step(net, optimizer, more=lambda: 0.0):
    optimizer.zero_grad()
    loss = (net(X) ** 2).sum() + more()
    loss.backward()
    optimizer.step()
    return loss


def numbers(net, optimizer):
    return [t.tolist() for t in net.parameters()] + [
        [state[name].tolist() for name in ("step", "exp_avg", "exp_avg_sq")] for state in optimizer.state.values()
    ]


def expected(steps):
    net, optimizer = model()
    for _ in range(steps):
        step(net, optimizer)
    return numbers(net, optimizer)


@pytest.mark.parametrize("before", [1, 5])
def test_a_step_without_memory_has_not_happened(before):
    net, optimizer = model()
    for _ in range(before):
        step(net, optimizer).item()
    known = numbers(net, optimizer)
    held = []

    def too_much():
        held.append(torch.ones(1 << 21, 1 << 21) * X[0, 0])  # 16 TB
        return held[0][0, 0]

    with pytest.raises(
        RuntimeError, match="DefaultCPUAllocator: can't allocate memory: you tried to allocate 1759218604"
    ):
        loss = step(net, optimizer, too_much)
        loss.item()
    assert numbers(net, optimizer) == known
    for lost in held:  # in eager mode the error is raised before the tensor exists
        with pytest.raises(RuntimeError, match="can't allocate memory"):
            lost.tolist()
    for _ in range(4):
        step(net, optimizer)
    for own, other in zip(numbers(net, optimizer)[:2], expected(before + 4)[:2], strict=True):
        torch.testing.assert_close(torch.tensor(own), torch.tensor(other))


@pytest.mark.recorded
@pytest.mark.parametrize("failing", ["compile", "run"])
def test_a_program_that_fails_is_run_op_by_op(monkeypatch, failing):
    recorder().forget()  # so that nothing is known, whichever tests ran before
    net, optimizer = model()

    def fail(*args, **kwargs):
        raise RuntimeError("INTERNAL: the compiler has failed")

    with monkeypatch.context() as patch:
        if failing == "compile":
            patch.setattr(program, "compile_ahead", fail)
        else:
            patch.setattr(program.Program, "run", fail)
        for _ in range(3):
            step(net, optimizer).item()
    for own, other in zip(numbers(net, optimizer)[:2], expected(3)[:2], strict=True):
        torch.testing.assert_close(torch.tensor(own), torch.tensor(other))
    assert "run op by op because the whole program failed: INTERNAL" in str(torch.explain())


@pytest.mark.recorded
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_compilation_that_is_interrupted(monkeypatch, error):
    net, optimizer = model()
    first = numbers(net, optimizer)[:2]
    recorder().forget()
    raised = []

    def once(*args, **kwargs):
        if not raised:
            raised.append(error)
            raise error
        return executable.compile_ahead(*args, **kwargs)

    monkeypatch.setattr(program, "compile_ahead", once)
    try:
        loss = step(net, optimizer)
        loss.item()
    except error:
        assert error is KeyboardInterrupt
        assert loss.item() > 0
    assert raised and numbers(net, optimizer)[:2] != first
    for own, other in zip(numbers(net, optimizer)[:2], expected(1)[:2], strict=True):
        torch.testing.assert_close(torch.tensor(own), torch.tensor(other))


@pytest.mark.recorded
def test_a_record_that_is_interrupted_leaves_the_rest_as_it_was():
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])
    pending = x * 2

    class Interrupting(list):
        """An iterator over arguments that is interrupted after the first."""

        def __iter__(self):
            yield self[0]
            raise KeyboardInterrupt

    own, other = recorder(), x + y
    values = Interrupting([torch.ones(2)._value(), y._value()])
    with pytest.raises(KeyboardInterrupt):
        own.record(object(), (), values, ())
    assert (pending + other).tolist() == [6.0, 10.0]
    assert (pending * 2).tolist() == [4.0, 8.0]


def test_a_value_is_read_while_an_op_is_recorded():
    x, i, total = torch.from_numpy(torch.arange(10).numpy()), torch.tensor(0), torch.tensor(0)
    for _ in range(9):
        length: Any = torch.as_tensor([1])[0]
        total = total + torch.narrow(x, 0, torch.stack([i])[0], length)
        i = i + 1
    assert total.tolist() == [36]
    assert i.item() == 9


@pytest.mark.recorded
def test_ops_that_a_finaliser_records_in_the_middle_of_a_record(monkeypatch):
    """Python may run a finaliser within any call. The operations that it records go into a segment of their own."""
    x = torch.tensor([1.0, 2.0])
    seen = []
    recorded = Kernel.__dict__["recorded"]

    def finalise(self, call):
        """Called just before the op becomes a node of the trace."""
        if not seen:
            seen.append(None)
            seen[0] = (x * 5 + 1).tolist()
        recorded.__set__(self, call)

    monkeypatch.setattr(Kernel, "recorded", property(recorded.__get__, finalise))
    y = x * 3
    z = y - 0.125
    monkeypatch.undo()
    assert seen == [[6.0, 11.0]]
    assert (y.tolist(), z.tolist(), (y + z).tolist()) == ([3.0, 6.0], [2.875, 5.875], [5.875, 11.875])


LIMITED = """
import resource, torchlike as torch
net = torch.nn.Linear(1000, 1000)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
def step(rows):
    x = torch.ones(rows, 1000)
    loss = (net(net(x).relu()).relu() ** 2).mean()
    loss.backward(); optimizer.step(); optimizer.zero_grad()
    return loss.item()
for _ in range(3):
    step(16)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 400 * 2**20,) * 2)
before = net.weight.tolist()
try:
    step(200_000)
    print("no error")
except RuntimeError as error:
    print(str(error)[:19])
print(net.weight.tolist() == before)
first, second = step(16), step(16)
print(second < first)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits memory as Linux does")
def test_memory_that_runs_out_in_a_large_batch():
    assert resource.RLIMIT_AS
    done = subprocess.run([sys.executable, "-c", LIMITED], capture_output=True, text=True, timeout=120)
    assert done.stdout.split("\n")[:3] == ["DefaultCPUAllocator", "True", "True"], done.stdout + done.stderr[-2000:]


@pytest.mark.recorded
def test_steps_that_run_before_a_wrong_index_is_noticed_change_nothing(monkeypatch):
    """The host looks at a verdict some steps later where the processor is busy. Those steps count nothing either, in their first line."""
    looks, noticed = checks.find_failed, []

    def as_if_busy(program=None, wait=True):
        """The verdict of the program that runs next is not there yet."""
        own = checks._pending.verdicts.pop(program, None)
        try:
            return looks(None, wait)
        finally:
            if own is not None:
                checks._pending.verdicts[program] = own
                noticed.append(program)

    def counted(wrong):
        torch.manual_seed(0)
        table, count, rows = nn.Embedding(10, 4), torch.zeros(()), torch.arange(4)
        optimizer = torch.optim.SGD(table.parameters(), lr=0.1)
        for number in range(13):
            factor = torch.tensor(50 if wrong and number == 9 else 1)
            count.add_(1)
            table(rows * factor).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
            if number == 8 and wrong:
                monkeypatch.setattr(checks, "find_failed", as_if_busy)
            if number == 8 and not wrong:
                break
        monkeypatch.undo()
        if wrong:
            with pytest.raises(IndexError, match="index out of range in self"):
                count.item()
        return count.item(), table.weight.tolist()

    with compiling("now"):
        total, weight = counted(False)
        assert counted(True) == (total + 1, weight)
    assert len(noticed) >= 2, "some steps ran before the host had looked"


@pytest.mark.parametrize("wrong", ["index", "target"])
@pytest.mark.parametrize("before", [0, *[1, 2] * 4, 6])
def test_a_step_with_a_wrong_index_changes_nothing(wrong, before):
    """Writes before the wrong index stay and later ones have not happened, no matter when the error is raised."""
    torch.manual_seed(0)
    embedding, linear, norm = nn.Embedding(10, 4), nn.Linear(4, 3), nn.BatchNorm1d(3)
    parameters = [*embedding.parameters(), *linear.parameters(), *norm.parameters()]
    optimizer = torch.optim.Adam(parameters, lr=0.1)
    count, rows, labels = torch.zeros(()), torch.arange(4), torch.tensor([0, 1, 2, 0])

    def step(factor, shift):
        count.add_(1)
        loss = nn.functional.cross_entropy(norm(linear(embedding(rows * factor))), labels + shift)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss

    def numbers():
        states = [value for state in optimizer.state.values() for value in state.values()]
        return [t.tolist() for t in [*parameters, *states, norm.running_mean, norm.running_var]]

    fine = (torch.tensor(1), torch.tensor(0))
    for _ in range(before):
        step(*fine)
    known = numbers()
    losses = []
    with pytest.raises(
        IndexError, match="index out of range in self" if wrong == "index" else "Target 9 is out of bounds"
    ):
        losses.append(step(torch.tensor(50), fine[1]) if wrong == "index" else step(fine[0], torch.tensor(9)))
        losses += [step(*fine) for _ in range(3)]
        count.item()  # where the processor is busy, the host sees the verdict no sooner: those steps have changed nothing either
    if before:  # otherwise there is no state yet to compare
        now = numbers()
        if wrong == "target":  # batch norm counts its batch before the loss is computed
            assert now.pop() != known.pop()
            assert now.pop() != known.pop()
        assert now == known
    assert count.item() == before + 1
    for lost in losses:
        with pytest.raises(IndexError):
            lost.item()
    after = step(*fine)
    assert after.item() > 0
    assert count.item() == before + 2


X3 = torch.arange(3.0)


def taken_and_written(n, count):
    """Indexes in a program whose check nobody has read yet; returns the elements, and a result that is recorded later."""
    taken = (X3 * 2)[torch.tensor([n]) + 0]
    torch.engine.flush()
    count.add_(1)
    return taken, X3 * 7


@pytest.mark.recorded
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_wrong_index_is_told_whenever_an_interrupt_comes():
    count = torch.zeros(())
    for _ in range(4):
        assert [t.tolist() for t in taken_and_written(1, count)] == [[2.0], [0.0, 7.0, 14.0]]
    interrupted = Interrupts(Path(torch.__file__).parent)
    for number in itertools.count(1):
        taken, after = taken_and_written(7, count)
        happened = interrupted.happened
        with interrupted(events=number), pytest.raises(IndexError):
            after.tolist()
        for lost in (after, taken, after):
            with pytest.raises(IndexError, match="index 7 is out of bounds"):
                lost.tolist()
        assert count.item() == 4
        if interrupted.happened == happened:
            break
    assert number > 20
    assert taken_and_written(1, count)[0].tolist() == [2.0]
    assert count.item() == 5


@pytest.mark.recorded
def test_a_write_into_what_a_wrong_index_has_made():
    for number in [1, 1, 1, 1, 7]:
        taken = (X3 * 2)[torch.tensor([number]) + 0]
        torch.engine.flush()
        taken.copy_(X3[:1] * 3)  # reads none of the old elements
        after = X3 * 7
        if number == 1:
            assert (taken.tolist(), after.tolist()) == ([0.0], [0.0, 7.0, 14.0])
    for lost in (after, taken, after, taken):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            lost.tolist()


@pytest.mark.recorded
@pytest.mark.parametrize("switch", [torch.no_grad, torch.inference_mode, lambda: torch.set_grad_enabled(False)])
def test_a_decorated_function_that_is_interrupted_leaves_the_modes_as_they_were(switch):
    twice, x = switch()(lambda x: x * 2), torch.ones(2, requires_grad=True)
    assert not twice(x).requires_grad
    interrupted = Interrupts(Path(torch.__file__).parent)
    for number in itertools.count(1):
        happened = interrupted.happened
        with interrupted(events=number):
            twice(x)
        assert torch.is_grad_enabled()
        assert not torch.is_inference_mode_enabled()
        assert (x * 2).requires_grad
        if interrupted.happened == happened:
            break
    assert number > 5
