"""Compiles functions with XLA and calls the result. No other file uses the inner parts of JAX's compiled objects."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, starmap
from operator import methodcaller
from pathlib import Path
from typing import Any, NamedTuple

import jax

try:
    from jax._src.interpreters import pxla
except ImportError:  # the name is internal, so another version of JAX may lack it
    pxla: Any = None

from .aval import Aval, check_allocation, out_of_memory
from .described import noted
from .disk import programs as disk
from .jax_settings import drop_what_was_sent, tracing
from .memory.heap import Place, keep_blocks
from .report import report
from .threads import refuse_xla, state

# XLA may keep a wider intermediate than the dtype says; PyTorch rounds after every op, and so do we.
# (Without XLA's fusion emitters an op alone compiles in half the time, but its last bits are not those it has in a whole program.)
Options = dict[str, str | bool | int]
COMPILER_OPTIONS: Options = {"xla_allow_excess_precision": False}
# For programs with convolutions on a CPU. By default jaxlib 0.10 hands these to a library that takes two to five times as long as XLA's
# own code for them; with this option it keeps matrix products and sums. (XLA's own sums over images take several times as long, and have
# larger rounding errors.) Other versions may not know the option.
FASTER_CONVOLUTIONS: Options = {
    "xla_cpu_experimental_ynn_fusion_type": "LIBRARY_FUSION_TYPE_INDIVIDUAL_DOT,LIBRARY_FUSION_TYPE_REDUCE"
}
# For programs that compute activations a second time, on a CPU. XLA takes its barriers away before it orders the operations, and then
# it recomputes everything at the start, which needs as much memory as keeping it. Without that pass the barriers remain until the end.
LASTING_BARRIERS: Options = {"xla_disable_hlo_passes": "cse_barrier_expander"}
# For programs that compute element by element, on a CPU: XLA's older way to make code for these takes half the time, and the code is as
# fast. Over many dimensions it is slower.
QUICK_ELEMENTS: Options = {"xla_cpu_use_fusion_emitters": False}
# For programs with convolutions on a TPU. XLA takes the best of three orders by an estimate. For these it began with copies of weights and
# moments to the layout of their gradients, which so waited for the backward pass. For Transformers some steps read more in this order.
IN_DEPTH: Options = {"xla_memory_scheduler": "dfs"}
RECOMPUTED = "_recomputed"  # so ends the name of an operation that stands before what is computed a second time
# Options that this version of XLA does not know: it has said so.
_unknown: set[str] = set()
# Programs that need more memory than this test before a run whether they get it. The test takes microseconds, the run far longer.
RESERVED_BYTES = 16 * 2**20


class Parts(NamedTuple):
    """What runs a program: XLA's executable, and what makes arrays of its outputs."""

    xla_executable: Any
    handlers: Sequence[Any]


def _parts_of(compiled: Any) -> Parts | None:
    """The parts of a compiled function. None if it calls Python, or in a JAX whose inner parts have other names."""
    try:
        call = compiled._executable.unsafe_call
        parts = Parts(call.xla_executable, call.out_handler.handlers)
        plain = not (call.ordered_effects or call.has_unordered_effects or call.has_host_callbacks)
        plain = plain and not getattr(compiled._params, "const_args", ())
        return parts if plain and parts.xla_executable.execute_sharded else None
    except AttributeError:
        return None


def _parts_read(xla_executable: Any, lowered: Any) -> Parts:
    """The parts of a program that was read from disk. ``lowered``: the function of which it was compiled once."""
    outs, known = jax.tree.leaves(lowered.out_info), lowered._lowering.compile_args
    handler = pxla.global_avals_to_results_handler(
        known["global_out_avals"], [o.sharding for o in outs], known["committed"]
    )
    return Parts(xla_executable, handler.handlers)


class Executable:
    """A compiled function of arrays.

    ``jax.stages.Compiled`` runs Python code when it is called, at the first call a lot of it, and Python may handle a signal there:
    after the program has run and before its outputs are stored. Its donated inputs would then be lost. So the XLA executable
    below it is called directly, which is C++ from end to end, and faster.
    """

    __slots__ = (
        "_compiled",
        "_execute",
        "_collect",
        "_device",
        "bytes_needed",
        "bytes_within",
        "_place",
        "parts",
        "calls_python",
        "entry",
    )

    def __init__(self, compiled: Any, device: Any, bytes_needed: int | None = None) -> None:
        """``compiled``: of JAX, or the parts of one that was read from disk, with the ``bytes_needed`` that are known then."""
        self._place = Place()
        self.entry: Path | None = None  # where it lies on disk
        self._compiled = compiled  # keeps alive what the executable refers to
        self._device = device
        parts: Parts | None = compiled if isinstance(compiled, Parts) else _parts_of(compiled)
        if parts is not None:
            # C code, as all that runs between the program and the stores
            self._execute: Any = functools.partial(map, parts.xla_executable.execute_sharded)
            self._collect: Any = methodcaller("consume_with_handlers", parts.handlers)
        else:
            call: Any = compiled
            self._execute = functools.partial(starmap, call)
            self._collect = iter
        self.parts = parts  # None where Python code runs in a call
        self.calls_python = parts is None
        self.bytes_needed = _bytes_needed(compiled) if bytes_needed is None else bytes_needed
        self.bytes_within = self.bytes_needed  # of these, what is given back when the run ends: the rest are outputs

    def outputs(self, arrays: Sequence[object]) -> Iterator[Any]:
        """Runs the program when the first output is asked for. No Python code runs from there to the last one."""
        return self.outputs_of((arrays,))

    def outputs_of(self, runs: Sequence[Sequence[object]]) -> Iterator[Any]:
        """The same for several runs in a row, each of other arrays."""
        return chain.from_iterable(map(self._collect, self._execute(runs)))

    def ran(self, output: object) -> None:
        """Notes that a run has begun, and one of its outputs."""
        if self.bytes_needed >= RESERVED_BYTES:
            _large_runs.note(self._device.platform, output)

    def __call__(self, arrays: Sequence[object]) -> list[Any]:
        outs = list(self.outputs(arrays))
        if outs:
            self.ran(outs[0])
        return outs

    def reserve(self) -> None:
        """Raises the exception of ``out_of_memory`` if the program would not get the memory that it needs.

        On CPUs XLA reports that there is no memory only when an output is read. By then the inputs may be gone. And a run that needs
        much memory begins when the one before has ended: XLA allocates at the beginning, so each run in line would hold as much.
        """
        if state.by_numpy_alone:
            refuse_xla("a compiled program")
        nbytes = self.bytes_needed
        if nbytes < RESERVED_BYTES:
            return
        if self._device.platform == "cpu":
            _large_runs.wait()
            drop_what_was_sent()
            self._place.make_room(self.bytes_within, nbytes)
            check_allocation(nbytes, self._device)
            return
        statistics = self._device.memory_stats() or {}
        limit = statistics.get("bytes_limit")
        if limit is not None and statistics.get("bytes_in_use", 0) + nbytes > limit:
            raise out_of_memory(self._device, nbytes)


class LastRun:
    """An output of the last run on CPUs, of the programs that must not run at the same time."""

    def __init__(self) -> None:
        self.last: Any = None

    def note(self, platform: str, output: object) -> None:
        """Notes an output of a run that has begun. Other platforms than CPUs need no waiting."""
        if platform == "cpu":
            self.last = output

    def wait(self) -> None:
        """Waits until that run has ended."""
        last, self.last = self.last, None
        if last is not None and not last.is_deleted():
            with contextlib.suppress(Exception):  # whoever reads a result of that run gets the error
                last.block_until_ready()


_large_runs = LastRun()  # of those that need much memory


def _bytes_needed(compiled: Any) -> int:
    """Memory for outputs and intermediate values, beyond what the inputs have; 0 where the platform does not say."""
    try:
        analysis = compiled.memory_analysis()
    except (NotImplementedError, RuntimeError):
        return 0
    if analysis is None:
        return 0
    return analysis.temp_size_in_bytes + analysis.output_size_in_bytes - analysis.alias_size_in_bytes


def for_one_trace(fn: Callable[..., object]) -> Callable[..., Any]:
    """The same function as an object of its own, to be traced once and dropped.

    JAX keeps what it has made of a function, as long as the function lives: its jaxpr, and the whole MLIR module with a context of
    its own, more than a megabyte for a single op. Our functions live as long as their kernels, and each is compiled once.
    """

    def once(*arrays: jax.Array) -> Any:
        return fn(*arrays)

    once.__name__ = once.__qualname__ = fn.__name__  # the module that XLA dumps and profiles is called by it
    return once


def lower_once(
    fn: Callable[..., object], inputs: Sequence[jax.ShapeDtypeStruct], donate: Sequence[int], out_shardings: Any
) -> Any:
    """Lowers a function for inputs of these shapes. All inputs stay inputs, and JAX keeps nothing of what it made on the way."""
    jitted = jax.jit(for_one_trace(fn), donate_argnums=tuple(donate), out_shardings=out_shardings, keep_unused=True)
    traced = jitted.trace(*inputs)
    lowered = traced.lower()
    # From version 0.12 on, JAX looks for dead code once more. Where inputs that are not read are to stay, its cache of the results holds
    # the jaxpr itself, by which everything else would be kept as well.
    forget = getattr(getattr(pxla, "_dce_jaxpr", None), "evict_weakref", None)
    if forget is not None:
        forget(traced.jaxpr)
    return lowered


def options_for_cpu(convolves: bool, recomputes: bool, by_element: bool = False) -> Options:
    """What XLA is told for a program on a CPU, of what this version of it knows."""
    wanted = COMPILER_OPTIONS | (FASTER_CONVOLUTIONS if convolves else {}) | (LASTING_BARRIERS if recomputes else {})
    wanted |= QUICK_ELEMENTS if by_element else {}
    return {name: value for name, value in wanted.items() if name not in _unknown}


def compiled_with(lowered: Any, options: Options) -> Any:
    """Compiles without the options that this version of XLA does not know, or does not know this value of."""
    while True:
        try:
            return lowered.compile(compiler_options=options)
        except jax.errors.JaxRuntimeError as error:
            named = {name for name in options if name in str(error) and name not in COMPILER_OPTIONS}
            if "option" not in str(error) or not named:
                raise
            _unknown.update(named)
            options = {name: value for name, value in options.items() if name not in named}


class NotKept(LookupError):
    """A program does not lie on disk any more."""


@tracing
def compile_ahead(
    fn: Callable[..., Sequence[object]],
    in_avals: Sequence[Aval],
    out_avals: Sequence[Aval],
    donate: tuple[int, ...] = (),
    convolves: bool = False,
    recomputes: bool = False,
    kept: bool = False,
    by_element: bool = False,
) -> Executable:
    """Compiles ``fn`` for these avals, 64-bit types kept, so that calling the result needs no JAX setting at all.

    Args:
        donate: the numbers of the inputs over which results are written.
        by_element: whether it computes element by element, as updates of most optimizers do. For others the code may be slower.
        convolves: whether there are convolutions. ``recomputes``: whether something is computed a second time to save memory.
        kept: compile nothing: the program lies on disk.

    Raises:
        NotKept: it does not.
    """
    placement = (out_avals or in_avals)[0].placement
    lowered = lower_once(fn, [a.abstract() for a in in_avals], donate, placement.sharding)
    on_cpu = placement.platform == "cpu"
    options = options_for_cpu(convolves, recomputes, by_element) if on_cpu else COMPILER_OPTIONS
    if convolves and placement.platform == "tpu":
        options = options | IN_DEPTH
    if placement.described:
        return noted(compiled_with(lowered, options))  # pyright: ignore[reportReturnType]
    entry = disk.entry_of(lowered, options, placement.device)
    stored = _read(entry, lowered, placement.device) if entry is not None else None
    new_bytes = sum([a.nbytes for a in out_avals]) - sum([in_avals[i].nbytes for i in donate])  # of outputs
    if stored is not None:
        stored.entry = entry
        _note_memory(stored, new_bytes, on_cpu)
        return stored
    if kept:
        raise NotKept
    compiled = compiled_with(lowered, options)
    executable = Executable(compiled, placement.device)
    _note_memory(executable, new_bytes, on_cpu)
    if entry is not None and executable.parts is not None:  # other executables call functions of this process
        disk.write(entry, executable.parts.xla_executable, executable.bytes_needed)
        executable.entry = entry
    return executable


def _note_memory(executable: Executable, new_bytes: int, on_cpu: bool) -> None:
    """Notes what an executable needs memory for. ``new_bytes``: of outputs that are not written over inputs."""
    executable.bytes_within = max(executable.bytes_needed - max(new_bytes, 0), 0)
    if on_cpu and executable.bytes_needed >= RESERVED_BYTES:
        keep_blocks(executable.bytes_needed, executable.bytes_within)


def _read(entry: Path, lowered: Any, device: Any) -> Executable | None:
    """The program of an entry on disk; None if there is none that can be used."""
    stored = disk.read(entry, device)
    if stored is None:
        return None
    xla_executable, bytes_needed = stored
    try:
        parts = _parts_read(xla_executable, lowered)
    except (AttributeError, KeyError, TypeError, ValueError):  # a JAX whose inner parts have other names
        return None
    report.loads += 1
    return Executable(parts, device, bytes_needed)
