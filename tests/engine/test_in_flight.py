"""Segments that another thread runs: the same results, whatever is read, written, interrupted or forked meanwhile."""

import gc
import os
import signal
import threading
from pathlib import Path
from typing import Any

import pytest

import torchlike as torch
from tests.fuzz.interrupts import Interrupts
from torchlike.engine import checks, threads
from torchlike.engine.handlers import collector
from torchlike.engine.interpreter import joined
from torchlike.engine.recorder import compiling, recorder

if joined.tape is None:
    pytest.skip("built without a compiler", allow_module_level=True)

pytestmark = pytest.mark.recorded
WIDTH, LAYERS, TOKENS = 512, 6, 24


@pytest.fixture(autouse=True)
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with torch.no_grad(), compiling("never"):
        yield
    torch.set_num_threads(before)


class Text:
    """What a text generator does: each step reads a history that is longer by one, and adds to it."""

    def __init__(self) -> None:
        torch.manual_seed(0)
        self.weights = [torch.randn(WIDTH, WIDTH) / 24 for _ in range(LAYERS)]
        self.histories = [torch.zeros(1, 2, WIDTH) for _ in self.weights]
        self.x = torch.ones(1, 1, WIDTH)
        self.between: Any = lambda text: None  # called after each layer

    def layer(self, number: int) -> None:
        history = torch.cat([self.histories[number], self.x], 1)
        self.histories[number] = history
        scores = (self.x @ history.transpose(1, 2)).softmax(-1)
        y = torch.tanh((scores @ history) @ self.weights[number])
        y = torch.nn.functional.layer_norm(y + self.x, (WIDTH,))
        for _ in range(3):  # what does not depend on how long the history is
            y = torch.tanh(y @ self.weights[number]) + y * 0.5
        self.x = y

    def token(self) -> int:
        for number in range(LAYERS):
            self.layer(number)
            self.between(self)
        return int(self.x.flatten().argmax())

    def state(self) -> list[bytes]:
        return [tensor.numpy().tobytes() for tensor in (self.x, *self.histories)]


def generated(tokens: int = TOKENS, between: Any = None, flies: bool = True) -> tuple[list[int], list[bytes], int]:
    """The tokens, the state at the end, and how many segments flew."""
    text = Text()
    if between is not None:
        text.between = between
    torch.set_num_threads(2 if flies else 1)
    flights.clear()
    found = [text.token() for _ in range(tokens)]
    return found, text.state(), len(flights)


flights: list[int] = []


@pytest.fixture(autouse=True)
def counted(monkeypatch):
    """Counts the flights: each is noted in this list when it begins."""

    class Noted(list):
        def append(self, segment):
            super().append(segment)
            assert all(other.flown for other in recorder().waiting if other.number < segment.number)
            flights.append(segment.number)

    flights.clear()
    monkeypatch.setattr(threads, "flown", Noted())


def test_the_results_are_those_of_one_thread():
    alone = generated(flies=False)
    together = generated()
    assert alone[:2] == together[:2]
    assert alone[2] == 0
    assert together[2] > TOKENS


WAYS: dict[str, Any] = {
    "a value is read": lambda text: text.x.sum().item(),
    "a history is read": lambda text: text.histories[0].numpy().sum(),
    "an input is written to": lambda text: text.histories[1].add_(0.0),
    "an element of an input is written": lambda text: text.histories[2].__setitem__((0, 0, 0), 0.0),
    "a weight is written to": lambda text: text.weights[1].mul_(1.0),
    "an element of a weight is written": lambda text: text.weights[0].__setitem__((0, 0), text.weights[0][0, 0].item()),
    "a weight is replaced": lambda text: text.weights.__setitem__(2, text.weights[2].clone()),
    "everything is flushed": lambda text: torch.cpu.synchronize(),
    "the collector runs": lambda text: gc.collect(),
    "memory is shared with NumPy": lambda text: text.histories[0].numpy().fill(0.25),
}


@pytest.mark.parametrize("way", WAYS)
def test_what_is_done_meanwhile_changes_what_it_would_change(way):
    alone = generated(between=WAYS[way], flies=False)
    together = generated(between=WAYS[way])
    assert alone[:2] == together[:2]


def test_a_weight_may_change_after_each_use():
    def change(text):
        for weight in text.weights:
            weight.add_(1e-3)
            weight[3, 4] = text.x[0, 0, 0]

    assert generated(between=change, flies=False)[:2] == generated(between=change)[:2]


def in_flight(tokens: int = TOKENS) -> Text:
    """A generator of which a segment flies."""
    torch.set_num_threads(2)
    text = Text()
    for _ in range(tokens):
        text.token()
    for number in range(LAYERS):
        text.layer(number)
        if threads.flown:
            return text
    raise AssertionError("no segment flew")


def expected(layers: int) -> list[bytes]:
    """The state after so many layers more than those tokens, computed by one thread."""
    torch.set_num_threads(1)
    text = Text()
    for _ in range(TOKENS):
        text.token()
    for number in range(layers):
        text.layer(number)
    return text.state()


def layers_of(text: Text) -> int:
    return sum(history.shape[1] - TOKENS - 2 for history in text.histories)


def test_a_flush_lands_what_flies():
    text = in_flight()
    recorder().flush("a test")
    assert not threads.flown
    assert text.state() == expected(layers_of(text))


def test_what_was_recorded_before_runs_before():
    """A record that was interrupted leaves a segment that waits. Nothing may run before it: it may hold a check that fails."""
    text = in_flight()
    text.state()
    flights.clear()
    earlier = torch.ones(3) + 1
    with recorder().lock:
        recorder().close(recorder().segment)
    assert recorder().waiting
    while not flights:
        for number in range(LAYERS):
            text.layer(number)
    assert earlier._value().array is not None


@pytest.mark.parametrize("why", ["a check has no verdict yet", "the collector is at work", "another thread records"])
def test_nothing_flies_where_something_may_come_between(why, monkeypatch):
    begin, end = threading.Event(), threading.Event()

    def other():
        (torch.ones(3) + 1).sum().item()
        begin.set()
        end.wait()

    text = in_flight()
    text.state()
    thread = threading.Thread(target=other)
    if why == "another thread records":
        thread.start()
        begin.wait()
    elif why == "a check has no verdict yet":
        monkeypatch.setattr(checks, "are_unread", lambda: True)
    else:
        monkeypatch.setattr(collector, "at_work", True)
    flights.clear()
    for number in range(layers_of(text), LAYERS):
        text.layer(number)
    monkeypatch.undo()
    end.set()
    assert not flights
    assert text.state() == expected(LAYERS)


def test_another_thread_reads_what_flies():
    text, found = in_flight(), []

    def read():
        found.append([(tensor * 1).numpy().tobytes() for tensor in (text.x, *text.histories)])

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert found == [expected(layers_of(text))]
    in_flight()  # the thread is gone


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_child_finds_what_flew():
    text = in_flight()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writer, b"same" if text.state() == expected(layers_of(text)) else b"other")
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 9) == b"same"
    assert text.state() == expected(layers_of(text))


def test_a_signal_handler_reads_what_flies():
    found: list[Any] = []
    text = in_flight()
    before = signal.signal(signal.SIGUSR1, lambda *_: found.append(text.state()))
    try:
        signal.raise_signal(signal.SIGUSR1)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert found == [text.state()] == [expected(layers_of(text))]


def test_a_finalizer_reads_what_flies():
    found: list[Any] = []

    class Reader:
        def __init__(self, text: Text) -> None:
            self.text, self.itself = text, self

        def __del__(self) -> None:
            found.append(self.text.state())

    text = in_flight()
    text.layer(layers_of(text) % LAYERS)  # its inputs are among those of another segment
    layers = layers_of(text)
    reader = Reader(text)
    del text, reader
    gc.collect()
    assert found == [expected(layers)]


@pytest.mark.parametrize("events", range(1, 400, 7))
def test_an_interrupt_loses_nothing(events):
    """A step that was interrupted can be begun again from what the program holds."""
    interrupt = Interrupts(Path(torch.__file__).parent)
    text = in_flight()
    kept = text.x, [*text.histories]
    layers = layers_of(text)
    with interrupt(events=events):
        text.layer(0)
        text.x.sum().item()
    text.x, text.histories = kept[0], [*kept[1]]
    assert text.state() == expected(layers)
