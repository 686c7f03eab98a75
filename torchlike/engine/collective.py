"""Groups of processes whose programs exchange arrays, and the agreement before each such program.

An operation of several processes is a ``Kernel`` with a group. A program that contains one is compiled for a mesh with one device of
each process; arrays stay what they are, arrays of one device, and each process holds its own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from hashlib import sha256
from itertools import chain
from operator import methodcaller
from typing import Any

import jax

from .aval import Aval
from .executable import COMPILER_OPTIONS, Executable, LastRun, compiled_with, lower_once, options_for_cpu
from .jax_settings import tracing
from .report import user_position

# The name of the axis over which a collective's function reduces and gathers.
AXIS = "processes"
# Lines of calls that are remembered: those of the collectives that are recorded and have not run.
MAX_LINES = 10_000


class Answer(Enum):
    """The answer of the hub: what the other processes of a group are about to run."""

    SAME = 0  # the same program
    SPLIT = 1  # other programs, which begin with the same collective


class Disagreement(Exception):
    """The processes are about to run different programs: the operations have to be run one by one."""


class Group:
    """Processes that run collectives together.

    Args:
        devices: one of each process, in the order of their numbers in the group.
        ask: called with the number of the collective in the group, a digest of the program, the first collective's words and the line
            that called it; raises where the processes cannot go on together.
    """

    def __init__(self, devices: Sequence[Any], ask: Callable[[int, str, str, str, float | None], Answer]) -> None:
        import numpy as np

        self.mesh = jax.sharding.Mesh(np.array(devices), (AXIS,))
        self.size = len(devices)
        self._ask = ask
        self._number = 0  # of the next collective
        self._broken: Exception | None = None
        self._agreed = 0  # the hub has already agreed to collectives up to this number
        self._lines: deque[tuple[str, int]] = deque(maxlen=MAX_LINES)
        self.on_cpu = devices[0].platform == "cpu"
        self.device = next(d for d in devices if d.process_index == jax.process_index(devices[0].platform))

    def note_call(self) -> None:
        """Keeps the line that calls a collective, for errors."""
        self._lines.append(user_position())

    def agree(self, digest: str, calls: Sequence[str], timeout: float | None = None, fixed: bool = True) -> None:
        """Waits until all processes are about to run these collectives, ``timeout`` seconds or as long as the group says.

        Args:
            fixed: whether the program runs its collectives in an order that every program of these calls has.

        Raises:
            Disagreement: in other programs, so that they are to be run one by one.
        """
        number, count = self._number, len(calls)
        if number + count > self._agreed:
            line = "{}:{}".format(*self._lines[0]) if self._lines else "an unknown line"
            if self._broken is not None:
                raise self._broken
            try:
                answer = self._ask(number, digest, calls[0], line, timeout)
            except Exception as error:
                self._broken = error  # the other processes have continued without this one, or have ended
                raise
            if answer is Answer.SPLIT:
                # The hub has answered for the first collective alone. The ranks' programs differ after it.
                self._agreed = number + 1
                if not fixed:
                    raise Disagreement
            else:
                self._agreed = number + count
        self._number = number + count
        for _ in range(min(count, len(self._lines))):
            self._lines.popleft()

    def each(self, fn: Callable[..., object]) -> Callable[..., Any]:
        """The function as every process runs it on its own arrays. JAX takes these for copies of each other; they need not be."""
        spec = jax.sharding.PartitionSpec()
        return jax.shard_map(fn, mesh=self.mesh, in_specs=spec, out_specs=spec, check_vma=False)


_collect = methodcaller("disassemble_into_single_device_arrays")


class GroupExecutable(Executable):
    """A program of several processes. What it takes and gives are arrays of this process's device."""

    __slots__ = ("_group", "_digest", "_calls", "_fixed")

    def __init__(
        self, compiled: Any, device: Any, group: Group, digest: str, calls: Sequence[str], fixed: bool
    ) -> None:
        super().__init__(compiled, device)
        if self.parts is None:
            raise NotImplementedError("torchlike does not support callbacks in a program with collectives yet")
        self._group, self._digest, self._calls = group, digest, tuple(calls)
        self._fixed = digest == calls[0] or (group.on_cpu and fixed)

    def outputs(self, arrays: Sequence[object]) -> Iterator[Any]:
        # As in ``Executable.outputs``, only C code runs from the program's start to its last output, so no signal handler runs in between.
        return chain.from_iterable(chain.from_iterable(map(_collect, self._execute((arrays,)))))

    def reserve(self) -> None:
        super().reserve()
        # Before the program starts: once it runs, it waits in the transport for the other processes, where no error can reach it.
        self._group.agree(self._digest, self._calls, None, self._fixed)

    def ran(self, output: object) -> None:
        super().ran(output)
        _last_run.note(self._device.platform, output)

    def hlo(self) -> str:
        """The compiled program as text."""
        return self._compiled.as_text()


_last_run = LastRun()


def wait_for_exchanges() -> None:
    """Waits until this process has made its part of all exchanges: a process that ends before takes the others with it."""
    _last_run.wait()


@tracing
def compile_for_group(
    fn: Callable[..., Sequence[Any]],
    in_avals: Sequence[Aval],
    donate: tuple[int, ...],
    group: Group,
    calls: Sequence[str],
    digest: str | None = None,
    recomputes: bool = False,
) -> GroupExecutable:
    """``compile_ahead`` for a function in which there are collectives.

    Args:
        calls: what each collective is, in words, in order.
        digest: what equal programs of other processes have in common; by default the text of the program.
        recomputes: whether something is computed, or gathered, a second time to save memory.
    """
    everywhere = jax.sharding.NamedSharding(group.mesh, jax.sharding.PartitionSpec())
    shapes = [jax.ShapeDtypeStruct(aval.shape, aval.dtype, sharding=everywhere) for aval in in_avals]
    lowered = lower_once(group.each(fn), shapes, donate, everywhere)
    options = options_for_cpu(convolves=False, recomputes=recomputes) if group.on_cpu else COMPILER_OPTIONS
    compiled = compiled_with(lowered, options)
    if digest is None:
        digest = sha256("\n".join((lowered.as_text(), *calls)).encode()).hexdigest()
    # On CPUs it is the order of exchanges that counts, whatever programs they are part of; and one has an order. XLA may have dropped
    # it, though, where it knows what all would send: that is right if all do run this program, and only then.
    fixed = len(calls) == 1 and exchanges(lowered.as_text()) == exchanges(compiled.as_text() or "") == 1
    return GroupExecutable(compiled, group.device, group, digest, calls, fixed)


def exchanges(text: str) -> int:
    """How many exchanges between processes a program's text has, as JAX or XLA writes it."""
    return len(_EXCHANGES.findall(text))


_EXCHANGES = re.compile(
    r"stablehlo\.(?:all_reduce|all_gather|all_to_all|reduce_scatter|collective_permute|collective_broadcast)\b"
    r"|\b(?:all-reduce|all-gather|all-to-all|reduce-scatter|collective-permute|collective-broadcast)(?:-start)?\("
)
