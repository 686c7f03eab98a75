"""A program in which layers repeat is compiled a layer at a time, and does what it would do as one program."""

import itertools
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

import torchlike as torch
from tests.engine.handled_signals import handled, signal_at
from tests.fuzz.interrupts import Interrupts
from torchlike.engine import compiling, program, recorder
from torchlike.engine.regions import finding
from torchlike.engine.report import report

nn = torch.nn
pytestmark = pytest.mark.recorded
PACKAGE = Path(torch.__file__).parent
OPTIMIZERS = {
    "SGD": {"lr": 0.1, "momentum": 0.9},
    "Adam": {"lr": 0.01},
    "AdamW": {"lr": 0.01, "amsgrad": True},
    "RMSprop": {"lr": 0.01, "centered": True},
}


class Deep(nn.Module):
    """A network of equal layers, with a table whose indices are checked."""

    def __init__(self, layers):
        super().__init__()
        self.table = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(layers)])
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = self.table(x)
        for layer in self.layers:
            x = x + torch.tanh(layer(x))
        return self.head(x)


class Loop:
    """A training loop. Two loops of the same arguments are equal."""

    def __init__(self, layers=30, optimizer="Adam", checked=True):
        torch.manual_seed(0)
        self.model = Deep(layers).double()
        self.checked = checked
        self.optimizer = getattr(torch.optim, optimizer)(self.model.parameters(), **OPTIMIZERS[optimizer])
        self.x = torch.tensor([0, 1, 2, 9])

    def step(self, x=None):
        x = (
            self.x if x is None else x
        ) + 0  # so that the engine does not know its elements, and the program checks them
        if self.checked:
            loss = nn.functional.cross_entropy(self.model(x), x)
        else:
            loss = (self.model.head(self.model.layers[0](torch.ones(3, 4).double())) ** 2).mean()
            y = torch.ones(3, 4).double()
            for layer in self.model.layers:
                y = y + torch.tanh(layer(y))
            loss = loss + torch.tanh(y).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss

    def state(self):
        tensors = [*self.model.parameters()]
        for own in self.optimizer.state.values():
            tensors += [value for value in own.values() if isinstance(value, torch.Tensor)]
        return [t.detach().clone() for t in tensors]


def same(one, other):
    return all(torch.allclose(a, b, rtol=1e-9, atol=1e-12) for a, b in zip(one, other, strict=True))


@pytest.fixture(autouse=True)
def small_layers_pay(monkeypatch):
    """Small layers are divided too, so that the tests take little time."""
    monkeypatch.setattr(finding, "MIN_SECONDS_PER_ROUND", 0.0)


@pytest.fixture
def executables(monkeypatch):
    """How many executables were compiled for programs, when called."""
    calls = []

    def compile_ahead(*args, **kwargs):
        calls.append(args)
        return original(*args, **kwargs)

    original = program.compile_ahead
    monkeypatch.setattr(program, "compile_ahead", compile_ahead)
    return lambda: len(calls)


def trained(steps, **kwargs):
    loop = Loop(**kwargs)
    losses = [loop.step() for _ in range(steps)]
    return [loss.item() for loss in losses], loop.state()


def test_more_layers_take_no_more_executables(executables):
    recorder().forget()
    trained(3, layers=30)
    few = executables()
    trained(3, layers=60)
    assert executables() == 2 * few
    assert 5 <= few <= 24  # two programs: in the first step the optimizer has no state yet


@pytest.mark.costly
@pytest.mark.parametrize("checked", [True, False], ids=["with checks", "without checks"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_is_that_of_layers_that_run_one_by_one(executables, optimizer, checked):
    recorder().forget()
    losses, state = trained(5, optimizer=optimizer, checked=checked)
    assert executables() > 2  # it was divided
    with compiling("never"):
        expected, expected_state = trained(5, optimizer=optimizer, checked=checked)
    assert losses == pytest.approx(expected, rel=1e-9)
    assert same(state, expected_state)


def test_gradients_and_what_else_is_held_are_computed(executables):
    def step(loop):
        held = loop.model.table(loop.x)
        values = [held]
        for layer in loop.model.layers:
            held = held + torch.tanh(layer(held))
            values.append(held)
        loss = nn.functional.cross_entropy(loop.model.head(held), loop.x)
        loop.optimizer.zero_grad()
        loss.backward()
        loop.optimizer.step()
        return [*values, *[p.grad for p in loop.model.parameters()]]

    recorder().forget()
    loop, twin = Loop(), Loop()
    for _ in range(3):
        values = step(loop)
        got = [value.tolist() for value in values]
    with compiling("never"):
        for _ in range(3):
            expected = [value.tolist() for value in step(twin)]
    assert executables() > 2
    assert same(list(map(torch.tensor, got)), list(map(torch.tensor, expected)))


def test_layers_that_are_connected_otherwise_are_other_layers(executables):
    def values():
        x, y = torch.tensor([0.3, -0.2]).double(), torch.tensor([0.1, 0.5]).double()
        for n in range(200):
            inner = torch.tanh(x)
            outer = torch.tanh(x if n % 61 == 33 else inner)
            x, y = (inner - outer, x + y) if n % 67 == 35 else (y - outer, x + inner)
        return (x + y).tolist()

    recorder().forget()
    with compiling("never"):
        expected = values()
    assert [values() for _ in range(3)] == [pytest.approx(expected, rel=1e-9)] * 3
    assert executables() > 1


def test_new_parameters_take_over_the_memory_of_the_old_ones():
    loop = Loop()
    for _ in range(3):
        loop.step().item()
    old = [p._value().array for p in loop.model.parameters()]
    before = report.donated_bytes
    loop.step().item()
    assert all(array.is_deleted() for array in old)
    assert report.donated_bytes - before > 2 * sum(p.nbytes for p in loop.model.parameters())


def test_a_step_with_a_wrong_index_changes_nothing():
    loop, twin = Loop(), Loop()
    for _ in range(3):
        loop.step().item()
        twin.step().item()
    loss = loop.step(torch.tensor([0, 1, 2, 10]))
    with pytest.raises(IndexError, match="out of range"):
        loss.item()
    assert same(loop.state(), twin.state())
    for _ in range(2):
        loop.step().item()
        twin.step().item()
    assert same(loop.state(), twin.state())


def test_a_step_that_is_interrupted_has_happened_or_has_not():
    loop, twin = Loop(), Loop()
    for each in (loop, twin):
        for _ in range(3):
            each.step().item()
    interrupt = Interrupts(PACKAGE)
    steps = 0
    for events in itertools.count(1, 97):
        before = interrupt.happened
        with interrupt(events=events):
            loop.step().item()
        state, known = loop.state(), twin.state()
        if not same(state, known):
            twin.step().item()
            assert same(state, twin.state()), f"interrupted at event {events}"
            steps += 1
        if interrupt.happened == before:
            break
    assert interrupt.happened >= 8 and steps  # where modules are compiled, there are fewer moments


def test_layers_that_take_little_time_are_one_program(executables, monkeypatch):
    monkeypatch.setattr(finding, "MIN_SECONDS_PER_ROUND", 0.5e-3)
    recorder().forget()
    compiled = report.compiles
    trained(3)
    assert executables() == report.compiles - compiled > 0


def test_a_signal_handler_that_reads_while_a_step_runs():
    loop, twin = Loop(), Loop()
    for each in (loop, twin):
        for _ in range(3):
            each.step().item()
    seen = []

    def read(number, frame):
        seen.append(loop.state())

    def step():
        loop.step().item()

    for event in itertools.count(1, 487):
        before = twin.state()
        with handled(read):
            came = signal_at(event, step)
        twin.step().item()
        assert same(loop.state(), twin.state()), event
        if not came:
            break
        parameters = seen[-1][: len([*loop.model.parameters()])]
        # The optimizer's step as a whole, or nothing of it.
        assert any(same(parameters, now[: len(parameters)]) for now in (before, twin.state())), event
    assert len(seen) >= 4


@given(st.lists(st.integers(0, 2), max_size=60), st.lists(st.integers(0, 3), max_size=20), st.integers(1, 5))
def test_what_repeats_is_equal_and_nothing_is_left_out(before, repeated, count):
    entries = [*before, *repeated * count, 7]
    found = finding.repeats(entries)
    assert sorted(place for ranges in found for each in ranges for place in each) == list(range(len(entries)))
    for ranges in found:
        rounds = [[entries[place] for place in each] for each in ranges]
        assert all(each == rounds[0] for each in rounds)
