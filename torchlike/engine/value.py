"""A future array: it has an aval at once, and a JAX array when the segment that computes it has run."""

from __future__ import annotations

import weakref
from math import prod
from typing import Any, Protocol

import jax
import numpy as np
from jax.core import Tracer

from . import checks, threads
from .aval import CPU, META, Aval, MappedAval, Meshed, Placement, TracedAval, check_room
from .memory.heap import in_small_pages
from .memory.transfer import put
from .threads import refuse_accelerator, refuse_xla, state


class Pending(Protocol):
    """The part of a segment's interface that a pending value uses."""

    error: Exception | None
    pinned: set[int]
    table: list[weakref.ref[Value]]
    kept: dict[int, Any]
    flown: dict[int, object]

    @property
    def recorder(self) -> object: ...

    def finish(self, reason: str) -> None:
        """Computes the value."""
        ...

    def replace(self, old: Value, new: Value) -> None:
        """Notes that a pending value takes the place of an older one in a tensor."""
        ...


class NoData:
    """Stands where a value's array would be, if its aval is on the meta device."""

    __slots__ = ()
    nbytes = 0


NO_DATA = NoData()


class Value:
    """An immutable array that may not have been computed yet.

    ``array`` is None while the value is pending, a NumPy array while it has never left the host, ``NO_DATA`` on the meta device, else a
    JAX array (or a tracer).
    ``segment`` and ``position`` say where a recorder met the value last; they mean something to that segment alone.
    ``pinned`` forbids donating the memory: somebody outside the engine has the array.
    ``passed`` is only set on indices: the calls of which they are known to be right, see ``dispatch/index_checks.py``.
    """

    __slots__ = ("aval", "array", "segment", "position", "pinned", "passed", "__weakref__")

    aval: Aval
    array: Any
    segment: Pending | None
    position: int
    pinned: bool
    passed: set[object]

    # No __init__: the recorder makes values by the thousand, and fills the fields in itself.

    @classmethod
    def over(cls, aval: Any, array: Any) -> Value:
        """A value whose array exists already."""
        value = cls()
        value.aval, value.array, value.segment, value.position, value.pinned = aval, array, None, -1, False
        return value

    @classmethod
    def on_host(cls, array: np.ndarray, placement: Placement = CPU) -> Value:
        """A value over a NumPy array that nobody writes to any more.

        The engine tells what lies on the host by the class, so of an array of a subclass (``memmap``, ``matrix``) it takes the plain
        array over the same memory.
        """
        if array.__class__ is not np.ndarray:
            array = np.asarray(array)
        if placement is META:
            return cls.without_data(Aval(array.shape, array.dtype, META))
        return cls.over(Aval(array.shape, array.dtype, placement.decided), array)

    @classmethod
    def full(cls, shape: tuple[int, ...], dtype: np.dtype, placement: Placement = CPU, number: Any = 0) -> Value:
        """A value that holds one number everywhere.

        Zeros are written, too. Those of ``np.zeros`` are one page of the system's in all places until somebody writes there. If they are
        read before, the first write to each page interrupts all processors.
        """
        if placement is META:  # a meta tensor must take no memory
            return cls.without_data(Aval(shape, dtype, META))
        check_room(shape, dtype, placement)
        with in_small_pages(prod(shape) * dtype.itemsize):
            return cls.on_host(np.full(shape, number, dtype), placement)

    @classmethod
    def without_data(cls, aval: Aval) -> Value:
        """A value on the meta device: its shape and dtype are known, and it has no elements."""
        return cls.over(aval, NO_DATA)

    @classmethod
    def of(cls, array: jax.Array) -> Value:
        """A value over a JAX array (never donated, as its owner may read it again) or over a tracer."""
        if isinstance(array, Tracer):
            return cls.over(TracedAval(array.shape, np.dtype(array.dtype)), array)
        if isinstance(array.sharding, jax.sharding.NamedSharding) and len(array.devices()) > 1:
            layout = Meshed(array.sharding.mesh, array.sharding.spec)  # pyright: ignore[reportArgumentType]
            value = cls.over(Aval(array.shape, np.dtype(array.dtype), layout), array)
            value.pinned = True
            return value
        (device,) = array.devices()
        # Not ``device.id``, which counts the devices of all processes.
        index = jax.local_devices(backend=device.platform).index(device)
        value = cls.over(Aval(array.shape, np.dtype(array.dtype), Placement(device.platform, index)), array)
        value.pinned = True
        return value

    def fresh(self) -> Value:
        """Returns the value itself: a value is immutable, so a copy of a storage shares it."""
        return self

    @property
    def traced(self) -> bool:
        """Whether it has no array of its own: it is a tracer of JAX's, or holds the examples of a ``vmap``."""
        return isinstance(self.aval, TracedAval)

    def finish(self) -> Any:
        """Runs what is needed for the array to exist and returns it: a NumPy array, a JAX array or a tracer."""
        if self.array is None and threads.flown:
            threads.land()
        if self.array is None:
            segment = self.segment
            assert segment is not None
            table = segment.table
            if self.position < len(table) and table[self.position]() is not self:
                table[self.position] = weakref.ref(
                    self
                )  # a finalizer of a reference cycle reads it: see ``handlers.py``
            segment.finish("a value was read")
            if self.array is None and segment.kept:
                self.array = segment.kept.get(self.position)
            if self.array is None:
                raise segment.error or RuntimeError(
                    "this tensor has no value: the program that was to compute it failed"
                )
        return self.array

    def jax(self) -> Any:
        """The JAX array, on its device. Pins it: the caller may keep it, so its memory is never donated."""
        if state.by_numpy_alone:
            refuse_xla("a JAX array")
        array = self.finish()
        if self.aval.__class__ is MappedAval:
            raise unreadable()
        if isinstance(array, np.ndarray):
            # The copy replaces the host's array, so that the next program does not send it again.
            array = self.array = put(array, self.aval.placement)
        if array is NO_DATA:
            raise no_data()
        if self.aval.placement.described:
            raise RuntimeError("a tensor on a described device has no elements, and no array of JAX's")
        self.pin()
        checks.raise_failed()
        return self._cut(array)

    def numpy(self) -> np.ndarray:
        """The array on the host. Blocks until it is computed; raises what failed index checks have to say."""
        array = self.finish()
        if isinstance(array, np.ndarray) or self.traced or array is NO_DATA or self.aval.placement.platform == "cpu":
            checks.raise_failed()
        else:
            if not array.is_ready():
                threads.ended_step.run()  # else the device would have nothing to do when this value is there
            checks.raise_failed(array)
        if isinstance(array, np.ndarray):
            return array
        if self.traced:
            return _concrete(array)
        if array is NO_DATA:
            raise no_data()
        self.pin()  # on the CPU the NumPy array shares the memory
        return self._cut(np.asarray(array) if not state.by_numpy_alone else host_memory(array))

    def _cut(self, array: Any) -> np.ndarray:
        """The array without the padding that its layout over a mesh may have."""
        return array if array.shape == self.aval.shape else array[tuple(map(slice, self.aval.shape))]

    def pin(self) -> None:
        """Keeps the memory from being donated: somebody outside the engine has the array."""
        self.pinned = True
        if self.segment is not None:
            self.segment.pinned.add(id(self.array))
        if not threads.alone():  # another thread may have recorded with the value since
            for segment in threads.unfinished():
                segment.pinned.add(id(self.array))


def host_memory(array: Any) -> np.ndarray:
    """The memory of a JAX array, in a process that computes by NumPy alone."""
    if any(device.platform != "cpu" for device in array.devices()):
        refuse_accelerator()
    if not array.is_ready():
        refuse_xla("a value that was still being computed")
    return np.asarray(array)


def no_data() -> NotImplementedError:
    """The error for whoever reads a value that has no elements."""
    return NotImplementedError("Cannot copy out of meta tensor; no data!")


class Unreadable(RuntimeError):
    """A value has no elements while its function is mapped or compiled."""


Unreadable.__name__ = "RuntimeError"  # what a program sees, which knows no other


def _concrete(tracer: Any) -> np.ndarray:
    """The array behind a tracer, if there is one: there is while it is differentiated, not while it is mapped or compiled."""
    array = tracer.to_concrete_value() if isinstance(tracer, Tracer) else None
    if array is None:
        raise unreadable()
    return np.asarray(array)


def unreadable() -> Unreadable:
    """The error for whoever reads the elements of one example."""
    return Unreadable(
        "vmap: It looks like you're calling .item() on a Tensor, or attempting to use a Tensor in some data-dependent control flow "
        "or operation. Its elements have no value while the function is mapped or compiled: please rewrite it with operations whose "
        "result has a fixed shape, such as torch.where, or do this outside."
    )
