"""Prepares convolutions for oneDNN: creates the primitives and memory objects for given sizes."""

from __future__ import annotations

import ctypes
import functools
import threading
from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from math import prod

import numpy as np

from ..geometry import Geometry
from .library import Argument, Destroy, Failure, Inner, Library, Record, library

# The numbers of oneDNN's C interface (dnnl_types.h).
_KINDS = {"y": 0, "x": 1, "w": 2}
_DTYPES = {"float32": 3, "bfloat16": 2}
_ANY_LAYOUT, _TRAINING, _DIRECT, _OUTER_SCRATCHPAD = 1, 64, 1, 1
_FROM, _TO, _SCRATCHPAD = 1, 17, 80
_QUERY_SCRATCHPAD = 136
# For each result: the numbers of the three arrays as arguments of a primitive, and in queries about layouts.
_ARGUMENTS = {
    "y": {"x": 1, "w": 33, "y": 17},
    "x": {"x": 129, "w": 33, "y": 145},
    "w": {"x": 1, "w": 161, "y": 145},
}
_QUERIES = {
    "y": {"x": 129, "w": 131, "y": 133},
    "x": {"x": 130, "w": 131, "y": 134},
    "w": {"x": 129, "w": 132, "y": 134},
}
_UNBOUND, _ALIGNMENT = c_void_p(0), 4096

# How many records that no program calls are kept, at some ten kilobytes each; the least recently used are dropped.
RECORDS_KEPT = 512
# A convolution of fewer multiplications runs on one thread. It takes 20 to 40 us; two threads are not faster, and may wait for each other.
# The gradient of the kernels always uses PyTorch's number of threads, because its sum over images depends in the last bits on that number.
SHARED_FROM = 1_000_000

_entered: dict[tuple[Geometry, np.dtype], dict[int, Record]] = {}  # records that programs call, by number of threads
_threads = [0]  # set by the program; 0: OpenMP's default
_lock = threading.Lock()


def key_of(geometry: Geometry, dtype: np.dtype) -> np.ndarray:
    """Describes a computation completely by numbers. The handler finds its record by them."""
    kind, shapes = _KINDS[geometry.result], (geometry.x, geometry.w, geometry.y)
    steps = (geometry.stride, geometry.before, geometry.dilation)
    numbers = [kind, _DTYPES[dtype.name], geometry.groups, len(geometry.stride)]
    return np.array(numbers + [n for sizes in (*shapes, *steps) for n in sizes], np.int64)


def record_of(geometry: Geometry, dtype: np.dtype) -> Record | None:
    """Returns the record of a computation, or None if oneDNN is not installed or does not implement it."""
    if library() is None or dtype.name not in _DTYPES or 0 in (*geometry.x, *geometry.w, *geometry.y):
        return None
    return _prepared(geometry, dtype, _threads[0])


@functools.lru_cache(maxsize=RECORDS_KEPT)
def _prepared(geometry: Geometry, dtype: np.dtype, threads: int) -> Record | None:
    onednn = library()
    assert onednn is not None
    try:
        return _Preparation(onednn, geometry, dtype, threads).record
    except Failure:
        return None


def enter(geometry: Geometry, dtype: np.dtype) -> bool:
    """Makes a computation callable by programs. Returns False if oneDNN cannot compute it or the table is full."""
    onednn, record = library(), record_of(geometry, dtype)
    if onednn is None or record is None:
        return False
    with _lock:
        by_threads = _entered.setdefault((geometry, dtype), {})
        # A record is made for a number of threads. After ``set_threads`` the program calls another one.
        if _threads[0] not in by_threads:
            if not onednn.enter(record):
                return False
            by_threads[_threads[0]] = record
    return True


def compute(record: Record, operands: Sequence[np.ndarray], result: np.ndarray) -> None:
    """Computes a record from contiguous arrays."""
    onednn = library()
    assert onednn is not None
    onednn.run(record, [array.ctypes.data for array in (*operands, result)])


def set_threads(number: int) -> None:
    """Sets the number of threads of all computations, those that programs call included."""
    with _lock:
        _threads[0] = number
        onednn = library() if _entered else None
        if onednn is not None:
            for (geometry, dtype), by_threads in _entered.items():
                record = by_threads.get(number) or _prepared(geometry, dtype, number)
                if record is not None and onednn.enter(record):
                    by_threads[number] = record


class _Preparation:
    """Makes one record: oneDNN chooses the layouts, and operands in other layouts are reordered first."""

    def __init__(self, onednn: Library, geometry: Geometry, dtype: np.dtype, threads: int) -> None:
        self.library, self.geometry, self.dtype = onednn, geometry, _DTYPES[dtype.name]
        self.record = Record()
        self.record.owned = []
        self.temporary: list[tuple[Destroy, c_void_p]] = []
        key = key_of(geometry, dtype)
        self.record.key, self.record.key_size = (c_int64 * len(key))(*key.tolist()), len(key)
        before = onednn.openmp.omp_get_max_threads()
        is_small = geometry.result != "w" and geometry.products < SHARED_FROM
        self.record.threads = 1 if is_small else threads or before
        # oneDNN makes a description for the number of threads that OpenMP would use in the calling thread.
        onednn.openmp.omp_set_num_threads(self.record.threads)
        try:
            self._fill()
        finally:
            onednn.openmp.omp_set_num_threads(before)
            for destroy, handle in self.temporary:
                destroy(handle)

    def _fill(self) -> None:
        geometry, record = self.geometry, self.record
        description = self._description()
        names = (*geometry.operands, geometry.result)
        arguments: list[tuple[int, c_void_p]] = []
        into: list[
            tuple[c_void_p, c_void_p, c_void_p, c_void_p]
        ] = []  # the layouts and the memory objects, both from and to
        out_of: list[tuple[c_void_p, c_void_p, c_void_p, c_void_p]] = []
        for place, name in enumerate(names):
            plain = self._layout(self._sizes(name), strided=True)
            best_layout = self._query(description, _QUERIES[geometry.result][name])
            outer = self._memory(plain)
            record.outer[place] = outer
            # Operands that have the layout already are read where they are, without a copy.
            inner = outer
            if not self.library.lib.dnnl_memory_desc_equal(plain, best_layout):
                inner = self._in_arena(best_layout)
                if name == geometry.result:
                    out_of.append((best_layout, inner, plain, outer))
                else:
                    into.append((plain, outer, best_layout, inner))
            arguments.append((_ARGUMENTS[geometry.result][name], inner))
        record.operands = len(names)
        for reorder in into:
            self._reorder(*reorder)
        self._step(description, arguments)
        for reorder in out_of:
            self._reorder(*reorder)

    def _description(self) -> c_void_p:
        """Describes the convolution. oneDNN chooses the fastest layouts."""
        geometry, call, engine = self.geometry, self.library.call, self.library.engine
        x, w, y = (self._layout(self._sizes(name)) for name in "xwy")
        numbers = [_numbers(n) for n in (
            geometry.stride, [d - 1 for d in geometry.dilation], geometry.before, geometry.after,
        )]  # fmt: skip
        forward, attributes = c_void_p(), self._attributes()
        owned, temporary, destroy = self.record.owned, self.temporary, self.library.lib.dnnl_primitive_desc_destroy
        create = "dnnl_convolution_{}_primitive_desc_create"
        call(create.format("forward"), byref(forward), engine, _TRAINING, _DIRECT, x, w, None, y, *numbers, attributes)
        # The gradients need the description of the forward pass only while theirs is made.
        (owned if geometry.result == "y" else temporary).append((destroy, forward))
        if geometry.result == "y":
            return forward
        backward = c_void_p()
        if geometry.result == "x":
            call(
                create.format("backward_data"), byref(backward), engine, _DIRECT, x, w, y, *numbers, forward, attributes
            )
        else:
            call(
                create.format("backward_weights"),
                byref(backward),
                engine,
                _DIRECT,
                x,
                w,
                None,
                y,
                *numbers,
                forward,
                attributes,
            )
        owned.append((destroy, backward))
        return backward

    def _sizes(self, name: str) -> tuple[int, ...]:
        """Returns the shape in oneDNN's convention: weights of several groups have one more dimension, for the groups."""
        geometry, shape = self.geometry, self.geometry.shape(name)
        grouped = name == "w" and geometry.groups > 1
        return (geometry.groups, shape[0] // geometry.groups, *shape[1:]) if grouped else shape

    def _layout(self, shape: tuple[int, ...], strided: bool = False) -> c_void_p:
        layout, rank = c_void_p(), len(shape)
        if strided:
            strides = _numbers([prod(shape[i + 1 :]) for i in range(rank)])
            self.library.call(
                "dnnl_memory_desc_create_with_strides", byref(layout), rank, _numbers(shape), self.dtype, strides
            )
        else:
            self.library.call(
                "dnnl_memory_desc_create_with_tag", byref(layout), rank, _numbers(shape), self.dtype, _ANY_LAYOUT
            )
        self.temporary.append((self.library.lib.dnnl_memory_desc_destroy, layout))
        return layout

    def _attributes(self) -> c_void_p:
        attributes = c_void_p()
        self.library.call("dnnl_primitive_attr_create", byref(attributes))
        self.library.call("dnnl_primitive_attr_set_scratchpad_mode", attributes, _OUTER_SCRATCHPAD)
        self.temporary.append((self.library.lib.dnnl_primitive_attr_destroy, attributes))
        return attributes

    def _query(self, description: c_void_p, what: int) -> c_void_p:
        query = self.library.lib.dnnl_primitive_desc_query_md
        query.restype = c_void_p
        return c_void_p(query(description, what, 0))

    def _memory(self, layout: c_void_p) -> c_void_p:
        memory = c_void_p()
        self.library.call("dnnl_memory_create", byref(memory), layout, self.library.engine, _UNBOUND)
        self.record.owned.append((self.library.lib.dnnl_memory_destroy, memory))
        return memory

    def _in_arena(self, layout: c_void_p) -> c_void_p:
        memory, record = self._memory(layout), self.record
        size = self.library.lib.dnnl_memory_desc_get_size
        size.restype = ctypes.c_size_t
        record.inner[record.inners] = Inner(memory, record.bytes)
        record.inners += 1
        record.bytes += -(-size(layout) // _ALIGNMENT) * _ALIGNMENT
        return memory

    def _reorder(self, source: c_void_p, read: c_void_p, target: c_void_p, written: c_void_p) -> None:
        description, engine = c_void_p(), self.library.engine
        self.library.call(
            "dnnl_reorder_primitive_desc_create", byref(description), source, engine, target, engine, self._attributes()
        )
        self.record.owned.append((self.library.lib.dnnl_primitive_desc_destroy, description))
        self._step(description, [(_FROM, read), (_TO, written)])

    def _step(self, description: c_void_p, arguments: list[tuple[int, c_void_p]]) -> None:
        scratchpad = self._query(description, _QUERY_SCRATCHPAD)
        size = self.library.lib.dnnl_memory_desc_get_size
        size.restype = ctypes.c_size_t
        if size(scratchpad):
            arguments = [*arguments, (_SCRATCHPAD, self._in_arena(scratchpad))]
        step = self.record.step[self.record.steps]
        self.record.steps += 1
        step.description, step.count = description, len(arguments)
        for place, (argument, memory) in enumerate(arguments):
            step.arguments[place] = Argument(argument, memory)


def _numbers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)
