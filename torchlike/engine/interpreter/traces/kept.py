"""Traces that earlier processes have kept: as bytes they are the primitives of their calls, from which rules make the same calls again."""

from __future__ import annotations

import marshal
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from jax import Array
from jax.extend.core import ClosedJaxpr, Jaxpr
from jax.sharding import NamedSharding

from ...disk.coded import ABSENT, NotKept, coded, value_of
from ...disk.traces import Place, store
from ..plan import Builder
from ..rules import Parameters, ShapedDtype
from ..tracing import Traced, trace
from .generic import Generic, Shaped

_JAXPRS = frozenset((Jaxpr, ClosedJaxpr))


def found_or_traced(
    name: str, key: object, fn: Callable[..., Sequence[Array]], avals: Sequence[ShapedDtype]
) -> tuple[Traced, type]:
    """The trace of a function, as an earlier process has kept it or else made and kept now; and the ``kind`` that it has set itself.

    Args:
        name: of what is traced; empty if it depends on more than this package's files and the key.
        key: everything that it depends on besides its name and the ``settings`` of ``disk/traces.py``.
    """
    place = store.place(name, key) if name else None
    content = None if place is None else store.find(place)
    if content is not None:
        with suppress(NotKept):
            return restored(content)
    traced = trace(fn, avals)
    kind = getattr(fn, "kind", tuple)
    if place is not None:
        store.keep(place, partial(as_bytes, traced, kind))
    return traced, kind


# How many traces of one function are kept that hold for several sizes. Each holds for those for which it has decided the same.
_MAX_GENERIC = 4
_NEVER = b""  # stands for a function of which no such trace can be made


class GenericPlace:
    """Where a trace of a function is kept that holds for several sizes.

    Attributes:
        found: whether an earlier process has kept one that holds for the sizes, or has found out that there is none.
        generic: this trace.
        confirmed: the sizes for which it was compared with a trace for these sizes alone.
    """

    __slots__ = ("_place", "found", "generic", "confirmed")

    def __init__(self, name: str, key: object, holds: Callable[[Generic], bool]) -> None:
        self._place: Place | None = None
        self.found, self.generic, self.confirmed = False, None, list[tuple[int, ...]]()
        for number in range(_MAX_GENERIC if name else 0):
            self._place = store.place(name, "generic", number, key)
            content = None if self._place is None else store.find(self._place)
            if content is None:
                return
            with suppress(NotKept):
                confirmed, generic = (), None
                if content != _NEVER:
                    confirmed, generic = _generic_of(content)
                if generic is None or holds(generic):
                    self.found, self.generic, self.confirmed = True, generic, [*confirmed]
                    return
        self._place = None  # all are taken

    def keep(self, generic: Generic | None) -> None:
        """Keeps a trace there, with what ``confirmed`` holds. None: that there is none."""
        if self._place is not None:
            make = (lambda: _NEVER) if generic is None else partial(_as_bytes, [*self.confirmed], generic)
            store.keep(self._place, make)


def _as_bytes(confirmed: list[tuple[int, ...]], generic: Generic) -> bytes:
    if not generic.flat:
        raise NotKept("a call of a jaxpr")
    return marshal.dumps((confirmed, coded(generic.parts(_without_shardings))))


def _generic_of(content: bytes | memoryview) -> tuple[list[tuple[int, ...]], Generic]:
    confirmed, code = marshal.loads(content)
    return confirmed, Generic.of_parts(value_of(code))


def _without_shardings(params: Parameters) -> dict[str, object]:
    """Parameters without how a result is spread over devices: NumPy has none."""
    return {name: ABSENT if value.__class__ is NamedSharding else value for name, value in params.items()}


def _without_jaxprs(params: Parameters) -> dict[str, object]:
    """The same, without jaxprs: few rules ask for one, such as the function of a scatter. Those are told that it is not there."""
    return {name: ABSENT if value.__class__ in _JAXPRS else value for name, value in _without_shardings(params).items()}


def as_bytes(traced: Traced, kind: type) -> bytes:
    """A trace, and the class of the function's result.

    Raises:
        NotKept: it has parts that have no such form, or XLA alone computes it.
    """
    builder, outputs = traced.parts
    if builder.missing is not None:
        raise NotKept(builder.missing)
    numbers: dict[tuple[tuple[int, ...], np.dtype], int] = {}

    def number(aval: ShapedDtype) -> int:
        return numbers.setdefault((aval.shape, aval.dtype), len(numbers))

    calls: list[Any] = []
    first: dict[int, int] = {}  # by the identity of what a call was made of, the number of the first such call
    for (_, inputs, output, _), applied in zip(builder.calls, builder.applied, strict=True):
        if applied is None:
            calls.append((inputs, output))
        elif id(applied) in first:
            calls.append((inputs, first[id(applied)]))
        else:
            first[id(applied)] = len(calls)
            name, params, ins, outs, several = applied
            parameters = coded(_without_jaxprs(params))
            calls.append((inputs, name, parameters, tuple(map(number, ins)), tuple(map(number, outs)), several))
    outs = tuple(map(number, traced.outs))
    avals = [(shape, coded(dtype)) for shape, dtype in numbers]
    constants = [*map(coded, builder.constants)]
    return marshal.dumps((builder.inputs, avals, constants, outputs, outs, coded(kind), calls))


def restored(content: bytes | memoryview) -> tuple[Traced, type]:
    """The trace of these bytes, and the class of the function's result.

    Raises:
        NotKept: a rule asks for what is not kept, or does not compute it here.
    """
    inputs, avals, constants, outputs, outs, kind, calls = marshal.loads(content)
    kinds = [Shaped(shape, value_of(dtype)) for shape, dtype in avals]
    builder = Builder(inputs)
    builder.constants = [*map(value_of, constants)]
    for references, *rest in calls:
        if len(rest) == 1:
            other = rest[0]
            builder.again(other, references) if isinstance(other, int) else builder.tie(other, references)
            continue
        name, parameters, ins, outs_of, several = rest
        params = value_of(parameters)
        builder.call(name, params, references, [kinds[n] for n in ins], [kinds[n] for n in outs_of], several)
    if builder.missing is not None:  # a rule looks at what is installed
        raise NotKept(builder.missing)
    return Traced(builder, outputs, [kinds[n] for n in outs]), value_of(kind)
