"""Storage, the one mutable object. Tensors that share memory share a storage; in-place operations put a new value into it."""

from __future__ import annotations

import functools
import gc
import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np

from ..engine.aval import Aval, MappedAval, TracedAval
from ..engine.value import Value
from .attributes import DICT, Contents, next_period
from .vmapped import Level, levels_of

if TYPE_CHECKING:
    from .node import Node

P = ParamSpec("P")
T = TypeVar("T")


class Token:
    """The base of the NumPy arrays that share a storage's memory: while it lives, a program may read and write the memory."""

    __slots__ = ("__array_interface__", "memory", "__weakref__")

    def __init__(self, memory: np.ndarray) -> None:
        self.memory = memory  # keeps it alive
        self.__array_interface__ = memory.__array_interface__


class HostMemory:
    """NumPy memory that holds a storage's contents while NumPy arrays share it."""

    __slots__ = ("array", "token", "seen", "kept")

    def __init__(self, array: np.ndarray, token: weakref.ref[Token] | None) -> None:
        self.array = array  # writable, of the shape of the storage's value
        self.token = token  # None: the array is the program's own, which may write to it at any time
        self.seen: Value | None = None  # a value with the contents of the memory when it was last read
        # The token, if the address was given out: a program may use the address while the storage lives.
        self.kept: Any = None

    @property
    def shared(self) -> bool:
        return self.token is None or self.token() is not None

    def counts_in(self, dtype: np.dtype[Any]) -> bool:
        """Whether this memory can be indexed by element for a view of this dtype: it has the dtype and is contiguous."""
        return self.array.dtype == dtype and self.array.flags.c_contiguous


class Storage(Contents):
    """A value that can be replaced, the version that counts replacements, and perhaps NumPy memory that is shared.

    Attributes:
        value: the contents. While NumPy shares the memory, ``read`` says what they are.
        version: PyTorch's version counter.
        content_version: counts also what NumPy wrote: views compare it with theirs.
        host: the memory that NumPy shares, or None.
        writes_by_index: counts the first few writes of an element, a row or a window: see ``dispatch/on_host.py``.
        writer: the rule of the autograd node of the last in-place write, for error messages.
    """

    __slots__ = ("__weakref__", *DICT)

    host: HostMemory | None

    def __init__(self, value: Value) -> None:
        self.value = value

    @property
    def root(self) -> Storage:
        """The storage that is the same object for all tensors that share memory."""
        return self

    def read(self) -> Value:
        """The current value. While NumPy shares the memory, it is compared with the memory first."""
        host = self.host
        if host is None:
            return self.value
        if not host.shared:  # no NumPy array shares it any more: an ordinary storage again
            self.host = None
        counted = host.seen
        if counted is None or not same_bits(host.array, counted.numpy()):
            self.value = host.seen = Value.on_host(host.array.copy(), self.value.aval.placement)
            self.content_version += 1
        return self.value

    def write(self, value: Value) -> None:
        """Replaces the contents, for every tensor of this storage and for NumPy arrays that share the memory."""
        if value.aval.__class__ is not Aval and _is_traced_more(value.aval, self.value.aval):
            # The storage of ``x.data`` itself lives no longer than the write.
            _traced.noted.append((weakref.ref(self.root), self.value))
        if value.array is None and value.segment is not None:
            value.segment.replace(self.value, value)
        self.value = value
        self.version += 1
        self.content_version += 1
        host = self.host
        if host is None:
            return
        if not host.shared:
            self.host = None
            return
        array = value.numpy()
        if array.shape == host.array.shape:
            np.copyto(host.array, array)
            host.seen = value
        else:  # resized: the storage gives up the old memory
            self.host = None

    def share(self) -> tuple[np.ndarray, Any]:
        """The memory as a writable NumPy array, and the object that keeps it shared as long as it lives."""
        host = self.host
        if host is not None and host.shared:
            return host.array, (host.token() if host.token is not None else host.array)
        value = self.read()
        memory = np.array(value.numpy(), copy=True, order="C")
        token = Token(memory)
        self.host = HostMemory(memory, weakref.ref(token))
        self.host.seen = value
        return memory, token

    def address(self) -> int:
        """The address of the memory. While the storage lives, the elements stay at this address, and writes to it are noticed."""
        memory, token = self.share()
        host = self.host
        assert host is not None
        host.kept = token
        return memory.__array_interface__["data"][0]

    def share_with(self, array: np.ndarray) -> None:
        """Makes the user's own array the memory of this storage (``from_numpy``)."""
        self.host = HostMemory(array, None)
        self.host.seen = self.value


class DetachedStorage(Storage):
    """The same memory with its own version counter (``Tensor.data``): autograd does not notice what is written through it."""

    __slots__ = ("of",)

    def __init__(self, of: Storage) -> None:
        self.of: Storage = of.root
        self.version = 0
        self.writer = None

    @property
    def root(self) -> Storage:
        return self.of

    # Fields of the other storage, under the names that they have in every storage.
    value = property(lambda self: self.of.value, lambda self, value: setattr(self.of, "value", value))  # pyright: ignore[reportAssignmentType]
    content_version = property(  # pyright: ignore[reportAssignmentType]
        lambda self: self.of.content_version, lambda self, number: setattr(self.of, "content_version", number)
    )
    host = property(lambda self: self.of.host, lambda self, host: setattr(self.of, "host", host))  # pyright: ignore[reportAssignmentType]


class SavedResult(Storage):
    """The memory of one of an operation's results that PyTorch's node saves.

    The node learns of the first write from here, and holds no result: each program would have to compute what a node holds.
    """

    __slots__ = ("node", "output")

    def __init__(self, value: Value, node: Node, output: int | None) -> None:
        """``output``: the number among the node's outputs, or None where a result has no gradient."""
        super().__init__(value)
        self.node, self.output = weakref.ref(node), output

    def write(self, value: Value) -> None:
        node = None if self.version else self.node()
        # Once the node is freed, or hooks have packed what it saves, it has no list.
        if node is not None and isinstance(node.watched, list):
            node.watched.append((self, 0, self.value.aval, self.output))
        super().write(value)


# Up to this size copies of two arrays are compared sooner than the arrays: NumPy's comparison takes some microseconds.
MAX_COPIED_BYTES = 2**14


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays of one shape and dtype hold the same bits: NaN equals itself, 0.0 is not -0.0."""
    if a.nbytes <= MAX_COPIED_BYTES or not (a.flags.c_contiguous and b.flags.c_contiguous):
        return a.tobytes() == b.tobytes()
    a, b = a.reshape(-1).view(np.uint8), b.reshape(-1).view(np.uint8)
    words = a.size & ~7  # eight bytes at a time: a parameter whose address is known is compared whenever it is read
    return np.array_equal(a[:words].view(np.uint64), b[:words].view(np.uint64)) and np.array_equal(a[words:], b[words:])


class _Traced(threading.local):
    def __init__(self) -> None:
        # storages that a tracer was written to, and what they held before
        self.noted: list[tuple[weakref.ref[Storage], Value]] = []


_traced = _Traced()


def _is_traced_more(new: Aval | TracedAval, old: Aval | TracedAval) -> bool:
    """Whether a storage that holds a value of the old aval must not outlive a transform once it holds one of the new aval."""
    if isinstance(new, MappedAval):
        return not set(new.levels).issubset(levels_of(old))
    return new.__class__ is TracedAval and old.__class__ is not TracedAval


def without_escapes(fn: Callable[P, T], level: Level | None = None) -> Callable[P, T]:
    """Wraps a function that runs on JAX's tracers, or on values mapped at a level: no tensor which outlives the call may hold one.

    Raises:
        RuntimeError: at the end, if one did; the tensor holds again what it held before.
    """

    @functools.wraps(fn)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        outer, _traced.noted = _traced.noted, []
        period = next_period()
        try:
            result = fn(*args, **kwargs)
            _check_escapes(level, period)
            return result
        except BaseException:
            _restore(_escaped(level, period))
            raise
        finally:
            _traced.noted = outer + _traced.noted

    return call


def _check_escapes(level: Level | None, period: int) -> None:
    if _escaped(level, period):
        gc.collect()  # a tensor in a reference cycle lives longer than its function
        if leaked := _escaped(level, period):
            _restore(leaked)
            raise RuntimeError(
                "During a transform (vmap, grad, vjp, jvp, ...), the function provided attempted to call an in-place operation that "
                "would mutate a captured Tensor. This is not supported; please rewrite the function being transformed to "
                "explicitly accept the mutated Tensor(s) as inputs."
            )


def _escaped(level: Level | None, period: int) -> list[tuple[Storage, Value]]:
    """The storages that hold what must not leave; a tensor of the function's own may hold what is mapped, since a graph may need it."""
    storages = [(reference(), value) for reference, value in _traced.noted]
    return [(s, v) for s, v in storages if s is not None and _is_of(s, level, period)]


def _is_of(storage: Storage, level: Level | None, period: int) -> bool:
    aval = storage.value.aval
    return aval.__class__ is TracedAval if level is None else storage.made_in < period and level in levels_of(aval)


def _restore(leaked: list[tuple[Storage, Value]]) -> None:
    for storage, value in reversed(leaked):
        storage.value = value
        storage.content_version += 1
