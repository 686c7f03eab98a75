"""Programs over a mesh of this process's devices: the layouts of their inputs, and of outputs for which nobody has asked for one."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.sharding import NamedSharding

from .aval import Aval, Meshed, Placement
from .described import ON_DEVICE, Absent, noted, outputs_of
from .executable import COMPILER_OPTIONS, Executable, LastRun, for_one_trace, lower_once
from .jax_settings import tracing, with_64_bits
from .memory.transfer import put
from .scatters import with_reduce_scatters
from .value import Value

__all__ = ["MeshedCall", "arrange", "compile_over_mesh", "lay_out", "settle"]


def _layouts(avals: Sequence[Aval], home: Meshed) -> list[Any]:
    """The layouts of a program's inputs. An input that is not on the mesh is copied to each device."""
    return [aval.placement.sharding if aval.placement.home is home else home.sharding for aval in avals]


def _wishes(avals: Sequence[Aval], home: Meshed, others: int = 0) -> list[Any]:
    """The layouts that a program's outputs must have: None where XLA decides. ``others``: outputs behind them, which go to each device."""
    return [None if a.placement is home else a.placement.sharding for a in avals] + [home.sharding] * others


def _padded(array: Any, aval: Aval) -> Any:
    """The array as it is stored: with zeros at the end of dimensions that do not divide."""
    shape = aval.placement.stored(aval.shape)
    if shape == aval.shape:
        return array
    return jnp.pad(array, [(0, more - n) for more, n in zip(shape, aval.shape, strict=True)])


def _cut(array: Any, aval: Aval) -> Any:
    """The array without the zeros."""
    return array if aval.placement.stored(aval.shape) == aval.shape else array[tuple(map(slice, aval.shape))]


def _over_stored_arrays(
    fn: Callable[..., Sequence[object]], in_avals: Sequence[Aval], out_avals: Sequence[Aval]
) -> Callable[..., Any]:
    """The function from stored arrays to stored arrays."""

    def stored(*arrays: object) -> list[Any]:
        outs = list(fn(*map(_cut, arrays, in_avals)))
        return [*map(_padded, outs, out_avals), *outs[len(out_avals) :]]

    return stored


def lay_out(array: jax.Array, placement: Placement) -> jax.Array:
    """The array of a function in this layout, where it is one."""
    if not isinstance(placement, Meshed) or placement.spec is None:
        return array
    aval = Aval(array.shape, np.dtype(array.dtype), placement)
    return _cut(lax.with_sharding_constraint(_padded(array, aval), placement.sharding), aval)


# Devices of one process that are CPUs share a few threads. In a collective each device holds one until all have come, so of two programs
# in flight each could hold threads that the other waits for: XLA ends the process after a minute.
_last_run = LastRun()


def _alone(home: Placement, run: Callable[..., Any], *arguments: object) -> Any:
    """What a function gives that runs a program over a mesh. The program begins when the one before has ended."""
    _last_run.wait()
    given = run(*arguments)
    for output in jax.tree.leaves(given)[:1]:
        _last_run.note(home.platform, output)
    return given


def arrange(array: Any, aval: Aval, home: Meshed) -> Any:
    """The array as a program on the mesh takes it."""
    (layout,) = _layouts([aval], home)
    if not isinstance(array, ON_DEVICE):
        return put(np.asarray(array), aval.placement if aval.placement.home is home else home)
    if array.sharding == layout:
        return array
    if home.described:
        return Absent(array.shape, array.dtype, layout)
    return _alone(home, with_64_bits(jax.device_put), array, layout)


@tracing
def compile_over_mesh(
    fn: Callable[..., Sequence[object]],
    in_avals: Sequence[Aval],
    out_avals: Sequence[Aval],
    donate: tuple[int, ...],
    home: Meshed,
    others: int = 0,
) -> Executable:
    """``compile_ahead`` for a program over a mesh. ``others``: how many outputs the function has behind those of ``out_avals``."""
    inputs = [
        jax.ShapeDtypeStruct(aval.placement.stored(aval.shape), aval.dtype, sharding=layout)
        for aval, layout in zip(in_avals, _layouts(in_avals, home), strict=True)
    ]
    stored = _over_stored_arrays(fn, in_avals, out_avals)
    traced = jax.make_jaxpr(for_one_trace(stored))(*inputs)
    program = with_reduce_scatters(traced, [layout.spec for layout in _layouts(in_avals, home)])
    lowered = lower_once(program, inputs, donate, _wishes(out_avals, home, others))
    if home.described:
        return noted(lowered.compile(compiler_options=COMPILER_OPTIONS))  # pyright: ignore[reportReturnType]
    return MeshedExecutable(lowered.compile(compiler_options=COMPILER_OPTIONS), home.device)


class MeshedExecutable(Executable):
    """A program over a mesh."""

    __slots__ = ()

    def reserve(self) -> None:
        _last_run.wait()
        super().reserve()

    def ran(self, output: object) -> None:
        super().ran(output)
        _last_run.note(self._device.platform, output)

    def hlo(self) -> str:
        """The compiled program as text."""
        return self._compiled.as_text()


class MeshedCall:
    """One op over a mesh. How its inputs lie depends on what ran before, so JAX keeps an executable for each case."""

    __slots__ = ("_jitted", "_in_avals", "_home")

    def __init__(
        self, fn: Callable[..., Sequence[Any]], in_avals: Sequence[Aval], out_avals: Sequence[Aval], others: int
    ) -> None:
        home = (out_avals or in_avals)[0].placement.home
        assert isinstance(home, Meshed)
        wishes = _wishes(out_avals, home, others)
        if not in_avals:
            # Without inputs XLA does not know which devices the program is for.
            wishes = [wish or home.sharding for wish in wishes]
        stored = _over_stored_arrays(fn, in_avals, out_avals)
        self._jitted = jax.jit(stored, out_shardings=wishes, compiler_options=COMPILER_OPTIONS)
        self._in_avals, self._home = in_avals, home

    def reserve(self) -> None:
        """Does nothing: on a mesh XLA itself reports that there is too little memory."""

    def __call__(self, arrays: Sequence[object]) -> list[Any]:
        inputs = []
        for array, aval in zip(arrays, self._in_avals, strict=True):
            on_mesh = isinstance(array, ON_DEVICE) and aval.placement is self._home
            inputs.append(array if on_mesh else arrange(array, aval, self._home))
        if self._home.described:
            return self._not_run(inputs)
        return _alone(self._home, tracing(self._jitted), *inputs)

    @tracing
    def _not_run(self, inputs: list[Absent]) -> list[Absent]:
        """Stands for the outputs on described devices, where XLA would have them lie."""
        shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=each.sharding) for each in inputs]
        return outputs_of(self._jitted.lower(*shapes).compile())


def settle(table: Sequence[weakref.ref[Value]], outputs: Iterable[int]) -> None:
    """Records the layouts that XLA chose for the computed values at these places of a table."""
    for position in outputs:
        value = table[position]()
        if value is None or value.array is None:
            continue
        placement = value.aval.placement
        if not isinstance(placement, Meshed) or placement.spec is not None:
            continue
        array = value.array
        if not isinstance(array, ON_DEVICE):
            continue
        layout = array.sharding
        if not (isinstance(layout, NamedSharding) and layout.mesh == placement.mesh):
            array = _alone(placement, jax.device_put, array, placement.sharding)
            layout = placement.sharding
        aval = Aval(value.aval.shape, value.aval.dtype, Meshed(placement.mesh, layout.spec))
        value.array, value.aval = array, aval
