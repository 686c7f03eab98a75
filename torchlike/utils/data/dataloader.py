"""DataLoader: batches of a dataset, in order, from this thread or from workers."""

import multiprocessing
import multiprocessing.context
import os
import time
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NoReturn, TypeAlias, TypeVar

from ... import engine
from ..._core import devices
from ...random_streams.rng import Generator
from . import _draw
from ._crew import Lost, NoWorkers, Processes, start_context, without_code_of_the_user
from ._fetch import IterableFetcher, MapFetcher
from ._worker import Caught, IterableEnd, Plan, Restart, Task
from .collate import default_collate, default_convert
from .datapipes.datapipe import IterDataPipe, MapDataPipe
from .dataset import IterableDataset
from .distributed import world
from .graph_settings import apply_random_seed, apply_sharding, apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler
from .worker_info import get_worker_info

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

# Types of a DataLoader's arguments, which other libraries import for their annotations.
_collate_fn_t: TypeAlias = Callable[[list[Any]], Any]
_worker_init_fn_t: TypeAlias = Callable[[int], None]

T_co = TypeVar("T_co", covariant=True)

FIXED = frozenset({"batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"})


class _Endless(Sampler[None]):
    """The sampler of an iterable dataset: it never ends, since the dataset ends by itself."""

    def __iter__(self) -> Iterator[None]:
        while True:
            yield None


class _DatasetKind:
    """Whether a dataset gives samples by index or one after the other."""

    Map = 0
    Iterable = 1


class DataLoader(Generic[T_co]):
    """Iterates over a dataset in batches, in any order, optionally with workers.

    The orders are PyTorch's: after the same ``manual_seed``, ``shuffle=True`` gives the same batches in each epoch.

    Workers are processes: forks of the program on Linux, what ``multiprocessing`` starts elsewhere. Each has the dataset as
    it was when the loop began, and generators of ``torch``, ``random`` and ``numpy.random`` of its own, seeded as PyTorch
    seeds them. Batches come back in shared memory. A forked worker computes tensors by NumPy, and uses no accelerator.

    With ``multiprocessing_context="spawn"`` or ``"forkserver"``, dataset, ``collate_fn`` and ``worker_init_fn`` are pickled,
    and the program's main part has to stand under ``if __name__ == "__main__":``.

    The batches of a ``TensorDataset`` are made without workers, as none of your code would run in them.

    Args:
        dataset: something with ``__getitem__`` and ``__len__``, or an IterableDataset.
        batch_size: samples per batch; None returns single samples, converted to tensors.
        shuffle: a new random order each epoch.
        sampler: the order of the samples, instead of ``shuffle``.
        batch_sampler: the indices of each batch, instead of ``batch_size``, ``shuffle``, ``sampler`` and ``drop_last``.
        num_workers: the number of workers; 0: this thread fetches a batch when the program requests it.
        collate_fn: makes a batch from a list of samples (default: ``default_collate``).
        pin_memory: accepted; the host memory of batches needs no pinning here.
        drop_last: leaves out a last, smaller batch.
        timeout: the seconds to wait for a worker's batch; 0: without a limit.
        worker_init_fn: called in each worker with its number, before the first sample.
        multiprocessing_context: how worker processes start: ``"fork"``, ``"spawn"``, ``"forkserver"`` or such a context.
        generator: the generator of all seeds (default: the default generator).
        prefetch_factor: the number of batches that each worker makes in advance (default: 2).
        persistent_workers: keep the workers for the next epoch.
        pin_memory_device: accepted without an effect.
        in_order: False returns the batch that is finished first, whichever worker made it.

    Raises:
        ValueError: for options that contradict each other, in PyTorch's words.

    Example:
        >>> loader = torch.utils.data.DataLoader(range(5), batch_size=2)
        >>> len(loader), list(loader)
        (3, [tensor([0, 1]), tensor([2, 3]), tensor([4])])

    Source: https://pytorch.org/docs/stable/data.html#torch.utils.data.DataLoader
    """

    dataset: Any
    batch_size: int | None
    num_workers: int
    drop_last: bool
    sampler: Sampler[object] | Iterable[object]
    _iterator: "_MultiProcessingDataLoaderIter | None" = None
    _initialized = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Sampler[Any] | Iterable[Any] | None = None,
        batch_sampler: Sampler[list[Any]] | Iterable[list[Any]] | None = None,
        num_workers: int = 0,
        collate_fn: Callable[..., object] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], object] | None = None,
        multiprocessing_context: object = None,
        generator: Generator | None = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        if num_workers < 0:
            raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
        if timeout < 0:
            raise ValueError("timeout option should be non-negative")
        if num_workers == 0 and prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if prefetch_factor is not None and prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
        if persistent_workers and num_workers == 0:
            raise ValueError("persistent_workers option needs num_workers > 0")

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.generator = generator
        self.persistent_workers = persistent_workers
        self._dataset_kind = _DatasetKind.Iterable if isinstance(dataset, IterableDataset) else _DatasetKind.Map

        if isinstance(dataset, IterDataPipe):  # it has its own order, in which it may shuffle
            self.dataset = dataset = apply_shuffle_settings(dataset, shuffle)
            shuffle = None
        if self._dataset_kind == _DatasetKind.Iterable:
            _refuse_orders(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")

        if sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None and batch_sampler is None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)

        self.batch_size = batch_size
        self.drop_last = drop_last
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self._IterableDataset_len_called: int | None = None
        self._initialized = True
        self.check_worker_number_rationality()

    def __setattr__(self, name: str, value: object) -> None:
        if self._initialized and name in FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    @property
    def multiprocessing_context(self) -> multiprocessing.context.BaseContext | None:
        """The context of the worker processes, if one was chosen."""
        return self._context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context: object) -> None:
        self._context = _checked_context(context, self.num_workers)

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        """The sampler of the index, or the list of indices, of each batch."""
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def _get_iterator(self) -> "_BaseDataLoaderIter":
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    def __iter__(self) -> "_BaseDataLoaderIter":
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None:
            self._iterator = self._get_iterator()  # pyright: ignore[reportAttributeAccessIssue]
        else:
            self._iterator._reset(self)
        return self._iterator  # pyright: ignore[reportReturnType]

    def __len__(self) -> int:
        if self._dataset_kind == _DatasetKind.Map:
            return len(self._index_sampler)
        # The length is kept, because a dataset that yields more samples causes a warning.
        length = self._IterableDataset_len_called = len(self.dataset)
        if self.batch_size is None:
            return length
        return length // self.batch_size if self.drop_last else -(-length // self.batch_size)

    def check_worker_number_rationality(self) -> None:
        """Warns if there are more workers than processors."""
        available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        if available is not None and self.num_workers > available:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our suggested max number "
                f"of worker in current system is {available}, which is smaller than what this DataLoader is going to "
                "create. Please be aware that excessive worker creation might get DataLoader running slow or even "
                "freeze, lower the worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=2,
            )


def _refuse_orders(shuffle: object, sampler: object, batch_sampler: object) -> None:
    """Raises an error for options about the order, because an iterable dataset determines it."""
    options = [("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)]
    for name, value in options:
        if value is None:
            continue
        raise ValueError(f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={value}")


def _checked_context(context: object, num_workers: int) -> Any:
    if context is None:
        return None
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading (num_workers > 0), but got "
            f"num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={context!r}"
            )
        context = multiprocessing.get_context(context)
    if not isinstance(context, multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, "
            f"but got multiprocessing_context={context}"
        )
    return context


class _BaseDataLoaderIter:
    """One pass over a DataLoader. The seed of the workers is drawn here, before the sampler draws its own, as in PyTorch."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        self._dataset = loader.dataset
        self._seed_pipes(loader.generator)
        _warn_about_pinning(loader)
        self._iterable = loader._dataset_kind == _DatasetKind.Iterable
        self._num_workers = loader.num_workers
        self._timeout = loader.timeout
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._index_sampler = loader._index_sampler
        self._indices = iter(self._index_sampler)
        # Drawn also without workers, since PyTorch does, and the numbers that follow depend on it.
        self._base_seed = _draw.seed(loader.generator)
        self._num_yielded = 0

    def _seed_pipes(self, generator: Generator | None) -> None:
        """Gives the pipes that draw random numbers their seeds, one draw for each pass."""
        self._shared_seed = None
        if isinstance(self._dataset, IterDataPipe):
            self._shared_seed = world.agreed(_draw.seed(generator))
            apply_random_seed(self._dataset, Generator().manual_seed(self._shared_seed))

    def __iter__(self) -> "_BaseDataLoaderIter":
        return self

    def __len__(self) -> int:
        return len(self._index_sampler)

    def __next__(self) -> Any:
        engine.boundary()  # ends the step here, so that it can run while the next batch is read
        engine.hand_over()
        data = self._next_data()
        engine.boundary()  # run what the dataset has recorded, so that it is not part of the next step
        self._num_yielded += 1
        if (
            self._iterable
            and self._IterableDataset_len_called is not None
            and self._num_yielded > self._IterableDataset_len_called
        ):
            self._warn_about_length()
        return data

    def _next_data(self) -> Any:
        raise NotImplementedError

    def _warn_about_length(self) -> None:
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be {self._IterableDataset_len_called}"
            f"(when accessing len(dataloader)), but {self._num_yielded} samples have been fetched. "
        )
        if self._num_workers > 0:
            text += (
                "For multiprocessing data-loading, this could be caused by not properly configuring the "
                "IterableDataset replica at each worker. Please see "
                "https://pytorch.org/docs/stable/data.html#torch.utils.data.IterableDataset for examples."
            )
        warnings.warn(text, stacklevel=3)

    def __getstate__(self) -> NoReturn:
        raise NotImplementedError("{} cannot be pickled", type(self).__name__)


def _warn_about_pinning(loader: DataLoader[object]) -> None:
    if loader.pin_memory and loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    if loader.pin_memory and devices.accelerator() is None:
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, "
            "then device pinned memory won't be used.",
            stacklevel=5,
        )


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes each batch when the program requests it."""

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        if self._timeout != 0:
            raise AssertionError("_SingleProcessDataLoaderIter requires timeout == 0")
        if isinstance(loader.dataset, (IterDataPipe, MapDataPipe)):
            apply_sharding(loader.dataset, *world.place())
        make = IterableFetcher if self._iterable else MapFetcher
        self._fetcher = make(loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last)

    def _next_data(self) -> Any:
        return self._fetcher.fetch(next(self._indices))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Sends tasks to the workers in turn, and returns their batches in order.

    For each worker at most ``prefetch_factor`` tasks are unfinished or have batches that wait. Each batch that is returned sends a task.
    """

    def __init__(self, loader: DataLoader[Any]) -> None:
        super().__init__(loader)
        prefetch = loader.prefetch_factor or 0
        if prefetch <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 for MultiProcessingDataLoaderIter")
        self._prefetch = prefetch
        self._in_order = loader.in_order
        self._persistent = loader.persistent_workers
        size, rank = world.place()
        plans = [
            Plan(
                iterable=self._iterable,
                dataset=loader.dataset,
                auto_collation=loader._auto_collation,
                collate_fn=loader.collate_fn,
                drop_last=loader.drop_last,
                base_seed=self._base_seed,
                shared_seed=self._shared_seed,
                init=loader.worker_init_fn,
                worker=worker,
                count=loader.num_workers,
                share=(loader.num_workers * size, worker * size + rank),
            )
            for worker in range(loader.num_workers)
        ]
        copies = without_code_of_the_user(plans)
        self._crew: Any = (
            Processes(plans, start_context(loader.multiprocessing_context), prefetch)
            if copies is None
            else NoWorkers(copies)
        )
        self._stop = weakref.finalize(self, self._crew.stop)
        self._lost: set[int] = set()  # workers that have ended by themselves
        self._epoch = -1
        if self._shared_seed is not None:
            _draw.seed(loader.generator)  # PyTorch draws once more before the first pass, and does not use it
        self._begin()

    def _begin(self) -> None:
        self._epoch += 1
        self._working = [
            worker not in self._lost for worker in range(self._num_workers)
        ]  # or its iterable dataset has ended
        self._turn = 0
        self._sent = self._received = 0  # the numbers of the next task to send and of the next batch to return
        self._owner: dict[int, int] = {}  # from the number of an unfinished task to its worker
        self._waiting: dict[int, Any] = {}  # batches that arrived before an earlier one
        for _ in range(self._prefetch * self._num_workers):
            self._send()

    def _reset(self, loader: DataLoader[Any]) -> None:
        """Begins a new epoch with the same workers. Results of the epoch before that arrive later are dropped."""
        self._indices = iter(self._index_sampler)
        self._num_yielded = 0
        self._IterableDataset_len_called = loader._IterableDataset_len_called
        self._seed_pipes(loader.generator)
        for worker in range(self._num_workers):
            self._crew.post(worker, Restart(self._epoch + 1, self._shared_seed))
        self._begin()

    def _send(self) -> None:
        if not any(self._working):
            return
        try:
            index = next(self._indices)
        except StopIteration:
            return
        worker = self._next_worker()
        self._owner[self._sent] = worker
        self._crew.post(worker, Task(self._epoch, self._sent, index))
        self._sent += 1

    def _next_worker(self) -> int:
        candidates = [(self._turn + step) % self._num_workers for step in range(self._num_workers)]
        candidates = [worker for worker in candidates if self._working[worker]]
        worker = candidates[0]
        if not self._in_order:
            # A slow worker must not gather tasks that the others could do.
            load = list(self._owner.values())
            worker = min(candidates, key=load.count)
        self._turn = worker + 1
        return worker

    def _next_data(self) -> Any:
        while True:
            # Nobody will finish the tasks of a worker that has ended.
            while self._received < self._sent and self._received not in self._waiting:
                owner = self._owner.get(self._received)
                if owner is not None and self._working[owner]:
                    break
                self._owner.pop(self._received, None)
                self._received += 1
            if self._received == self._sent:
                if not self._persistent:
                    self._stop()
                raise StopIteration
            if self._received in self._waiting:
                return self._hand_out(self._waiting.pop(self._received))
            number, data = self._receive()
            if isinstance(data, IterableEnd):
                self._owner.pop(number)
                self._working[data.worker] = False
                if not self._persistent:
                    self._crew.dismiss(data.worker)
                self._send()
                continue
            self._owner.pop(number)
            if self._in_order:
                self._waiting[number] = data
            else:
                return self._hand_out(data, advance=False)

    def _hand_out(self, data: Any, advance: bool = True) -> Any:
        self._received += advance
        self._send()
        if isinstance(data, Caught):
            data.reraise()
        return data[0]

    def _receive(self) -> tuple[int, Any]:
        """Returns the next result of this epoch."""
        deadline = time.monotonic() + self._timeout if self._timeout > 0 else None
        while True:
            try:
                result = self._crew.receive(deadline)
            except Lost as error:
                for worker in error.workers:
                    self._lost.add(worker)
                    self._working[worker] = False
                raise RuntimeError(*error.args) from error.__cause__
            if result is None:
                raise RuntimeError(f"DataLoader timed out after {self._timeout} seconds")
            epoch, number, data = result
            if epoch == self._epoch:
                return number, data
