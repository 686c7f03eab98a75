"""Describes an array before it exists: shape, dtype and placement. Equal descriptions are one object, so they compare by identity.

What no memory can hold is refused here, in PyTorch's words and at the line that asks for it: XLA would end the process later.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import jax
import numpy as np

from .threads import refuse_accelerator, state

_asked: list[str | None] = []  # for which platforms JAX was asked for devices
# Devices of which only a description exists, by platform, while it is in force: see ``described.py``.
described_devices: dict[str, list[Any]] = {}


def jax_devices(platform: str | None = None) -> list[Any]:
    """JAX's devices of a platform in this process, by default of the best one. The first call starts JAX's threads."""
    if platform in described_devices:
        return described_devices[platform]
    _asked[:] = (platform,)
    return jax.local_devices(backend=platform)


def wait_for(devices: Iterable[Any]) -> None:
    """Waits until everything that was handed to these devices of JAX has run."""
    for device in devices:
        if device.platform in described_devices:
            continue
        if not state.by_numpy_alone:
            jax.device_put(0.0, device).block_until_ready()
        elif device.platform != "cpu":
            refuse_accelerator()


def started() -> bool:
    """Whether JAX's devices were listed in this process, or in the process that it was forked from."""
    return bool(_asked)


class Placement:
    """Where an array lives: a JAX platform name and a device number. Interned; the JAX device is looked up on first use."""

    platform: str
    index: int
    _interned: dict[tuple[str, int], Placement] = {}

    def __new__(cls, platform: str, index: int = 0) -> Placement:
        self = cls._interned.get((platform, index))
        if self is None:
            self = cls._interned[platform, index] = object.__new__(cls)
            self.platform, self.index = platform, index
        return self

    @cached_property
    def device(self) -> Any:
        """The ``jax.Device``."""
        return jax_devices(self.platform)[self.index]

    @cached_property
    def sharding(self) -> Any:
        """The ``jax.sharding.Sharding``; None for ``META``, since meta tensors have no memory."""
        return None if self is META else jax.sharding.SingleDeviceSharding(self.device)

    @property
    def described(self) -> bool:
        """Whether only a description of the device exists."""
        return self.platform in described_devices

    @property
    def home(self) -> Placement:
        """Where a program runs whose inputs lie here: on this device, or on the whole mesh."""
        return self

    @property
    def decided(self) -> Placement:
        """The placement of an array that exists. On a mesh it has a layout: without a spec, a copy on each device."""
        return self

    def fitting(self, shape: tuple[int, ...]) -> Placement:
        """This placement, for an array of this shape: a layout over a mesh names dimensions."""
        return self

    def stored(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of the JAX array that holds an array of this shape here."""
        return shape

    @classmethod
    def all(cls) -> list[Placement]:
        """All that there are."""
        return list(cls._interned.values())

    def forget_device(self) -> None:
        """Drops the cached device, so that its next use looks it up again."""
        vars(self).pop("device", None)
        vars(self).pop("sharding", None)

    def __repr__(self) -> str:
        return f"{self.platform}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Placement, (self.platform, self.index)


class Meshed(Placement):
    """Where an array lives that is spread over a mesh of this process's devices, as ``spec`` says.

    Without a spec this is the mesh itself: where a pending value is, in whatever layout XLA gives to it.
    """

    mesh: jax.sharding.Mesh
    spec: jax.sharding.PartitionSpec | None
    _on_meshes: dict[Any, Meshed] = {}

    def __new__(cls, mesh: jax.sharding.Mesh, spec: jax.sharding.PartitionSpec | None = None) -> Meshed:
        if spec is not None:
            entries = [entry[0] if isinstance(entry, tuple) and len(entry) == 1 else (entry or None) for entry in spec]
            while entries and entries[-1] is None:
                entries.pop()
            spec = jax.sharding.PartitionSpec(*entries)
        self = cls._on_meshes.get((mesh, spec))
        if self is None:
            self = cls._on_meshes[mesh, spec] = object.__new__(cls)
            self.mesh, self.spec = mesh, spec
            self.platform, self.index = mesh.devices.flat[0].platform, 0
        return self

    @cached_property
    def device(self) -> Any:
        """The first of the devices."""
        return self.mesh.devices.flat[0]

    @cached_property
    def sharding(self) -> Any:
        """The layout as JAX's; without a spec a copy on each device."""
        return jax.sharding.NamedSharding(self.mesh, self.spec or jax.sharding.PartitionSpec())

    @cached_property
    def home(self) -> Placement:
        return self if self.spec is None else Meshed(self.mesh)

    @cached_property
    def decided(self) -> Placement:
        return Meshed(self.mesh, jax.sharding.PartitionSpec()) if self.spec is None else self

    def parts(self, dimension: int) -> int:
        """Into how many pieces a dimension is cut."""
        entry = self.spec[dimension] if self.spec is not None and dimension < len(self.spec) else None
        axes = () if entry is None else entry if isinstance(entry, tuple) else (entry,)
        return math.prod(self.mesh.shape[axis] for axis in axes)

    def fitting(self, shape: tuple[int, ...]) -> Placement:
        return self if self.spec is None or len(self.spec) <= len(shape) else self.home

    def stored(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A dimension that does not divide evenly is padded with zeros until it does."""
        return tuple(-(-n // parts) * parts for n, parts in ((n, self.parts(d)) for d, n in enumerate(shape)))

    def __repr__(self) -> str:
        return f"{self.platform}{list(self.mesh.shape.items())}:{self.spec}"

    def __reduce__(self) -> tuple[Any, ...]:
        raise TypeError(f"cannot pickle a placement on a mesh of devices: {self!r}")


CPU = Placement("cpu", 0)
# The placement of arrays without elements: operations on them compute shapes and dtypes, and nothing runs.
META = Placement("meta", 0)


# For arrays from this size on, it is tested whether there is room for them.
LARGE_ARRAY_BYTES = 2**30


class OutOfMemoryError(RuntimeError):
    """An accelerator has not enough memory for what is to be computed."""


def out_of_memory(device: Any, nbytes: int) -> RuntimeError:
    """The exception that PyTorch raises where it cannot allocate so many bytes. ``device``: of JAX, or a ``Placement`` on the CPU."""
    if device.platform == "cpu":
        return RuntimeError(
            f"DefaultCPUAllocator: can't allocate memory: you tried to allocate {nbytes} bytes. Error code 12 (Cannot allocate memory)"
        )
    return OutOfMemoryError(f"CUDA out of memory. Tried to allocate {nbytes / 2**30:.2f} GiB on {device}.")


def check_countable(shape: Sequence[int], itemsize: int) -> None:
    """Raises PyTorch's error for an array whose bytes, or steps of a dimension, no integer of 64 bits can count.

    Raises:
        NotImplementedError: it has more dimensions than an array of NumPy's can have.
    """
    if len(shape) <= 64 and 0 < math.prod(shape) * itemsize < 2**63:
        return
    if len(shape) > 64:
        raise NotImplementedError(f"torchlike does not support tensors of more than 64 dimensions, here {len(shape)}")
    nbytes = 1
    for factor in (*shape, itemsize):
        nbytes *= factor
        if nbytes >= 2**64:  # also where a size of 0 follows
            break
    if nbytes >= 2**63:
        raise RuntimeError(f"Storage size calculation overflowed with sizes={list(shape)}")
    if nbytes == 0 and math.prod(max(n, 1) for n in shape[1:]) >= 2**63:
        raise RuntimeError("Stride calculation overflowed")


def check_allocation(nbytes: int, placement: Any) -> None:
    """Raises the exception of ``out_of_memory`` if the host has no room for so many bytes now."""
    if placement.platform == "cpu":
        try:
            np.empty(nbytes, np.uint8)  # no page of it is touched
        except (MemoryError, ValueError):
            raise out_of_memory(placement, nbytes) from None


def check_room(shape: Sequence[int], dtype: np.dtype[Any], placement: Any) -> None:
    """Raises PyTorch's error where an array of this shape cannot exist: for what NumPy makes before the engine sees it."""
    check_countable(shape, dtype.itemsize)
    nbytes = math.prod(shape) * dtype.itemsize
    if nbytes >= LARGE_ARRAY_BYTES:
        check_allocation(nbytes, placement)


class Aval:
    """Shape, dtype and placement of an array. Two equal ones are the same object, so hashing and comparing cost nothing."""

    __slots__ = ("shape", "dtype", "placement", "meta", "sds")

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    placement: Placement
    meta: Any  # what a higher layer keeps beside an aval: its own dtype, size and device objects
    sds: jax.ShapeDtypeStruct | None

    _interned: dict[tuple[tuple[int, ...], np.dtype[Any], Placement], Aval] = {}

    def __new__(cls, shape: tuple[int, ...], dtype: np.dtype[Any], placement: Placement = CPU) -> Aval:
        key = (shape, dtype, placement)
        self = cls._interned.get(key)
        if self is None:
            fitting = placement.fitting(shape)
            if fitting is not placement:
                return Aval(shape, dtype, fitting)
            check_countable(shape, dtype.itemsize)
            self = object.__new__(cls)
            self.shape, self.dtype, self.placement = key
            self.meta = self.sds = None
            self = cls._interned.setdefault(key, self)  # two threads may race: one of the two objects wins
        return self

    @classmethod
    def all(cls) -> list[Aval]:
        """All that there are."""
        return list(cls._interned.values())

    @property
    def nbytes(self) -> int:
        size = self.dtype.itemsize
        for n in self.shape:
            size *= n
        return size

    def plain(self) -> Aval:
        return self

    def abstract(self) -> jax.ShapeDtypeStruct:
        """The aval as a ``jax.ShapeDtypeStruct``, for tracing and compiling."""
        if self.sds is None:
            self.sds = jax.ShapeDtypeStruct(self.shape, self.dtype, sharding=self.placement.sharding)
        return self.sds

    def __repr__(self) -> str:
        return f"{self.dtype.name}[{','.join(map(str, self.shape))}]"


# The aval of a shape, a dtype and a placement, None where there is none yet.
known_aval = Aval._interned.get


class TracedAval:
    """The aval of a JAX tracer. A fresh object each time, so that no recorded trace can match it."""

    __slots__ = ("shape", "dtype", "placement", "meta")

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], placement: Placement = CPU) -> None:
        self.shape, self.dtype, self.placement, self.meta = shape, dtype, placement, None

    def plain(self) -> Aval:
        """The interned aval of this shape and dtype, under which kernels are kept."""
        return Aval(self.shape, self.dtype, self.placement)

    def abstract(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, self.dtype)

    __repr__ = Aval.__repr__


class MappedAval(TracedAval):
    """The aval of one example, where a value holds many: see ``_core/vmapped.py``. ``levels``: the mappings in progress, oldest first."""

    __slots__ = ("levels",)

    levels: tuple[Any, ...]

    @classmethod
    def of(cls, aval: Aval | TracedAval, levels: tuple[Any, ...]) -> Any:
        """The aval of an example; without levels the plain aval."""
        plain = aval.plain()
        if not levels:
            return plain
        known = levels[-1].avals
        self = known.get((plain, levels))
        if self is None:
            self = known[plain, levels] = cls(plain.shape, plain.dtype, plain.placement)
            self.levels = levels
        return self


# ---- tracing for a file: operations are then traced for no machine, and use nothing that only this process has

# No device of JAX: what would be written so for a processor's sake is not written so for this one. Kernels are kept by placement, so
# those of a file are others than those that run.
PORTABLE = Placement("portable", 0)


class _Tracing(threading.local):
    portable = False


_tracing = _Tracing()


@contextmanager
def portable() -> Iterator[None]:
    """Within it, what this thread traces by JAX is traced for a file."""
    before, _tracing.portable = _tracing.portable, True
    try:
        yield
    finally:
        _tracing.portable = before


def aval_for(aval: Aval | TracedAval) -> Aval:
    """The aval under which an operation on tracers finds its kernel."""
    if _tracing.portable:
        return Aval(aval.shape, aval.dtype, PORTABLE)
    return aval.plain()
