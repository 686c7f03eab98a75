"""Runs NumPy calls over a list of slots, and lets go of each array after its last use.

A large result is written over an input that nobody reads any more. Whether that is so is not derived from what functions do: some return
a part of their input, or the input itself, and inputs come from anywhere. The references to the array are counted when the call is due.
Each way to reach the memory is such a reference: a view, a buffer or a DLPack capsule holds one to the array, and so does another value,
another segment, or a variable of the program's.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from sys import getrefcount
from typing import Any
from weakref import getweakrefcount

import numpy as np

from ..places import places_of
from .rules import Compute

# A call: the function; the slot of its one input, or a function that picks several inputs from the slots; the slot or slots of its outputs.
NumPyCall = tuple[Compute, Any, Any]
# The same with the slots over which the result may be written, and those that no later call reads.
EndingCall = tuple[Compute, Any, Any, tuple[int, ...], tuple[int, ...]]


class Overwriting:
    """A function of NumPy that can write its result over one of its inputs. ``places``: those of the result's shape and dtype."""

    __slots__ = ("function", "places")
    taped = ("function",)

    def __init__(self, function: Compute, places: tuple[int, ...]) -> None:
        self.function, self.places = function, places

    def __call__(self, *arrays: np.ndarray) -> object:
        return self.function(*arrays)


def needed_for(slots: Iterable[int], calls: Iterable[NumPyCall]) -> list[NumPyCall]:
    """The calls on which what stands in these slots depends, in order. No call does anything but compute its results."""
    read, needed = {*slots}, list[NumPyCall]()
    for call in reversed([*calls]):
        _, inputs, output = call
        if not read.isdisjoint([output] if output.__class__ is int else output):
            read.update([inputs] if inputs.__class__ is int else places_of(inputs))
            needed.append(call)
    return needed[::-1]


def with_ends(calls: Sequence[NumPyCall], kept: Iterable[int]) -> tuple[EndingCall, ...]:
    """The calls, each with the slots that end with it. ``kept``: the slots that are read after all calls, or hold constants."""
    used_later, ending = {*kept}, list[EndingCall]()
    for function, inputs, output in reversed(calls):
        places = [inputs] if inputs.__class__ is int else places_of(inputs)
        done = {*places, *([output] if output.__class__ is int else output)} - used_later
        used_later |= done
        over: Collection[int] = ()
        if function.__class__ is Overwriting:
            over = dict.fromkeys([places[i] for i in function.places if places[i] in done])  # pyright: ignore[reportFunctionMemberAccess]
            function = function.function  # pyright: ignore[reportFunctionMemberAccess]
        ending.append((function, inputs, output, tuple(over), tuple(done)))
    return tuple(reversed(ending))


def run(slots: list[Any], calls: Sequence[EndingCall]) -> None:
    """Runs the calls. Nothing here may keep an array beyond its last use: no variable holds one."""
    for function, inputs, output, over, done in calls:
        place = _free_place(slots, over) if over else -1
        if place >= 0:
            if output.__class__ is not int:
                _enter(slots, output, _over_free_places(slots, function, inputs, over))
            elif inputs.__class__ is int:
                slots[output] = function(slots[inputs], out=slots[place])
            else:
                slots[output] = function(*inputs(slots), out=slots[place])
        elif output.__class__ is int:
            slots[output] = function(slots[inputs]) if inputs.__class__ is int else function(*inputs(slots))
        else:
            _enter(slots, output, function(slots[inputs]) if inputs.__class__ is int else function(*inputs(slots)))
        for slot in done:
            slots[slot] = None


def _enter(slots: list[object], places: tuple[int, ...], results: Any) -> None:
    for slot, result in zip(places, results, strict=True):
        slots[slot] = result


def _over_free_places(slots: list[Any], function: Any, inputs: Any, over: tuple[int, ...]) -> Any:
    """Calls a function of several results. The places are looked at before its arguments are picked, which are references too."""
    free = [slots[place] for place in over if is_alone(slots, place)]
    return function(*inputs(slots), out=free)


def _free_place(slots: list[object], places: tuple[int, ...]) -> int:
    """The first of these slots whose array nobody else can reach; -1 if there is none."""
    for place in places:
        if is_alone(slots, place):
            return place
    return -1


def is_alone(slots: list[Any], place: int) -> bool:
    """Whether this entry of the list is the only way to reach an array and its memory, which may be written to."""
    if _references(slots, place) != _ALONE:
        return False
    array = slots[place]
    if array.__class__ is not np.ndarray or not array.flags.c_contiguous or not array.flags.writeable:
        return False
    if getweakrefcount(array):
        return False
    base = array.base
    if base is None:
        return array.flags.owndata
    return (
        base.__class__ is np.ndarray
        and base.base is None
        and base.flags.owndata
        and base.flags.writeable
        and not getweakrefcount(base)
        and _references_of_base(slots, place) == _ALONE_AS_BASE + 1  # the variable of this function
    )


def _references(slots: list[object], place: int) -> int:
    return getrefcount(slots[place])


def _references_of_base(slots: list[Any], place: int) -> int:
    return getrefcount(slots[place].base)


# What these functions return where there is nothing but the list. They differ with Python's version, and where this file is compiled.
_ALONE = _references([np.empty(1)], 0)
_ALONE_AS_BASE = _references_of_base([np.empty(2).reshape(1, 2)], 0)
