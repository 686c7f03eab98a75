"""A signal handler may read every tensor at any moment. What it reads belongs to one step, and the program goes on as if it had not run."""

import contextlib
import itertools
import signal
import threading

import pytest

import torchlike as torch
from tests.engine.handled_signals import Loop, handled, random_alarms, signal_at
from torchlike.engine import background, compiling
from torchlike.engine.jax_settings import tracing

pytestmark = pytest.mark.recorded


def at_each_event(loop, undisturbed, first, stride, handler=None):
    """Steps a loop again and again, with a signal at each ``stride``-th call of a step; returns how many came."""
    event = first
    random_state = torch.get_rng_state()
    while True:
        torch.set_rng_state(random_state)
        with handled(handler or loop.save):
            came = signal_at(event, loop.step)
        after = torch.get_rng_state()
        torch.set_rng_state(random_state)
        undisturbed.step()
        random_state = after
        assert loop.wrong == []
        assert loop.numbers() == undisturbed.numbers(), event
        if not came:
            return loop.saved
        event += stride


@pytest.mark.costly
@pytest.mark.parametrize("mode", ["auto", "now", "never"])
def test_a_signal_at_each_call_of_a_step_that_has_run_before(mode):
    with compiling(mode):
        loop, undisturbed = Loop(), Loop()
        for each in (loop, undisturbed):
            torch.manual_seed(0)
            for _ in range(4):
                each.step()
        assert at_each_event(loop, undisturbed, 1, 3) > 50  # half as many calls where files are compiled


@pytest.mark.parametrize(("mode", "stride"), [("now", 700), ("never", 60)])
def test_a_signal_in_the_first_step_of_a_model(mode, stride):
    """It is traced, and compiled."""
    came, event = 0, 1
    with compiling(mode):
        for number in range(20):
            size = number + (5 if mode == "now" else 25)  # the other mode must not have seen its operations
            loop, undisturbed = Loop(size), Loop(size)
            torch.manual_seed(0)
            with handled(loop.save):
                if signal_at(event, loop.step):
                    came, event = came + 1, event + stride
                else:  # a step has fewer calls where what it compiles lies on disk
                    event, stride = 1 + stride // 3, max(1, stride // 2)
            random_state = torch.get_rng_state()
            torch.manual_seed(0)
            undisturbed.step()
            assert torch.equal(random_state, torch.get_rng_state())
            assert loop.wrong == []
            assert loop.numbers() == undisturbed.numbers()
    assert came > 5


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_a_handler_that_trains_another_model_by_the_same_program(mode):
    """Its step gives memory away, while the step that it has interrupted may still read its own."""
    with compiling(mode):
        loop, undisturbed, other, other_undisturbed = (Loop() for _ in range(4))
        for each in (loop, undisturbed, other, other_undisturbed):
            torch.manual_seed(0)
            for _ in range(4):
                each.step()
        steps = 0

        def train(number, frame):
            nonlocal steps
            with torch.random.fork_rng():
                torch.manual_seed(steps)
                other.step()
                loop.save()
                other.step()
                steps += 1

        came = at_each_event(loop, undisturbed, 2, 13, train)
        for number in range(steps):
            torch.manual_seed(number)
            other_undisturbed.step()
            other_undisturbed.step()
        assert came > 10
        assert other.numbers() == other_undisturbed.numbers()


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_a_handler_that_reads_and_raises(mode):
    with compiling(mode):
        loop = Loop()
        for _ in range(4):
            loop.step()

        def end(number, frame):
            loop.save()
            raise TimeoutError

        event, came = 3, True
        while came:
            with handled(end):
                try:
                    came = signal_at(event, loop.step)
                except TimeoutError:
                    loop.save()  # what it finds wrong is an entry in the list
            if loop.model.calls.item() != -loop.optimizer.state[loop.model.first]["momentum_buffer"][0]:
                loop.model.calls -= 1  # the step was interrupted after it had counted
            assert loop.wrong == []
            event += 13


@pytest.mark.parametrize("mode", ["auto", "never"])
def test_a_signal_in_a_step_with_a_wrong_index(mode):
    """Whoever reads the loss gets the error, the handler as well as the program, and the weights keep their numbers."""
    with compiling(mode):
        loop = Loop()
        for _ in range(4):
            loop.step()
        right, wrong = loop.words, loop.words + 1
        before = [p.tolist() for p in loop.model.parameters()]

        handled_at = []

        def read(number, frame):
            handled_at.append(event)
            with contextlib.suppress(IndexError):
                loop.loss.item()

        for event in range(1, 10_000, 17):
            loop.words, loop.loss = wrong, torch.zeros(())
            with handled(read), contextlib.suppress(IndexError):
                signal_at(event, loop.step)
            with pytest.raises(IndexError):
                loop.loss.item()
                loop.step()
                loop.loss.item()
            loop.words = right
            assert [p.tolist() for p in loop.model.parameters()] == before
            if handled_at[-1:] != [event]:
                break
        assert len(handled_at) > 10


def test_alarms_at_random_times():
    with compiling("auto"):  # each alarm cuts a step in another place: with "now", each would be compiled
        saved, wrong = random_alarms(200)
    assert (saved >= 200, wrong) == (True, [])


def test_a_handler_may_run_a_path_while_its_plans_are_joined():
    x = torch.linspace(-1, 1, 5)
    pending, seen, results = [], [], []

    def step():
        pending[:] = [((x * 2 + 1).exp() - 3).abs() * x]
        results.append(pending[0].sum().item())

    def read(number, frame):
        seen.append(pending[0].tolist())

    with compiling("auto"):
        step()
        expected = pending[0].tolist()
        for event in itertools.count(1, 3):
            torch.engine.recorder().forget()
            step()  # from the second time on, operations in a row are joined
            torch.explain(reset=True)
            with handled(read):
                came = signal_at(event, step)
            assert not any("failed" in reason for reason in torch.explain().reasons), event
            assert seen in ([], [expected]) and results[-1] == results[0], event
            seen.clear()
            if not came:
                break
    assert event > 100


SAMPLES = [
    lambda: torch.rand(700),
    lambda: torch.randn(20),
    lambda: torch.randn(5),
    lambda: torch.randint(0, 9, (9,)),
    lambda: torch.poisson(torch.full((3,), 9.0)),
]


@pytest.mark.parametrize("action", [lambda: torch.randn(20), torch.get_rng_state])
def test_a_handler_that_draws_numbers_or_reads_their_state_comes_between_two_samples(action):
    def in_order(place):
        """Returns what all of it gives if the handler's action comes before this sample."""
        torch.manual_seed(3)
        actions = [*SAMPLES]
        actions.insert(place, action)
        return [act().tolist() for act in actions]

    expected = [in_order(place) for place in range(len(SAMPLES) + 1)]
    rows, of_handler = [], []
    for event in range(1, 10_000, 7):
        rows.clear()
        of_handler.clear()
        torch.manual_seed(3)
        with handled(lambda number, frame: of_handler.append(action())):
            came = signal_at(event, lambda: rows.extend(sample() for sample in SAMPLES))
        if not came:
            break
        found, (extra,) = [row.tolist() for row in rows], of_handler
        assert any([*found[:n], extra.tolist(), *found[n:]] == order for n, order in enumerate(expected))
    assert event > 400


# ---- handlers that wait


def raising(number, frame):
    raise TimeoutError


def test_a_handler_waits_until_jax_has_traced():
    seen = []

    @tracing
    def traced():
        signal.raise_signal(signal.SIGALRM)
        signal.raise_signal(signal.SIGALRM)
        seen.append("traced")

    with handled(lambda number, frame: seen.append(number)):
        own = signal.getsignal(signal.SIGALRM)
        traced()
        assert seen == ["traced", signal.SIGALRM, signal.SIGALRM]
        assert signal.getsignal(signal.SIGALRM) is own
    with handled(raising):
        with pytest.raises(TimeoutError):
            traced()
        assert signal.getsignal(signal.SIGALRM) is raising
    assert seen[3:] == ["traced"]


def test_an_interrupt_does_not_wait_and_leaves_the_handlers_at_work():
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = []
    try:
        with handled(lambda number, frame: seen.append(number)):
            own = signal.getsignal(signal.SIGALRM)

            @tracing
            def interrupted():
                signal.raise_signal(signal.SIGALRM)
                signal.raise_signal(signal.SIGINT)
                seen.append("not reached")

            with pytest.raises(KeyboardInterrupt):
                interrupted()
            assert seen == [signal.SIGALRM]
            assert signal.getsignal(signal.SIGALRM) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_stand_in_that_was_left_behind_calls_the_handler(monkeypatch):
    seen = []
    with handled(lambda number, frame: seen.append(number)):
        own = signal.getsignal(signal.SIGALRM)
        with monkeypatch.context() as patch:
            patch.setattr("torchlike.engine.jax_settings.let_go", lambda: None)  # as if it were interrupted
            tracing(lambda: None)()
        assert signal.getsignal(signal.SIGALRM) is not own
        signal.raise_signal(signal.SIGALRM)
        assert seen == [signal.SIGALRM]
        tracing(lambda: None)()
        assert signal.getsignal(signal.SIGALRM) is own


def test_a_handler_that_needs_the_program_that_is_being_compiled():
    """It would wait for ever for the code that it has interrupted."""
    seen = []

    def make():
        signal.raise_signal(signal.SIGALRM)
        return 1

    task = background.Task(make, "")
    with handled(lambda number, frame: seen.append(task.result())):
        assert task.result() == 1
    assert seen == [1]


def test_a_finalizer_that_needs_the_program_that_is_being_compiled():
    task = background.Task(lambda: task.result(), "")
    with pytest.raises(background.CompilerWaits):
        task.result()


def test_other_threads_leave_handlers_alone():
    with handled(raising):
        found = []
        thread = threading.Thread(target=tracing(lambda: found.append(signal.getsignal(signal.SIGALRM))))
        thread.start()
        thread.join()
        assert found == [raising]
