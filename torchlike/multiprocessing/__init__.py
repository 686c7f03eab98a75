"""torch.multiprocessing: the standard library's, and ``spawn``. Tensors travel as copies, unless their memory is shared."""

from __future__ import annotations

import multiprocessing
import signal
import traceback
from collections.abc import Callable
from multiprocessing import *  # pyright: ignore[reportWildcardImportFromLibrary]
from typing import Any

__all__ = [  # beside the standard library's
    "ProcessContext", "ProcessException", "ProcessExitedException", "ProcessRaisedException", "get_all_sharing_strategies",
    "get_sharing_strategy", "set_sharing_strategy", "spawn", "start_processes",
]  # fmt: skip


class ProcessException(Exception):
    """A process that ``spawn`` started has failed."""

    def __init__(self, msg: str, error_index: int, error_pid: int) -> None:
        super().__init__(msg)
        self.msg, self.error_index, self.error_pid = msg, error_index, error_pid


class ProcessRaisedException(ProcessException):
    """It raised an exception, whose traceback the message holds."""


class ProcessExitedException(ProcessException):
    """It ended by a signal or with another exit code than 0."""

    def __init__(
        self, msg: str, error_index: int, error_pid: int, exit_code: int, signal_name: str | None = None
    ) -> None:
        super().__init__(msg, error_index, error_pid)
        self.exit_code, self.signal_name = exit_code, signal_name


def _run(fn: Callable[..., object], index: int, args: tuple[object, ...], errors: Any) -> None:
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent was stopped as well, and says so
    except Exception:
        errors.put(traceback.format_exc())
        raise SystemExit(1) from None


class ProcessContext:
    """The processes that ``spawn`` has started."""

    def __init__(self, processes: list[Any], errors: list[Any]) -> None:
        self.processes, self._errors = processes, errors

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None, grace_period: float | None = None) -> bool:
        """Waits for one of them to end, or all; whether all have. If one has failed, the others are ended.

        Raises:
            ProcessRaisedException, ProcessExitedException: one has failed.
        """
        from multiprocessing import connection  # which imports sockets, and few programs come here

        living = {process.sentinel: number for number, process in enumerate(self.processes) if process.exitcode is None}
        ended = connection.wait(list(living), timeout) if living else []
        for sentinel in ended:
            self.processes[living[sentinel]].join()
        failed = next((n for n, process in enumerate(self.processes) if process.exitcode not in (None, 0)), None)
        if failed is None:
            return all(process.exitcode == 0 for process in self.processes)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        for process in self.processes:
            process.join(grace_period)
        raise self._failure(failed)

    def _failure(self, number: int) -> ProcessException:
        process = self.processes[number]
        if not self._errors[number].empty():
            text = f"\n\n-- Process {number} terminated with the following error:\n{self._errors[number].get()}"
            return ProcessRaisedException(text, number, process.pid)
        code = process.exitcode
        if code < 0:
            name = signal.Signals(-code).name
            return ProcessExitedException(
                f"process {number} terminated with signal {name}", number, process.pid, code, name
            )
        return ProcessExitedException(f"process {number} terminated with exit code {code}", number, process.pid, code)


def start_processes(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in ``nprocs`` processes, i from 0; ``join`` waits for them, else their context is returned."""
    context: Any = multiprocessing.get_context(start_method)
    processes, errors = [], []
    for number in range(nprocs):
        error_queue = context.SimpleQueue()
        process = context.Process(target=_run, args=(fn, number, args, error_queue), daemon=daemon)
        process.start()
        processes.append(process)
        errors.append(error_queue)
    started = ProcessContext(processes, errors)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(
    fn: Callable[..., object],
    args: tuple[object, ...] = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> ProcessContext | None:
    """Runs ``fn(i, *args)`` in ``nprocs`` fresh processes, i from 0.

    Args:
        fn: a function of a module's top level, as the standard library asks for.
        join: wait for all of them; False returns a context to ``join`` later.

    Raises:
        ProcessRaisedException: one has raised. ProcessExitedException: one has ended otherwise.

    Source: https://docs.pytorch.org/docs/stable/multiprocessing.html#torch.multiprocessing.spawn.spawn
    """
    return start_processes(fn, args, nprocs, join, daemon, start_method)


def get_all_sharing_strategies() -> set[str]:
    """The strategies for sending shared memory: only "file_descriptor", an open file without a name."""
    return {"file_descriptor"}


def get_sharing_strategy() -> str:
    """The strategy for sending shared memory to another process."""
    return "file_descriptor"


def set_sharing_strategy(new_strategy: str) -> None:
    """Does nothing for PyTorch's strategies: there is one here.

    Raises:
        AssertionError: it is none of them.
    """
    if new_strategy not in ("file_system", "file_descriptor"):
        raise AssertionError(f"invalid sharing strategy {new_strategy!r}")
