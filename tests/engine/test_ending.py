"""Large arrays are written over, or dropped before a run ends, only where nothing else can reach them; and a step stays whole."""

import gc
import pickle
import signal
import tracemalloc
import weakref

import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import compiling, recorder, segment
from torchlike.engine.interpreter.running import is_alone
from torchlike.engine.memory import ending
from torchlike.engine.program import run_joined

pytestmark = pytest.mark.recorded
nn = torch.nn
SIZE = 600  # a parameter of 1.4 MB


@pytest.fixture(autouse=True)
def interpreted():
    with compiling("never"):
        yield


# ---- whose memory an array is


def test_an_array_that_only_the_list_holds_is_alone():
    assert is_alone([np.empty(9)], 0)
    assert is_alone([np.empty(9).reshape(3, 3)], 0)
    assert is_alone([None, np.empty((3, 3))], 1)


keep: list[object] = []


def kept(array, other):
    keep.append(other)
    return array


def memory_of(way):
    """An array whose memory something else reaches, or that must not be written to."""
    keep.clear()
    array = np.arange(12.0)
    if way == "jax":
        import jax.numpy as jnp

        keep.append(jnp.arange(12.0))
        return np.from_dlpack(keep[0])  # pyright: ignore[reportArgumentType]
    if way == "read-only":
        array.flags.writeable = False
        return array
    if way == "read-only base":
        array.flags.writeable = False
        return array.reshape(3, 4)
    if way == "not contiguous":
        return array.reshape(3, 4).T
    if way == "foreign":
        return np.frombuffer(bytearray(96))
    if way == "base is held":
        return kept(array.reshape(3, 4), array)
    if way == "another view":
        return kept(array.reshape(3, 4), array[:2])
    others = {
        "variable": lambda: array, "view": lambda: array[1:], "transposed": lambda: array.T, "memoryview": lambda: memoryview(array),  # pyright: ignore[reportArgumentType]
        "weak reference": lambda: weakref.ref(array), "dlpack": lambda: array.__dlpack__(), "in a tensor": lambda: torch.from_numpy(array),
    }  # fmt: skip
    return kept(array, others[way]())


@pytest.mark.parametrize(
    "way",
    [
        "jax", "read-only", "read-only base", "not contiguous", "foreign", "base is held", "another view", "variable", "view",
        "transposed", "memoryview", "weak reference", "dlpack", "in a tensor",
    ],
)  # fmt: skip
def test_memory_that_something_else_reaches_is_not_written_over(way):
    assert not is_alone([memory_of(way)], 0)


# ---- steps


def model(layers=4):
    torch.manual_seed(0)
    net = nn.Sequential(*[nn.Linear(SIZE, SIZE) for _ in range(layers)])
    return net, torch.optim.Adam(net.parameters(), lr=0.01)


def step(net, optimizer, size=None):
    optimizer.zero_grad()
    loss = net(torch.ones(2, SIZE)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()


def numbers(net, optimizer):
    state = [s[name] for s in optimizer.state.values() for name in ("step", "exp_avg", "exp_avg_sq")]
    return [t.detach().numpy().tobytes() for t in [*net.parameters(), *state]]


@pytest.fixture
def most_beyond(monkeypatch):
    """How many bytes more than before there are at most while something runs."""
    monkeypatch.setattr(
        ending, "check_allocation", lambda nbytes, placement: None
    )  # makes an array that it does not touch
    return _most_beyond


def _most_beyond(run):
    gc.collect()
    tracemalloc.start()
    run()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return most


def test_a_step_needs_no_second_copy_of_parameters_and_state(most_beyond):
    net, optimizer = model(10)
    for _ in range(3):
        step(net, optimizer)
    parameters = sum(p.nbytes for p in net.parameters())
    gradients = parameters  # those of the last step are there before and after
    optimizer.zero_grad()
    recorder().flush("a test")
    assert most_beyond(lambda: step(net, optimizer)) < gradients + 0.6 * parameters


@pytest.mark.parametrize("change", ["add", "two", "power"])
def test_a_large_tensor_is_changed_in_its_own_memory(change, most_beyond):
    x = torch.ones(4_000_000)
    x.add_(1).sum().item()

    def run():
        if change == "add":
            x.add_(1)
        elif change == "two":
            x.mul_(2).add_(1)
        else:
            x.sqrt_()
        recorder().flush("a test")

    run()
    assert most_beyond(run) < 0.5 * x.nbytes


def holders():
    """Ways to keep what parameters were before a step, by name; each returns what reads it again."""

    def clones(net):
        copies = [p.detach().clone() for p in net.parameters()]
        return lambda: [c.numpy().tobytes() for c in copies]

    def arrays(net):
        copies = [p.detach().clone().numpy() for p in net.parameters()]
        return lambda: [c.tobytes() for c in copies]

    def views(net):
        copies = [p.detach().clone().reshape(-1)[1:] for p in net.parameters()]
        return lambda: [c.numpy().tobytes() for c in copies]

    def states(net):
        copy = pickle.loads(pickle.dumps(net.state_dict()))
        return lambda: [c.numpy().tobytes() for c in copy.values()]

    def in_graph(net):
        results = [(p * 1).exp() for p in net.parameters()]  # what is saved lies in the graph
        return lambda: [r.detach().numpy().tobytes() for r in results]

    def dlpack(net):
        copies = [np.from_dlpack(p.detach().clone()) for p in net.parameters()]
        return lambda: [c.tobytes() for c in copies]

    return {f.__name__: f for f in (clones, arrays, views, states, in_graph, dlpack)}


@pytest.mark.parametrize("name", holders())
@pytest.mark.parametrize("before", [0, 1, 3])
def test_what_somebody_keeps_of_old_parameters_stays(name, before):
    net, optimizer = model(2)
    for _ in range(before):
        step(net, optimizer)
    read = holders()[name](net)
    first = read()
    for _ in range(3):
        step(net, optimizer)
        assert read() == first
    assert numbers(net, optimizer)[0] != first[0]


def test_a_step_in_place_gives_the_bits_of_one_that_keeps_all(monkeypatch):
    results = []
    for least in (ending.LARGE_BYTES, 2**60):
        monkeypatch.setattr(segment, "LARGE_BYTES", least)
        net, optimizer = model(3)
        for _ in range(4):
            step(net, optimizer)
        results.append(numbers(net, optimizer))
    assert results[0] == results[1]


def test_an_array_of_the_program_is_written_to_as_before():
    array = np.ones((SIZE, SIZE), np.float32)
    x = torch.from_numpy(array)
    for n in range(3):
        x.add_(1)
        assert array[0, 0] == n + 2 and x[0, 0].item() == n + 2


# ---- interrupts and failures in the second stage


def in_the_middle(monkeypatch, act):
    """Lets something happen each time that the second stage has computed and stored nothing yet."""

    def disturbed(plan, table):
        run_joined(plan, table)
        act()

    monkeypatch.setattr(ending, "run_joined", disturbed)


def test_a_handler_sees_the_step_before_or_after(monkeypatch):
    seen = []
    undisturbed = model(2)
    wanted = [numbers(*undisturbed)]
    for _ in range(3):
        step(*undisturbed)
        wanted.append(numbers(*undisturbed))
    net, optimizer = model(2)
    step(net, optimizer)
    in_the_middle(monkeypatch, lambda: signal.raise_signal(signal.SIGUSR1))
    before = signal.signal(signal.SIGUSR1, lambda *_: seen.append(numbers(net, optimizer)))
    try:
        for _ in range(2):
            step(net, optimizer)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert len(seen) >= 2 and all(each in wanted for each in seen)
    assert numbers(net, optimizer) == wanted[-1]


def test_ctrl_c_comes_after_the_second_stage(monkeypatch):
    undisturbed = model(2)
    for _ in range(3):
        step(*undisturbed)
    net, optimizer = model(2)
    step(net, optimizer)
    step(net, optimizer)
    with monkeypatch.context() as patched:
        in_the_middle(patched, lambda: signal.raise_signal(signal.SIGINT))
        net[0].weight.grad = None
        with pytest.raises(KeyboardInterrupt):
            step(net, optimizer)
    assert numbers(net, optimizer) == numbers(*undisturbed)


def test_a_failure_before_the_second_stage_leaves_everything(monkeypatch):
    net, optimizer = model(2)
    step(net, optimizer)
    before = numbers(net, optimizer)

    def no_room(nbytes, placement):
        raise RuntimeError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(ending, "check_allocation", no_room)
        optimizer.zero_grad()
        net(torch.ones(2, SIZE)).square().mean().backward()
        optimizer.step()
        recorder().flush("a test")
    assert numbers(net, optimizer) != before  # the operations ran one at a time
    assert all(np.isfinite(p.detach().numpy()).all() for p in net.parameters())


def test_what_a_failure_within_the_second_stage_has_lost_raises(monkeypatch):
    net, optimizer = model(2)
    step(net, optimizer)

    def fail():
        raise MemoryError

    with monkeypatch.context() as patched:
        in_the_middle(patched, fail)
        with pytest.raises(RuntimeError, match="allocate memory"):
            step(net, optimizer)
    for parameter in net.parameters():
        with pytest.raises(RuntimeError, match="allocate memory"):
            parameter.detach().numpy()
