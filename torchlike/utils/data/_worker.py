"""Workers: the loop in each thread or process of a DataLoader, and the messages between it and the program."""

import copy
import io
import multiprocessing
import pickle
import queue
import random
import signal
import threading
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.reduction import ForkingPickler
from typing import Any, NamedTuple

import numpy as np

from ... import engine
from ..._core.tensor import Tensor, from_host
from ...random_streams import rng
from ._fetch import IterableFetcher, MapFetcher
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import Dataset
from .graph_settings import apply_random_seed, apply_sharding
from .worker_info import Here, WorkerInfo, WorkerRandom, here

CHECK_SECONDS = 5.0  # seconds between checks whether the other side is alive; seconds in which a worker has to end
LAST_SECONDS = 0.1  # seconds in which the results of an ended process have to arrive


class Caught:
    """An exception that a worker sends to the program, with the text of its traceback."""

    def __init__(self, error: BaseException, where: str) -> None:
        self.kind: Any = type(error)
        trace = "".join(traceback.format_exception(error))
        self.text = f"Caught {self.kind.__name__} {where}.\nOriginal {trace}"

    def reraise(self) -> None:
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
        """The place where an exception was caught, in PyTorch's words for processes, which threads use too."""
        return f"in DataLoader worker process {self.worker}"


def thread_worker(plan: Plan, tasks: Any, results: Any, stop_event: object) -> None:
    """The body of a worker thread: a random generator and a shallow copy of the dataset of its own."""
    seed = plan.base_seed + plan.worker
    generator = rng.Generator().manual_seed(seed)
    sources = WorkerRandom(random.Random(seed), generator, np.random.default_rng(_numpy_entropy(plan)))
    dataset = _own_copy(plan.dataset)
    here.info = WorkerInfo(plan.worker, plan.count, seed, dataset, sources, "thread")

    def send(task: Task, data: object) -> None:
        try:
            engine.flush()  # run what this thread has recorded here, so that the reader does not have to
        except BaseException as error:
            data = Caught(error, plan.place)
        results.put((task.epoch, task.number, data))

    with rng.use_generator(generator):
        _loop(plan, dataset, tasks.get, send, stop_event)


def process_worker(plan: Plan, tasks: Any, results: Any, stop_event: Any) -> None:
    """The body of a worker process. Its tensors are on the host, because the devices belong to the program."""
    import jax

    jax.config.update("jax_platforms", "cpu")  # this process must not allocate memory of an accelerator
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C: the program gets it too, and ends its workers
    seed = plan.base_seed + plan.worker
    random.seed(seed)
    rng.default_generator.manual_seed(seed)
    np.random.seed(np.random.SeedSequence(_numpy_entropy(plan)).generate_state(4))  # noqa: NPY002 - the user's own draws
    Here.info = WorkerInfo(plan.worker, plan.count, seed, plan.dataset)

    def send(task: Task, data: object) -> None:
        # Pickled here and not by the queue, which pickles in a separate thread. That thread only prints an error, and the program would
        # wait for ever.
        try:
            packed = _packed(data)
        except Exception as error:
            problem = data if isinstance(data, Caught) else Caught(error, plan.place)
            problem.kind = RuntimeError  # the original type may be what cannot be pickled
            packed = _packed(problem)
        results.put((task.epoch, task.number, packed))

    def receive() -> Any:
        while True:
            try:
                return tasks.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                program = multiprocessing.parent_process()
                if program is None or not program.is_alive():
                    return None  # the program was killed, so it cannot tell the worker to end

    _loop(plan, plan.dataset, receive, send, stop_event)
    if stop_event.is_set():
        results.cancel_join_thread()  # nobody reads the remaining results


def unpacked(data: bytes) -> Any:
    """Returns the object that a worker process has packed."""
    return pickle.loads(data)


class _Pickler(ForkingPickler):
    def reducer_override(self, obj: object) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Sends a tensor as its NumPy array, so that neither side needs a device for it."""
        if type(obj) is Tensor and not obj.requires_grad:
            return from_host, (obj._array(),)
        return NotImplemented


def _packed(data: object) -> bytes:
    buffer = io.BytesIO()
    _Pickler(buffer, pickle.HIGHEST_PROTOCOL).dump(data)
    return buffer.getvalue()


def _numpy_entropy(plan: Plan) -> list[int]:
    """The numbers with which PyTorch seeds NumPy in a worker."""
    return [plan.worker, plan.base_seed & 0xFFFFFFFF, plan.base_seed >> 32, 0]


def _own_copy(dataset: object) -> Any:
    """A copy of a Dataset: a worker may set its attributes without an effect on the others, as after a fork.

    No method of the dataset runs, unless it is a graph of pipes, which is copied as a whole. A dataset that defines its own
    creation or end (``__del__`` that closes a file) is shared, and so is an object that is not a Dataset, such as a list.
    """
    kind = type(dataset)
    if isinstance(dataset, (IterDataPipe, MapDataPipe)):
        return copy.deepcopy(dataset)  # each pipe has a state of its own: its place, its seed, its share of the samples
    if not isinstance(dataset, Dataset) or kind.__new__ is not object.__new__ or hasattr(kind, "__del__"):
        return dataset
    own = object.__new__(kind)
    own.__dict__.update(dataset.__dict__)
    return own


def _loop(plan: Plan, dataset: object, receive: Callable[[], Any], send: Callable[..., None], stop_event: Any) -> None:
    """Makes batches until a message tells it to stop. It sends exceptions instead of raising them."""
    make = IterableFetcher if plan.iterable else MapFetcher
    failure = fetcher = None

    def fetch_anew(shared_seed: int | None) -> Any:
        if shared_seed is not None:
            apply_random_seed(dataset, rng.Generator().manual_seed(shared_seed))
        return make(dataset, plan.auto_collation, plan.collate_fn, plan.drop_last)

    try:
        if isinstance(dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(dataset, *plan.share)
        if plan.init is not None:
            plan.init(plan.worker)
        fetcher = fetch_anew(plan.shared_seed)
    except BaseException as error:
        failure = Caught(error, plan.place)

    ended = False
    while (task := receive()) is not None and not stop_event.is_set():
        if isinstance(task, Restart):
            ended = False
            try:
                fetcher = fetch_anew(task.shared_seed)
            except BaseException as error:
                failure = Caught(error, plan.place)
            continue
        if failure is not None:
            data, failure = failure, None
        elif ended or fetcher is None:
            continue
        else:
            try:
                data = fetcher.fetch(task.index)
            except BaseException as error:
                if isinstance(error, StopIteration) and plan.iterable:
                    data, ended = IterableEnd(plan.worker), True
                else:
                    data = Caught(error, plan.place)
        send(task, data)
        del data  # delete the batch: it must not stay in memory while the loop waits for the next task


class Crew:
    """The workers of one iterator, all threads or all processes, with their queues."""

    def __init__(self, plans: list[Plan], context: Any) -> None:
        self.processes = context is not None
        self.results: Any = context.Queue() if context is not None else queue.SimpleQueue()
        self.done = context.Event() if context is not None else threading.Event()
        self.tasks: list[Any] = []
        self.members: list[Any] = []
        for plan in plans:
            tasks: Any = context.Queue() if context is not None else queue.SimpleQueue()
            arguments = (plan, tasks, self.results, self.done)
            if context is not None:
                tasks.cancel_join_thread()  # unread indices must not keep the program from ending
                member = context.Process(target=process_worker, args=arguments, daemon=True)
            else:
                name = f"DataLoader worker {plan.worker}"
                member = threading.Thread(target=thread_worker, args=arguments, name=name, daemon=True)
            member.start()
            self.tasks.append(tasks)
            self.members.append(member)

    def stop(self) -> None:
        """Tells all workers to end, and waits some seconds for them. A process that is still running is killed."""
        self.done.set()
        for tasks in self.tasks:
            tasks.put(None)
        for member in self.members:
            if member is not threading.current_thread():  # the garbage collector may call this in a worker
                member.join(CHECK_SECONDS)
        if self.processes:
            for member in self.members:
                if member.is_alive():
                    member.terminate()
                    member.join(CHECK_SECONDS)
            for channel in (*self.tasks, self.results):
                channel.close()
