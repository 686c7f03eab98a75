"""Interrupts a training loop at random moments: each step has happened completely or not at all, and training goes on.

    python -m tests.engine.interrupts --count 500 --when hot        a step that runs as one program
    python -m tests.engine.interrupts --count 100 --when new        a new model each time: recording, tracing, compiling, first runs

After each interrupt the model and its optimizer are compared with twins that are never interrupted. All numbers are float64: an
interrupted step may run as another program, which rounds differently, and in float32 hundreds of steps let that difference grow to 1e-3.
"""

import argparse
import gc
import random
import signal
import time

import torchlike as torch

nn = torch.nn
LOST, WRONG = "lost", "wrong"


class Pair:
    """A model with its optimizer and data. Two pairs with the same seed are equal."""

    def __init__(self, width, optimizer):
        torch.manual_seed(width)
        self.model = nn.Sequential(nn.Linear(width, 8), nn.ReLU(), nn.Linear(8, 3)).double()
        self.optimizer = getattr(torch.optim, optimizer)(self.model.parameters(), lr=0.05)
        self.x, self.y = torch.randn(6, width).double(), torch.tensor([0, 1, 2, 0, 1, 2])

    def step(self):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(self.x), self.y)
        loss.backward()
        self.optimizer.step()

    def two_steps(self):
        self.step()
        self.step()

    def state(self):
        """Returns all numbers of the model and the optimizer, without state that was made for a step that has not happened."""
        tensors = [*self.model.parameters()]
        for own in self.optimizer.state.values():
            if own.get("step") == 0:
                continue
            tensors += [value for value in own.values() if isinstance(value, torch.Tensor)]
        return [tensor.detach().clone().flatten().tolist() for tensor in tensors]


def alike(a, b):
    return len(a) == len(b) and all(
        len(p) == len(q) and all(abs(x - y) <= 1e-9 * (1 + abs(y)) for x, y in zip(p, q, strict=True))
        for p, q in zip(a, b, strict=True)
    )


def interrupt_after(seconds, action):
    """Runs an action until it ends or the time is over. Returns whether it was interrupted.

    Meanwhile the garbage collector is off, because it calls a Python function of JAX, and Python drops exceptions raised in it.
    """
    came = False

    def interrupt(number, frame):
        nonlocal came
        came = True
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    collects = gc.isenabled()
    gc.disable()
    try:
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            action()
        finally:
            left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
            # The system may deliver the signal to another thread, which on a busy machine handles it only when it is scheduled.
            # And none comes from a timer that was stopped in the last microsecond: of that, too, nothing is left. Then one is sent.
            patience = time.perf_counter() + 5
            while not left and not came:
                time.sleep(0.001)
                if time.perf_counter() > patience:
                    signal.raise_signal(signal.SIGALRM)
    except KeyboardInterrupt:
        return True
    finally:
        signal.signal(signal.SIGALRM, before)
        if collects:
            gc.enable()
    return False


def check(own, twin, most):
    """Returns what is wrong after the interrupt, or None. The twin repeats the steps of its pair, at most ``most`` of them."""
    try:
        state = own.state()
    except RuntimeError as error:
        return f"{LOST}: {error}"
    for _ in range(most + 1):
        if alike(state, twin.state()):
            return None
        twin.step()
    return f"{WRONG}: the state is that of no step"


def interrupts(count, when, seed=0):
    """Interrupts a loop ``count`` times. Returns how many interrupts arrived, and a line for each that did harm."""
    rng = random.Random(seed)
    came, harm = 0, []
    own = twin = None
    took = 1e-3
    tries = 0
    while came < count and tries < 20 * count + 20:
        tries += 1
        if own is None or when == "new":
            width, optimizer = rng.randrange(4, 60), rng.choice(["SGD", "Adam"])
            own, twin = Pair(width, optimizer), Pair(width, optimizer)
            if when == "new":
                torch.engine.recorder().forget()
                begun = time.perf_counter()
                twin.step()
                twin.state()
                took = time.perf_counter() - begun
                torch.engine.recorder().forget()
                twin = Pair(width, optimizer)
            else:
                for pair in (own, twin):
                    for _ in range(6):
                        pair.step()
                begun = time.perf_counter()
                for _ in range(10):
                    own.step()
                    twin.step()
                took = (time.perf_counter() - begun) / 20

        # JAX may find a new program in its cache on disk, and then has it much sooner than it took to compile.
        delay = rng.uniform(1e-5, 2.5 * took) if when == "hot" else took * 10 ** rng.uniform(-3.0, 0.2)
        if interrupt_after(delay, own.two_steps):
            came += 1
        found = check(own, twin, 2)
        if found is not None:
            harm.append(f"interrupt {came}: {found}")
            own = None
        else:
            own.step()  # training goes on
            twin.step()
            if not alike(own.state(), twin.state()):
                harm.append(f"interrupt {came}: {WRONG} in the next step")
                own = None
    return came, harm


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--when", choices=["hot", "new"], default="hot")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    came, harm = interrupts(options.count, options.when, options.seed)
    print("\n".join(harm))
    print(f"{came} interrupts, {sum(LOST in h for h in harm)} lost, {sum(WRONG in h for h in harm)} wrong")


if __name__ == "__main__":
    main()
