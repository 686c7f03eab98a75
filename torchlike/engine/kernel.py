"""One operation for one signature: a pure function over arrays, its output avals, and its own executable for cold runs."""

from __future__ import annotations

import copy
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, NoReturn, Self

import jax

from .aval import CPU, LARGE_ARRAY_BYTES, META, Aval, Meshed, Placement, TracedAval, check_allocation
from .background import CompilerWaits, Task, begin
from .collective import Group, compile_for_group
from .described import not_run
from .executable import compile_ahead, for_one_trace
from .interpreter import Plan, Traced, Unsupported, trace
from .jax_settings import tracing as tracing
from .jax_settings.narrow_traces import for_traces
from .memory import mappings
from .meshes import MeshedCall
from .report import COMPILING, TRACING, report
from .threads import refuse_accelerator, refuse_xla, state

# Executables of single ops kept at most; each takes some hundred kilobytes. The oldest are dropped first, and compiled again if needed.
MAX_EXECUTABLES = 1000
_with_executable: deque[weakref.ref[Kernel]] = deque()


# Kernels kept at most that no trace, program or graph uses: the op may be called again.
MAX_KERNELS_KEPT = 4096
_recent: deque[Kernel] = deque(maxlen=MAX_KERNELS_KEPT)


def _drop_executables(count: int) -> None:
    for _ in range(count):
        oldest = _with_executable.popleft()()
        if oldest is not None:
            oldest._executable = None


mappings.droppers.append(lambda: _drop_executables(len(_with_executable) // 4))


def with_executable() -> list[weakref.ref[Kernel]]:
    """The kernels that have executables of their own."""
    return list(_with_executable)


class _Following(threading.local):
    """``shapes_only``: this thread looks for the shapes of an operation on the meta device."""

    shapes_only = False


_following = _Following()


def only_shapes_matter() -> bool:
    """Whether what is traced now is never computed, so that a function need not find the numbers that it would compute with."""
    return _following.shapes_only


@contextmanager
def tracing_for(placement: object) -> Iterator[None]:
    """Within the context, functions are traced that would run there: see ``only_shapes_matter``."""
    before, _following.shapes_only = _following.shapes_only, placement is META
    try:
        yield
    finally:
        _following.shapes_only = before


class Kernels:
    """The kernels of one operation by signature. They live as long as something else holds them, and a while longer."""

    __slots__ = ("_kernels",)

    def __init__(self) -> None:
        self._kernels: dict[Any, weakref.ref[Any]] = {}

    def get(self, key: Any, make: Callable[[], Any]) -> Any:
        """The kernel for a key, made by ``make`` where there is none."""
        kernel = self.known(key)
        if kernel is None:
            kernel = make()
            # It removes itself. A dictionary of weak references of the standard library takes ten times as long.
            self._kernels[key] = weakref.ref(kernel, partial(self._kernels.pop, key))
            _recent.append(kernel)
        return kernel

    def known(self, key: object) -> Any:
        """The kernel for a key, None where there is none."""
        reference = self._kernels.get(key)
        return None if reference is None else reference()

    def clear(self) -> None:
        self._kernels.clear()


class Pieces(NamedTuple):
    """For an operation that does the same with each of several tensors: how to compute it for some of them alone.

    ``kinds``: by tensor. What is of one kind is computed by one function. ``some(numbers)``: the function for these tensors, the numbers
    of the operation's inputs that it reads, and of the operation's outputs that it computes (None: what is not needed of it).
    """

    kinds: Sequence[Hashable]
    some: Callable[[range], tuple[Callable[..., Sequence[Any]], Sequence[int], Sequence[int | None]]]


class Kernel:
    """An operation for one signature, as the recorder records it.

    ``fn(*arrays)`` returns a tuple of arrays, one for each of ``out_avals``; where ``make_error`` is given, one more: an int64 vector
    ``(bad, value)`` of an index check, and ``make_error(value)`` builds the exception to raise if ``bad`` is not 0.
    ``convolutions``: how many it contains. ``cost``: what ``tiers.py`` has estimated of it. ``gain``: the seconds of a run that an
    executable of its own would save, as estimated; ``spent``: the sum of these over its runs by NumPy, see ``tiers.py``.
    ``runs_begun``: in how many segments a run of known ops has begun with it, in a path that was new up to there, see
    ``Recorder._ends_before``; ``run_in``: the last of them; ``run_goes_on``: with which kernel a run goes on after a few ops.
    ``recorded``: what the recorder has found out of calls with it, see ``recorder.Call``. ``static``: the static arguments of these.
    ``checked_at_once``: whether what is recorded runs up to it at once, so that the call itself raises for a failed check.
    ``replaces`` is for an op that updates tensors: output i takes the place of input ``replaces[i]`` in its tensor.
    ``pieces``: how such an op is computed for some of its tensors.
    ``mapped``: the operations that compute it for many examples at once, see ``_core/vmapped.py``.
    ``shows``: whether its outputs show elements of its inputs, so that a program which reads some of them needs no memory for all.
    ``repeatable``: whether a program for a TPU may compute it a second time rather than keep its result, see ``memory/again.py``.
    ``saved``: of a pullback, how many of its inputs were kept for it. Those behind them are gradients. 0 of anything else.
    ``on_mesh``: whether it runs on several devices of this process.
    ``not_by_numpy``: what in it NumPy has no rule for.
    ``group``: of a collective, the processes that run it together; ``call`` says in words what it is.
    """

    __slots__ = (
        "name",
        "shows",
        "repeatable",
        "saved",
        "_fn",
        "in_avals",
        "out_avals",
        "make_error",
        "checked_at_once",
        "replaces",
        "pieces",
        "convolutions",
        "cost",
        "gain",
        "spent",
        "runs_begun",
        "run_in",
        "run_goes_on",
        "recorded",
        "static",
        "group",
        "call",
        "on_mesh",
        "mapped",
        "not_by_numpy",
        "_executable",
        "_task",
        "_on_tracers",
        "_traced",
        "_plan",
        "__weakref__",
    )

    def __init__(
        self,
        name: str,
        fn: Callable[..., tuple[Any, ...]] | None,
        in_avals: Sequence[Aval],
        placement: Placement | Sequence[Placement],
        make_error: Callable[[int], Exception] | None = None,
        traced: Traced | None = None,
        group: Group | None = None,
        call: str = "",
        shows: bool = False,
    ) -> None:
        """``placement``: of all outputs, or of each. ``traced``: what ``fn`` computes, where that is known: ``function`` makes ``fn``
        then if it is None.

        Raises:
            RuntimeError: no memory is large enough for an output.
        """
        self.name = name
        self.shows = shows
        self.repeatable, self.saved = False, 0
        self._fn = fn
        self.in_avals = tuple(in_avals)
        self.make_error = make_error
        self.checked_at_once = False
        self.replaces: tuple[int, ...] = ()
        self.pieces: Pieces | None = None
        self._executable: Any = None
        self._task: Task | None = None  # that makes the executable
        self._on_tracers: dict[bool, Callable[..., Sequence[Any]]] = {}
        self._plan: Plan | None = None
        self.mapped: dict[object, object] | None = None
        self.not_by_numpy = ""
        self.group, self.call = group, call
        if group is not None:
            self._follow(group.each(self.fn), placement)
            return
        if placement is META:
            # Not traced for NumPy, which would make the constants on the way: they may be larger than any memory.
            self._follow(self.fn, placement)
            return
        if traced is None:
            start = time.perf_counter()
            traced = trace(self.fn, in_avals)
            report.spend(TRACING, time.perf_counter() - start)
        self._traced: Traced | None = traced
        self.convolutions = traced.convolutions
        self._finish(traced.outs, placement)
        # NumPy computes in the host's memory only, so no plan is made for other devices.
        if placement is not CPU and (self.on_mesh or any(aval.placement.platform != "cpu" for aval in self.out_avals)):
            self._traced = None

    @property
    def fn(self) -> Callable[..., tuple[Any, ...]]:
        """See the class. NumPy does not need it where operations of other sizes have been traced."""
        if self._fn is None:
            self._fn = self.function()
        return self._fn

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Makes ``fn`` where it was not given."""
        raise NotImplementedError

    @tracing
    def _follow(self, fn: Callable[..., object], placement: Placement | Sequence[Placement]) -> None:
        with tracing_for(placement):
            outs = jax.eval_shape(for_one_trace(fn), *[jax.ShapeDtypeStruct(a.shape, a.dtype) for a in self.in_avals])
        self._traced, self.convolutions = None, 0
        self._finish(outs, placement)

    def _finish(self, outs: Sequence[Any], placement: Placement | Sequence[Placement]) -> None:
        self.cost: Any = None
        self.gain: float | None = None
        self.spent = 0.0
        self.runs_begun = self.run_in = 0
        self.run_goes_on: Kernel | None = None
        self.recorded: Any = None
        self.static: tuple[Any, ...] | None = None
        if self.make_error is not None:
            outs = outs[:-1]
        placements = [placement] * len(outs) if isinstance(placement, Placement) else placement
        self.out_avals = tuple([Aval(o.shape, o.dtype, where) for o, where in zip(outs, placements, strict=True)])
        self.on_mesh = placement is not CPU and any(isinstance(aval.placement, Meshed) for aval in self.out_avals)
        if not self.shows:
            for aval in self.out_avals:
                if aval.nbytes >= LARGE_ARRAY_BYTES:
                    check_allocation(aval.nbytes, aval.placement)

    def like(self, in_avals: Sequence[Aval | TracedAval], out_avals: Sequence[Aval | TracedAval]) -> Self:
        """The same kernel for a call with mapped values, whose avals these are. Nothing runs it."""
        same = copy.copy(self)
        same.in_avals, same.out_avals = tuple(in_avals), tuple(out_avals)  # pyright: ignore[reportAttributeAccessIssue]
        return same

    def plan(self) -> Plan | None:
        """The NumPy plan of this op; None if NumPy cannot compute it, or would be slower than its executable."""
        if self._traced is not None:
            try:
                self._plan = self._traced.plan()
            except Unsupported as reason:
                self.not_by_numpy = str(reason)
                report.not_interpreted[self.not_by_numpy] += 1
            self._traced = None
        return self._plan

    def executable(self) -> Any:
        """The compiled function, for running this op alone."""
        if state.by_numpy_alone:
            self._refuse()
        # There only whole programs are compiled. On a mesh it must be known where XLA has each result lie.
        if self.out_avals and self.out_avals[0].placement.described and not self.on_mesh:
            return not_run(self.out_avals, int(self.make_error is not None))
        if self._executable is None:
            start = time.perf_counter()
            if self.on_mesh:
                self._executable = MeshedCall(self.fn, self.in_avals, self.out_avals, int(self.make_error is not None))
            elif self.group is not None:
                self._executable = compile_for_group(self.fn, self.in_avals, (), self.group, (self.call,), self.call)
            else:
                self._executable = self._made_in_background() or self._compile()
            report.spend(COMPILING, time.perf_counter() - start)
            report.op_compiles += 1
            _with_executable.append(weakref.ref(self))
            if len(_with_executable) > MAX_EXECUTABLES:
                _drop_executables(1)
            mappings.compiled()
        return self._executable

    def begin_executable(self) -> None:
        """Has the compiler's thread make the executable, unless that has begun."""
        if self._executable is None and self._task is None:
            self._task = Task(self._compile, self.name)
            begin(self._task)

    def _made_in_background(self) -> Any:
        task, self._task = self._task, None
        try:
            return None if task is None else task.result()
        except CompilerWaits:
            return None

    def _compile(self) -> Any:
        return compile_ahead(self.fn, self.in_avals, self.out_avals, convolves=self.convolutions > 0)

    def _refuse(self) -> NoReturn:
        if any(aval.placement.platform not in ("cpu", "meta") for aval in (*self.in_avals, *self.out_avals)):
            refuse_accelerator()
        why = f" ({self.not_by_numpy} has no rule for NumPy)" if self.not_by_numpy else ""
        refuse_xla(f"{self.name}{why}")

    def drop_executable(self) -> None:
        """Drops the executable, which was compiled for devices that no longer exist."""
        self._executable = None
        self._on_tracers = {}

    def on_tracers(self, wide: bool) -> Callable[..., Sequence[Any]]:
        """The function for use under a JAX transform, in a trace that has 64-bit types (``wide``) or has not."""
        if wide not in self._on_tracers:
            specs = [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in self.in_avals]
            self._on_tracers[wide] = for_traces(self.fn, specs, wide)
        return self._on_tracers[wide]
