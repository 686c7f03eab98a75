"""Handles signals during a training loop: each handler saves the model of one step, whole, and the loop does not notice.

    python -m tests.engine.handled_signals --count 1000        alarms at random times; prints how many came and what they found wrong

All numbers are small integers, so that they are the same whether a step runs as one program or is cut and run op by op: after n steps
every element of a weight is n (n + 1) / 2, and of its momentum -n.
"""

import argparse
import gc
import io
import random
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

import torchlike as torch

nn = torch.nn
WORDS = 5


class Model(nn.Module):
    """Draws random numbers, looks up an index, counts its calls. The derivative by each element of its weights is -1."""

    drawn: torch.Tensor
    calls: torch.Tensor

    def __init__(self, width: int) -> None:
        super().__init__()
        self.first, self.second = (nn.Parameter(torch.zeros(width)) for _ in range(2))
        self.words = nn.Embedding(WORDS, 3)
        self.register_buffer("drawn", torch.zeros(3))
        self.register_buffer("calls", torch.zeros(()))
        with torch.no_grad():
            self.words.weight.zero_()

    def forward(self, words: torch.Tensor) -> torch.Tensor:
        self.calls += 1
        self.drawn += torch.randint(0, 4, (3,))
        return -(self.first.sum() + self.second.sum() + self.words(words).sum())


class Loop:
    """A model in training. ``save`` is what its signal handler does."""

    def __init__(self, width: int = 4) -> None:
        torch.manual_seed(width)
        self.model = Model(width)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=1.0, momentum=1.0)
        self.words = torch.arange(WORDS)
        self.loss = torch.zeros(())
        self.wrong: list[str] = []
        self.saved = 0

    def step(self) -> None:
        self.optimizer.zero_grad()
        self.loss = self.model(self.words)
        self.loss.backward()
        self.optimizer.step()

    def save(self, number: int = 0, frame: object = None) -> None:
        try:
            file = io.BytesIO()
            state = {"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "loss": self.loss}
            torch.save(state, file)
            self.wrong += self.faults(file)
        except Exception as error:
            self.wrong.append(repr(error))
        self.saved += 1

    def faults(self, file: io.BytesIO) -> list[str]:
        """Returns what is wrong in a saved file."""
        file.seek(0)
        saved = torch.load(file)
        model, states = saved["model"], [own for own in saved["optimizer"]["state"].values() if own]
        momenta = [own["momentum_buffer"] for own in states]
        steps = -int(momenta[0].flatten()[0]) if momenta else 0
        weights = ["first", "second", "words.weight"]
        expected = {name: {float(steps * (steps + 1) // 2)} for name in weights}
        found = {name: set(model[name].flatten().tolist()) for name in weights}
        faults = [] if found == expected else [f"{found} after {steps} steps"]
        if len(momenta) not in (0, 3):
            faults.append(f"{len(momenta)} momenta")
        if any(set(momentum.flatten().tolist()) != {float(-steps)} for momentum in momenta):
            faults.append(f"momenta {momenta}")
        if int(model["calls"]) not in (steps, steps + 1):
            faults.append(f"{int(model['calls'])} calls after {steps} steps")
        elements = sum(model[name].numel() for name in weights)
        if saved["loss"].item() not in {-elements * n * (n + 1) / 2 for n in (steps - 1, steps)}:
            faults.append(f"loss {saved['loss'].item()} after {steps} steps")
        return faults

    def numbers(self) -> list[object]:
        """Returns all that the loop has computed, and the state of the random numbers."""
        state = [own["momentum_buffer"] for own in self.optimizer.state.values()]
        tensors = [*self.model.parameters(), *self.model.buffers(), *state, self.loss, torch.get_rng_state()]
        return [tensor.tolist() for tensor in tensors]


@contextmanager
def handled(handler: Callable[[int, object], object]) -> Iterator[None]:
    """Within the context, the handler is that of SIGALRM."""
    before = signal.signal(signal.SIGALRM, handler)
    try:
        yield
    finally:
        # In this order: the handler may come within each of these calls, and set the timer once more. A signal that has come, and finds it
        # is to be ignored, is an error in Python. So it is handled.
        signal.signal(signal.SIGALRM, lambda number, frame: None)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def random_alarms(count: int, seed: int = 0) -> tuple[int, list[str]]:
    """Lets alarms ring at random times until so many handlers have saved. Now and then the model is new.

    Returns:
        how many have saved, and what was wrong.
    """
    rng = random.Random(seed)
    saved, wrong, steps = 0, list[str](), 0
    loop = undisturbed = Loop()
    pause = 1e-3

    def ring(number: int, frame: object) -> None:
        loop.save()
        signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, pause))

    while saved < count and not wrong:
        if steps % 200 == 0:
            width = 4 + steps // 200
            loop, undisturbed = Loop(width), Loop(width)
            undisturbed.step()
            start = time.perf_counter()
            undisturbed.step()
            pause = max(2e-3, 4 * (time.perf_counter() - start))
            undisturbed = Loop(width)
            if steps % 400 == 0:
                torch.engine.recorder().forget()
            random_state = torch.get_rng_state()
        with handled(ring):
            torch.set_rng_state(random_state)
            signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, pause))
            for _ in range(20):
                loop.step()
        after = torch.get_rng_state()
        torch.set_rng_state(random_state)
        for _ in range(20):
            undisturbed.step()
        random_state = after
        if loop.numbers() != undisturbed.numbers():
            wrong.append(f"{loop.numbers()} instead of {undisturbed.numbers()}")
        wrong += loop.wrong
        saved, loop.saved = saved + loop.saved, 0
        steps += 20
    return saved, wrong


def signal_at(event: int, action: Callable[[], object]) -> bool:
    """Runs an action, and raises SIGALRM at one of its calls. Python handles signals there. Returns whether there are so many."""
    left = event

    def watch(frame: FrameType, kind: str, _: object) -> None:
        nonlocal left
        if kind in ("call", "c_return"):
            left -= 1
            if not left:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGALRM)

    collects = gc.isenabled()
    gc.disable()  # a collection has calls, too, and comes at other moments each time
    sys.setprofile(watch)
    try:
        action()
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    return left <= 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    saved, wrong = random_alarms(options.count, options.seed)
    print(*wrong, f"{saved} saved, {len(wrong)} wrong", sep="\n")


if __name__ == "__main__":
    main()
