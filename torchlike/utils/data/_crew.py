"""The workers of one iterator: processes, or none at all where no code of the user's runs in them."""

import multiprocessing
import os
import signal
import sys
import time
import warnings
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing import connection
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Any

from ..._core.fields import requires_grad_flag, storage_of, view_record
from ..._core.modes import DISPATCHED, hooks, modes
from ..._core.sparse import is_sparse
from ..._core.tensor import Tensor, from_host, from_value
from ..._core.torch_function import PLAIN
from ...engine.handlers import HeldBack
from ...engine.processes.forks import settle
from ._channel import CHECK_SECONDS, connect
from ._host import host_array
from ._worker import Maker, Plan, Restart, Task, run_worker
from .collate import collates_by_default
from .dataset import Dataset, Subset, TensorDataset

__all__ = ["NoWorkers", "Processes", "start_context", "without_code_of_the_user"]


def start_context(chosen: BaseContext | None) -> BaseContext:
    """The context that starts workers: the chosen one, or that of the whole program; on Linux forks, if nothing was chosen."""
    if chosen is not None:
        return chosen
    if sys.platform == "linux" and multiprocessing.get_start_method(allow_none=True) is None:
        return multiprocessing.get_context("fork")
    return multiprocessing.get_context()


# JAX says so of each fork where it was used before torchlike was imported: its own functions do not run in the child.
JAX_WARNS = r"os\.fork\(\) was called"


class Lost(RuntimeError):
    """Workers have ended that were to make batches."""

    def __init__(self, workers: Sequence[int], text: str) -> None:
        super().__init__(text)
        self.workers = workers


class Processes:
    """Worker processes, each with a connection of its own."""

    def __init__(self, plans: Sequence[Plan], context: BaseContext, prefetch: int) -> None:
        self._program = os.getpid()
        self._members: list[BaseProcess] = []
        self._ends: dict[int, Any] = {}  # of the workers that have not ended
        self._arrived: deque[Any] = deque()
        forked = context.get_start_method() == "fork"
        if forked:
            settle()
        try:
            for plan in plans:
                here, there = connect(context, prefetch + 1)
                self._ends[plan.worker] = here
                member = context.Process(  # pyright: ignore[reportAttributeAccessIssue]
                    target=run_worker, args=(plan, there, forked), daemon=True
                )
                self._members.append(member)
                with HeldBack(interrupts=True), warnings.catch_warnings():
                    warnings.filterwarnings("ignore", JAX_WARNS)
                    member.start()
                there.close()
        except BaseException:
            self.stop()
            raise

    def post(self, worker: int, message: Task | Restart) -> None:
        """Sends a message to a worker."""
        end = self._ends.get(worker)
        if end is not None:
            end.post(message)

    def dismiss(self, worker: int) -> None:
        """Lets a worker end that has nothing more to do."""
        end = self._ends.pop(worker, None)
        if end is not None:
            end.close()

    def receive(self, deadline: float | None) -> Any:
        """The next answer of a worker: epoch, number and data. None if the deadline has passed.

        Raises:
            RuntimeError: a worker has ended.
        """
        while not self._arrived:
            seconds = CHECK_SECONDS
            if deadline is not None:
                seconds = min(max(deadline - time.monotonic(), 0.0), CHECK_SECONDS)
            lost = self._collect(connection.wait([end.waitable for end in self._ends.values()], seconds))
            if self._arrived:
                break
            if lost:
                self._raise(lost)
            if deadline is not None and time.monotonic() >= deadline:
                return None
        return self._arrived.popleft()

    def _collect(self, ready: Sequence[object]) -> list[int]:
        """Takes what has arrived; the workers that have ended."""
        lost = []
        for worker, end in list(self._ends.items()):
            try:
                if end.waitable in ready:
                    if (message := end.collect()) is not None:
                        self._arrived.append(message)
                elif (
                    not ready and not self._members[worker].is_alive()
                ):  # another process may have its end of the connection
                    lost.append(worker)
            except EOFError:
                lost.append(worker)
        return lost

    def _raise(self, lost: Sequence[int]) -> None:
        members = [self._members[worker] for worker in lost]
        for worker, member in zip(lost, members, strict=True):
            self.dismiss(worker)
            member.join(CHECK_SECONDS)
        names = ", ".join(str(member.pid) for member in members)
        raise Lost(lost, f"DataLoader worker (pid(s) {names}) exited unexpectedly") from RuntimeError(_why(members[0]))

    def stop(self) -> None:
        """Tells all workers to end, and waits some seconds for them. A process that is still running then is killed."""
        if os.getpid() != self._program:
            return  # this is a fork of the program
        try:
            self._end_all()
        except (
            BaseException
        ):  # a signal handler raised, perhaps in a finalizer, of which Python ignores it: nobody comes here again
            for member in self._members:
                if member.pid is not None:
                    member.kill()
            raise

    def _end_all(self) -> None:
        for worker in list(self._ends):
            self.dismiss(worker)
        deadline = time.monotonic() + CHECK_SECONDS
        self._members = [
            member for member in self._members if member.pid is not None
        ]  # the start of one may have failed
        for end in (lambda member: None, lambda member: member.terminate(), lambda member: member.kill()):
            for member in self._members:
                if member.is_alive():
                    end(member)
                    member.join(max(deadline - time.monotonic(), 0.1))
        self._members = [member for member in self._members if member.is_alive()]


def _why(member: BaseProcess) -> str:
    """What ended a worker, in PyTorch's words."""
    code, name = member.exitcode, f"DataLoader worker (pid {member.pid})"
    if code is None or code >= 0:
        return (
            f"{name} exited unexpectedly with exit code {code}. Details are lost due to multiprocessing. Rerunning with "
            "num_workers=0 may give better error trace."
        )
    text = f"{name} is killed by signal: {signal.strsignal(-code)}. "
    if -code == getattr(signal, "SIGBUS", 0):
        text += "It is possible that dataloader's workers are out of shared memory. Please try to raise your shared memory limit."
    return text


# ---- no workers


class NoWorkers:
    """Makes each batch in the program when it is asked for. See ``without_code_of_the_user``."""

    def __init__(self, plans: Sequence[Plan]) -> None:
        self._makers = [Maker(plan) for plan in plans]
        self._messages: deque[tuple[int, Task | Restart]] = deque()

    def post(self, worker: int, message: Task | Restart) -> None:
        self._messages.append((worker, message))

    def dismiss(self, worker: int) -> None:
        """There is none."""

    def receive(self, deadline: float | None) -> Any:
        while True:
            worker, message = self._messages.popleft()
            data = self._makers[worker].answer(message)
            if data is not None and isinstance(message, Task):
                return message.epoch, message.number, data

    def stop(self) -> None:
        """There is nothing to stop."""


# The methods by which these datasets make batches, as the library defines them: a program may have replaced some.
_METHODS = ("__getitem__", "__getitems__", "__getattribute__", "__getattr__", "_collated", "__len__")
_DEFINED: dict[type, list[object]] = {}


def _methods(kind: type) -> list[object]:
    return [getattr(kind, name, None) for name in _METHODS]


_DEFINED.update({kind: _methods(kind) for kind in (TensorDataset, Subset, Dataset)})
MAX_COPIED_BYTES = 2**26


def without_code_of_the_user(plans: Sequence[Plan]) -> list[Plan] | None:
    """The same plans over a copy of the dataset, if workers would run no code but the library's own; else None.

    A process starts in tens of milliseconds, and takes a batch apart and together again. That buys nothing where a batch is a few calls of
    NumPy, if nobody can tell where it was made. So these must hold, each decided by what is there and not by what it is meant for:

    - the dataset, and each dataset in it, is exactly a ``TensorDataset`` or a ``Subset``, with the attributes and the methods that the
      library gave it; its tensors are plain ones on the CPU, without gradients; its indices are a list of ints or a range,
    - batches are made by the unchanged ``default_collate``, and no ``worker_init_fn`` runs,
    - no mode of the program's sees the operations.

    Workers would read the dataset as it is now, whatever the program writes to it later. So the copy holds the tensors' present values.
    """
    plan = plans[0]
    if plan.init is not None or plan.iterable or not plan.auto_collation or not collates_by_default(plan.collate_fn):
        return None
    # Classes with ``__torch_dispatch__`` count as one. They see no plain tensor.
    modes_are_on = hooks.on > bool(DISPATCHED)
    if not PLAIN or modes_are_on or modes.any_slow_mode:
        return None
    if any(_methods(kind) != methods for kind, methods in _DEFINED.items()):
        return None
    dataset = _copy(plan.dataset)
    return None if dataset is None else [replace(plan, dataset=dataset) for plan in plans]


def _copy(dataset: object) -> Dataset[object] | None:
    if type(dataset) is Subset and vars(dataset).keys() == {"dataset", "indices"}:
        inner, indices = _copy(dataset.dataset), dataset.indices
        if inner is None or not (
            type(indices) is range or (type(indices) is list and all(type(index) is int for index in indices))
        ):
            return None
        return Subset(inner, indices[:])
    if type(dataset) is TensorDataset and vars(dataset).keys() == {"tensors"}:
        tensors = [_as_now(tensor) for tensor in dataset.tensors]
        return None if any(tensor is None for tensor in tensors) else TensorDataset(*tensors)  # pyright: ignore[reportArgumentType]
    return None


def _as_now(tensor: object) -> Tensor | None:
    """A tensor with the present elements of a plain one; None if it is none, or is large and lies in memory that others write to."""
    if not isinstance(tensor, Tensor) or type(tensor) is not Tensor or requires_grad_flag(tensor):
        return None
    storage = storage_of(tensor)
    if is_sparse(tensor) or not tensor.is_cpu:
        return None
    if view_record(tensor) is None and storage.host is None:
        return from_value(storage.value)  # which nothing changes
    array = host_array(tensor)
    return from_host(array.copy()) if array is not None and array.nbytes <= MAX_COPIED_BYTES else None
