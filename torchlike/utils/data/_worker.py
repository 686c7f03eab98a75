"""Workers: what each of them needs, the loop in which it makes batches, and the messages between it and the program."""

import contextlib
import gc
import random
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ...engine.handlers import in_child
from ...engine.processes.forks import compute_by_numpy
from ...ops.settings.switches import set_num_threads
from ...random_streams import rng
from . import worker_info
from ._channel import Alive
from ._fetch import IterableFetcher, MapFetcher
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .graph_settings import apply_random_seed, apply_sharding

__all__ = ["Caught", "IterableEnd", "Maker", "Plan", "Restart", "Task", "run_worker"]


class Caught:
    """An exception that a worker sends to the program, with the text of its traceback."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        summary = traceback.TracebackException.from_exception(error)
        # JAX appends a note on its own tracebacks to every exception that passes through it.
        notes = [note for note in getattr(error, "__notes__", ()) if "JAX_TRACEBACK_FILTERING" not in note]
        summary.__notes__ = notes or None  # pyright: ignore[reportAttributeAccessIssue]
        trace = "".join(summary.format())
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal {trace}"

    def reraise(self) -> NoReturn:
        """Raises an exception of the same type whose text has the original traceback."""
        if self.kind is KeyError:
            raise KeyError(_Verbatim(self.text))
        try:
            # An exception with a ``message`` gets it by keyword, since other arguments may come before it.
            error = self.kind(message=self.text) if hasattr(self.kind, "message") else self.kind(self.text)
        except Exception:
            raise RuntimeError(self.text) from None  # the constructor of the exception needs other arguments
        raise error


class _Verbatim(str):
    """A text whose repr is the text itself: KeyError shows the repr of its argument, which would hide the line breaks."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Task(NamedTuple):
    """A batch to make: its number within its epoch, and its indices."""

    epoch: int
    number: int
    index: Any


class Restart(NamedTuple):
    """A message to persistent workers: a new epoch begins, with this seed where the dataset is a graph of pipes."""

    epoch: int
    shared_seed: int | None


class IterableEnd(NamedTuple):
    """A message from a worker: its iterable dataset has no more samples."""

    worker: int


@dataclass(frozen=True)
class Plan:
    """All data that a worker needs. It can be pickled if its members can."""

    iterable: bool
    dataset: Any
    auto_collation: bool
    collate_fn: Callable[..., object]
    drop_last: bool
    base_seed: int
    shared_seed: int | None
    init: Callable[[int], object] | None
    worker: int
    count: int
    share: tuple[
        int, int
    ]  # among how many workers, of all processes of a group, a graph of pipes is divided, and which this is

    @property
    def place(self) -> str:
        """The place where an exception was caught, in PyTorch's words."""
        return f"in DataLoader worker process {self.worker}"

    def numpy_seed(self) -> Any:
        """The state from which PyTorch lets NumPy begin in a worker."""
        entropy = [self.worker, self.base_seed & 0xFFFFFFFF, self.base_seed >> 32, 0]
        return np.random.SeedSequence(entropy).generate_state(4)


class Maker:
    """Makes the batches of one worker."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._failure: Caught | None = None
        self._ended = False
        self._begin(plan.shared_seed, first=True)

    def _begin(self, shared_seed: int | None, first: bool = False) -> None:
        plan, dataset = self._plan, self._plan.dataset
        self._ended = False
        try:
            if shared_seed is not None:
                apply_random_seed(dataset, rng.Generator().manual_seed(shared_seed))
            if first and isinstance(dataset, (IterDataPipe, MapDataPipe)):
                apply_sharding(dataset, *plan.share)
            if first and plan.init is not None:
                plan.init(plan.worker)
            make = IterableFetcher if plan.iterable else MapFetcher
            self._fetcher: Any = make(dataset, plan.auto_collation, plan.collate_fn, plan.drop_last)
        except Exception as error:
            self._failure = Caught(error, plan.place)

    def answer(self, message: Task | Restart) -> Any:
        """The batch of a task, or what stands for it; None where there is nothing to send."""
        if isinstance(message, Restart):
            self._begin(message.shared_seed)
            return None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            return failure
        if self._ended:
            return None
        try:
            # In a tuple, as a batch may be None.
            return (self._fetcher.fetch(message.index),)
        except Exception as error:
            if isinstance(error, StopIteration) and self._plan.iterable:
                self._ended = True
                return IterableEnd(self._plan.worker)
            return Caught(error, self._plan.place)


def run_worker(plan: Plan, end: Any, forked: bool) -> None:
    """The body of a worker process. Its tensors are on the host, because the devices belong to the program."""
    _become_worker(forked)
    seed = plan.base_seed + plan.worker
    random.seed(seed)
    rng.default_generator.manual_seed(seed)
    np.random.seed(plan.numpy_seed())  # noqa: NPY002 - the user's own draws
    worker_info.own = worker_info.WorkerInfo(plan.worker, plan.count, seed, plan.dataset)
    with contextlib.suppress(EOFError, KeyboardInterrupt):  # the program wants nothing more, or is interrupted as well
        _serve(Maker(plan), plan, end)
    end.close()


def _become_worker(forked: bool) -> None:
    if forked:
        compute_by_numpy()
        gc.freeze()  # what the program made is not looked through here: that would copy its memory
    else:
        import jax

        jax.config.update("jax_platforms", "cpu")  # this process must not allocate memory of an accelerator
    set_num_threads(1)
    if threading.current_thread() is threading.main_thread():
        in_child()
        # The program's handlers are for the program: it ends its workers by this signal. Ctrl-C interrupts the worker too.
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)


def _serve(maker: Maker, plan: Plan, end: Any) -> None:
    alive = Alive()
    while True:
        message = end.next(alive)
        data = maker.answer(message)
        if data is None:
            continue
        try:
            end.post((message.epoch, message.number, data))
        except EOFError:
            raise
        except Exception as error:
            problem = data if isinstance(data, Caught) else Caught(error, plan.place)
            problem.kind = RuntimeError  # the original type may be what cannot be pickled
            end.post((message.epoch, message.number, problem))
        del data, message  # delete the batch: it must not stay in memory while the loop waits for the next task
