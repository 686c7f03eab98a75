"""Describes an array before it exists: shape, dtype and placement. Equal descriptions are one object, so they compare by identity."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import jax
import numpy as np

_asked: list[str | None] = []  # for which platforms JAX was asked for devices


def jax_devices(platform: str | None = None) -> list[Any]:
    """JAX's devices of a platform in this process, by default of the best one. The first call starts JAX's threads."""
    _asked[:] = (platform,)
    return jax.local_devices(backend=platform)


def started() -> bool:
    """Whether JAX was asked for devices in this process, or in one that it was forked from."""
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
        """The ``jax.sharding.Sharding``; None for ``META``, where nothing lies."""
        return None if self is META else jax.sharding.SingleDeviceSharding(self.device)

    @classmethod
    def all(cls) -> list[Placement]:
        """All that there are."""
        return list(cls._interned.values())

    def forget_device(self) -> None:
        """Looks the device up anew at its next use."""
        vars(self).pop("device", None)
        vars(self).pop("sharding", None)

    def __repr__(self) -> str:
        return f"{self.platform}:{self.index}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Placement, (self.platform, self.index)


CPU = Placement("cpu", 0)
# Where arrays have a shape and a dtype and no elements: operations on them find out what is returned, and nothing is run for it.
META = Placement("meta", 0)


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
