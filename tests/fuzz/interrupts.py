"""Raises KeyboardInterrupt at a chosen moment: where Python handles signals, or by a signal."""

import contextlib
import copy
import gc
import inspect
import signal
import sys
import threading
from pathlib import Path


class Interrupts:
    """Makes the contexts in which programs are interrupted. Programs of PyTorch run to the end, since they give the expected rows.

    Args:
        package: The package whose calls are counted, or None to interrupt nothing.
    """

    def __init__(self, package: Path | None) -> None:
        self.package = None if package is None else str(package)
        self.happened = 0

    @contextlib.contextmanager
    def __call__(self, events: int = 0, seconds: float = 0.0):
        """Makes a context in which KeyboardInterrupt is raised, and which catches it.

        Args:
            events: Interrupt at this call of C, or return from C, in the package; Python handles signals there.
            seconds: Interrupt after this time, by a signal.
        """
        try:
            if self.package is None:
                yield
            elif events:
                with self._at(events):
                    yield
            elif threading.current_thread() is threading.main_thread():
                with self._after(seconds):
                    yield
            else:
                yield
        except KeyboardInterrupt:
            self.happened += 1

    @contextlib.contextmanager
    def _at(self, left: int):
        def watch(frame, event, _):
            nonlocal left
            inside = frame if event == "c_return" else frame.f_back  # who has called
            if event in ("call", "c_return") and inside and inside.f_code.co_filename.startswith(self.package):
                left -= 1
                # Python drops an exception raised while it closes a generator, and closing looks like a call of the generator.
                if left <= 0 and not (event == "call" and frame.f_code.co_flags & inspect.CO_GENERATOR):
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        with _without_collector():
            sys.setprofile(watch)
            try:
                yield
            finally:
                sys.setprofile(None)

    @contextlib.contextmanager
    def _after(self, seconds: float):
        armed = True

        def ring(_, frame):
            on_the_way = frame.f_code.co_filename in (__file__, contextlib.__file__)  # in or out of this context
            if on_the_way or _in_collector(frame):  # a moment later
                signal.setitimer(signal.ITIMER_REAL, 1e-4)
            elif armed:
                raise KeyboardInterrupt

        signal.signal(signal.SIGALRM, ring)
        with _without_collector():
            try:
                signal.setitimer(signal.ITIMER_REAL, seconds)
                yield
            finally:
                armed = False
                signal.setitimer(signal.ITIMER_REAL, 0)
                # Not the default, which ends the process: another thread may have been given the signal, and handle it only now.
                signal.signal(signal.SIGALRM, signal.SIG_IGN)


def _in_collector(frame):
    """Whether Python runs a callback of the garbage collector, which torchlike calls now and then: it drops exceptions raised there."""
    # A callback is a function, or an object that can be called, as torchlike's is.
    functions = [callback if hasattr(callback, "__code__") else type(callback).__call__ for callback in gc.callbacks]
    callbacks = {getattr(function, "__code__", None) for function in functions}
    while frame is not None and frame.f_code not in callbacks:
        frame = frame.f_back
    return frame is not None


@contextlib.contextmanager
def _without_collector():
    """Garbage collectors call functions of JAX and Hypothesis, and Python drops exceptions raised in them."""
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def survivor(torch, interrupts: Interrupts, quiet):
    """``survive(model, optimizer, step, moment)`` makes one step, by a first attempt that may be interrupted or by a second one."""

    def copied(model, optimizer):
        """Copies everything that a step changes, without reading values."""
        state = copy.deepcopy(optimizer.state_dict()["state"])
        return [p.detach().clone() for p in model.parameters()], state

    def plain(value):
        if isinstance(value, dict):
            return {k: plain(v) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [plain(v) for v in value]
        return value.tolist() if isinstance(value, torch.Tensor) else value

    def kept(old, now):
        """Whether all numbers are the old ones; the optimizer may have made zeros for its state."""
        if isinstance(old, dict):
            return all(kept(old[k], now[k]) for k in old)
        if isinstance(old, list):
            return len(old) == len(now) and all(kept(x, y) for x, y in zip(old, now, strict=True))
        return old == now or (old != old and now != now)

    def survive(model, optimizer, step, **moment):
        before, random = copied(model, optimizer), torch.get_rng_state()
        buffers = [b.detach().clone() for b in model.buffers()]
        # Gradients of parameters that the optimizer does not have, which its zero_grad leaves, get larger in each attempt.
        gradients = [(p, p.grad, None if p.grad is None else p.grad.detach().clone()) for p in model.parameters()]
        numbers = [(m, {k: v for k, v in vars(m).items() if isinstance(v, (int, float))}) for m in model.modules()]
        done = False
        with quiet(), interrupts(**moment):
            step(model, optimizer)
            done = True
        plain([p.grad for p in model.parameters()])  # everything that the attempt left behind has values
        if done or not kept(plain(before), plain(copied(model, optimizer))):
            return  # the step has happened
        torch.set_rng_state(random)
        for module, old in numbers:
            vars(module).update(old)
        with torch.no_grad():
            for mine, old in zip(model.buffers(), buffers, strict=True):
                mine.copy_(old)
            for parameter, gradient, old in gradients:
                parameter.grad = gradient
                if gradient is not None and not kept(plain(old), plain(gradient)):
                    gradient.copy_(old)
        with quiet():
            step(model, optimizer)

    return survive
