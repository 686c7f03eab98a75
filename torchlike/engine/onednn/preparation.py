"""Makes the record of a computation: the memory objects and primitives of oneDNN, and the order in which the handler runs them."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import byref, c_int64, c_void_p
from math import prod

from .library import Argument, Destroy, Inner, Library, Outer, Record, Stage, Step

# The numbers of oneDNN's C interface (dnnl_types.h).
DTYPES = {"float32": 3, "bfloat16": 2}
FROM, TO = 1, 17
_SCRATCHPAD, _SEVERAL = 80, 1024
_QUERY_ARGUMENT = 255
_ANY_LAYOUT, _OUTER_SCRATCHPAD = 1, 1
_UNBOUND, _ALIGNMENT = c_void_p(0), 4096

# Arguments of a primitive: their numbers in oneDNN's interface, and memory objects.
Arguments = list[tuple[int, c_void_p]]


class Preparation:
    """Collects what a record consists of. Used as a context, it destroys at its end what only the preparation needs."""

    def __init__(self, onednn: Library, key: Sequence[int], threads: int) -> None:
        """``threads``: for so many oneDNN prepares primitives."""
        self.library, self.record = onednn, Record()
        self.record.owned = []
        self.record.key, self.record.key_size = numbers(key), len(key)
        self.record.threads = threads
        self._temporary: list[tuple[Destroy, c_void_p]] = []
        self._outers: list[Outer] = []
        self._inners: list[Inner] = []
        self._stages: list[Stage] = []
        self._steps: list[Step] = []
        self._size = onednn.lib.dnnl_memory_desc_get_size
        self._size.restype = ctypes.c_size_t

    def __enter__(self) -> Preparation:
        # oneDNN makes a description for the number of threads that OpenMP would use in the calling thread.
        self._threads_before = self.library.openmp.omp_get_max_threads()
        self.library.openmp.omp_set_num_threads(self.record.threads)
        return self

    def __exit__(self, *error: object) -> None:
        self.library.openmp.omp_set_num_threads(self._threads_before)
        for destroy, handle in self._temporary:
            destroy(handle)

    def finished(self, buffers: int) -> Record:
        """The record of a computation that has so many operands and results."""
        record = self.record
        record.buffers = buffers
        record.outers, record.outer = len(self._outers), (Outer * len(self._outers))(*self._outers)
        record.inners, record.inner = len(self._inners), (Inner * len(self._inners))(*self._inners)
        record.stages, record.stage = len(self._stages), (Stage * len(self._stages))(*self._stages)
        record.step = (Step * len(self._steps))(*self._steps)
        return record

    # ---- layouts and memory

    def plain(self, shape: Sequence[int], dtype: int, strides: Sequence[int] | None = None) -> c_void_p:
        """The layout with these strides, by default those of an array whose last dimension is contiguous."""
        layout, rank = c_void_p(), len(shape)
        strides = strides or [prod(shape[i + 1 :]) for i in range(rank)]
        self.library.call(
            "dnnl_memory_desc_create_with_strides", byref(layout), rank, numbers(shape), dtype, numbers(strides)
        )
        return self._for_now("dnnl_memory_desc_destroy", layout)

    def any_layout(self, shape: Sequence[int], dtype: int) -> c_void_p:
        """Leaves the layout to oneDNN, which chooses the fastest one."""
        layout = c_void_p()
        self.library.call(
            "dnnl_memory_desc_create_with_tag", byref(layout), len(shape), numbers(shape), dtype, _ANY_LAYOUT
        )
        return self._for_now("dnnl_memory_desc_destroy", layout)

    def layout_of(self, description: c_void_p, argument: int) -> c_void_p:
        """The layout that a primitive has chosen for an argument."""
        query = self.library.lib.dnnl_primitive_desc_query_md
        query.restype = c_void_p
        return c_void_p(query(description, _QUERY_ARGUMENT, argument))

    def are_equal(self, layout: c_void_p, other: c_void_p) -> bool:
        return bool(self.library.lib.dnnl_memory_desc_equal(layout, other))

    def bytes_of(self, layout: c_void_p) -> int:
        return self._size(layout)

    def outer(self, layout: c_void_p, buffer: int, offset: int = 0) -> c_void_p:
        """A memory object over a part of an operand or result, which begins at this byte of it."""
        memory = self._memory(layout)
        self._outers.append(Outer(memory, buffer, offset))
        return memory

    def inner(self, layout: c_void_p) -> c_void_p:
        """A memory object over memory that nobody else uses while the record is computed."""
        memory = self._memory(layout)
        self._inners.append(Inner(memory, self.record.bytes))
        self.record.bytes += aligned(self._size(layout))
        return memory

    def _memory(self, layout: c_void_p) -> c_void_p:
        memory = c_void_p()
        self.library.call("dnnl_memory_create", byref(memory), layout, self.library.engine, _UNBOUND)
        return self._kept("dnnl_memory_destroy", memory)

    # ---- primitives

    def attributes(self) -> c_void_p:
        """The attributes of every primitive: its scratchpad lies in the arena."""
        attributes = c_void_p()
        self.library.call("dnnl_primitive_attr_create", byref(attributes))
        self.library.call("dnnl_primitive_attr_set_scratchpad_mode", attributes, _OUTER_SCRATCHPAD)
        return self._for_now("dnnl_primitive_attr_destroy", attributes)

    def describe(self, function: str, *arguments: object, keep: bool = True) -> c_void_p:
        """Describes a primitive; ``keep``: it is executed later."""
        description = c_void_p()
        self.library.call(function, byref(description), *arguments)
        return (self._kept if keep else self._for_now)("dnnl_primitive_desc_destroy", description)

    def step(self, description: c_void_p, arguments: Arguments, chain: int = 0) -> Step:
        """Executes a primitive, in one of the chains of its stage."""
        scratchpad = self.layout_of(description, _SCRATCHPAD)
        if self._size(scratchpad):
            arguments = [*arguments, (_SCRATCHPAD, self.inner(scratchpad))]
        array = (Argument * len(arguments))(*[Argument(number, memory) for number, memory in arguments])
        return Step(description, self.library.stream(chain), len(arguments), array)

    def reorder(self, source: c_void_p, read: c_void_p, target: c_void_p, written: c_void_p, chain: int = 0) -> Step:
        """Copies between two memory objects of these layouts."""
        engine = self.library.engine
        description = self.describe(
            "dnnl_reorder_primitive_desc_create", source, engine, target, engine, self.attributes()
        )
        return self.step(description, [(FROM, read), (TO, written)], chain)

    def sum(self, layout: c_void_p, terms: Sequence[c_void_p], total: c_void_p, chain: int = 0) -> Step:
        """Adds memory objects of the same layout."""
        count = len(terms)
        layouts, ones = (c_void_p * count)(*[layout] * count), (ctypes.c_float * count)(*[1.0] * count)
        description = self.describe(
            "dnnl_sum_primitive_desc_create", self.library.engine, layout, count, ones, layouts, self.attributes()
        )
        return self.step(description, [*((_SEVERAL + n, term) for n, term in enumerate(terms)), (TO, total)], chain)

    def stage(self, chains: Sequence[Sequence[Step]], threads: int = 1) -> None:
        """Appends chains of steps, all of the same length. Where there are several threads, they run at the same time."""
        if chains and chains[0]:
            self._stages.append(Stage(len(chains), len(chains[0]), min(threads, len(chains))))
            self._steps += [step for chain in chains for step in chain]

    # ---- what is destroyed

    def _kept(self, destroy: str, handle: c_void_p) -> c_void_p:
        self.record.owned.append((getattr(self.library.lib, destroy), handle))
        return handle

    def _for_now(self, destroy: str, handle: c_void_p) -> c_void_p:
        self._temporary.append((getattr(self.library.lib, destroy), handle))
        return handle


def aligned(size: int) -> int:
    """This size or a little more, so that what lies behind begins on a page of its own."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def numbers(values: Sequence[int]) -> ctypes.Array[c_int64]:
    return (c_int64 * len(values))(*values)
