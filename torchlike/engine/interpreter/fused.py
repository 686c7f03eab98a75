"""Elementwise calls on large arrays of float32 in one pass: ``elements.c`` computes them block by block, on several threads.

NumPy computes each on one core, and writes each result to memory. Where the package was built without a compiler, NumPy does it.

A call joins a pass of the same shape that is still open, though other calls stand between them: it runs where the pass ends. A pass ends
before a call that reads one of its results outside of it. What is read in the pass alone is never an array. Each element goes through the
same operations, rounded in the same way, whatever shares a pass, so the bits of a result do not depend on it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import import_module
from math import prod
from typing import Any

import numpy as np

from ..places import at_places, places_of
from .rules import Compute, Parameters, ShapedDtype, seconds_of_call
from .running import NumPyCall, Overwriting

try:
    elements: Any = import_module(".elements", __package__)
except ImportError:  # built without a compiler
    elements = None


# The operations in the order of ``elements.c``.
_NAMES = (
    "add", "sub", "mul", "div", "max", "min", "neg", "abs", "square", "sqrt", "reciprocal", "exp", "log", "tanh", "erf", "logistic",
    "lt", "le", "eq", "ne", "and", "or", "xor", "not", "select", "to_float",
)  # fmt: skip
_CODES = {name: code for code, name in enumerate(_NAMES)}
# Limits of ``elements.c``, and of the calls between which a pass stays open: it holds its inputs all the while.
_MOST_REGISTERS, _MOST_INPUTS, _MOST_CALLS, _MOST_BETWEEN = 40, 16, 20, 40
FLOAT, BOOL = np.dtype(np.float32), np.dtype(bool)

# An instruction: what it computes, and of which of the inputs or of earlier instructions, which are counted on from the inputs.
_Instruction = tuple[str, tuple[int, ...]]
# Makes the instructions for a primitive of so many inputs; None where these parameters are left to NumPy.
_Steps = Callable[[Parameters, int], list[_Instruction] | None]


def _same(name: str, *order: int) -> _Steps:
    return lambda params, count: [(name, order or tuple(range(count)))]


def _power(params: Parameters, count: int) -> list[_Instruction] | None:
    """The products that JAX makes of it, in the same order."""
    steps: list[_Instruction] = []
    result, factor, remaining = -1, 0, abs(params["y"])
    while remaining:
        if remaining & 1:
            if result < 0:
                result = factor
            else:
                steps.append(("mul", (result, factor)))
                result = len(steps)
        remaining >>= 1
        if remaining:
            steps.append(("square", (factor,)))
            factor = len(steps)
    if params["y"] < 0:
        steps.append(("reciprocal", (result,)))
    return steps if steps and len(steps) < 8 else None


def _polynomial(params: Parameters, count: int) -> list[_Instruction] | None:
    steps: list[_Instruction] = []
    result = count - 1
    for coefficient in range(count - 2, 0, -1):
        steps += [("mul", (result, 0)), ("add", (count + len(steps), coefficient))]
        result = count + len(steps) - 1
    return steps if 0 < len(steps) < 16 else None


_LOOPS: dict[str, _Steps] = {
    **{name: _same(name) for name in (
        "add", "sub", "mul", "div", "max", "min", "neg", "abs", "square", "sqrt", "exp", "log", "tanh", "erf",
        "logistic", "lt", "le", "eq", "ne", "and", "or", "xor", "not",
    )},
    "add_any": _same("add"), "gt": _same("lt", 1, 0), "ge": _same("le", 1, 0), "select_n": _same("select"),
    "rsqrt": lambda params, count: [("sqrt", (0,)), ("reciprocal", (1,))],
    "clamp": lambda params, count: [("max", (1, 0)), ("min", (3, 2))],
    "integer_pow": _power, "polynomial": _polynomial, "convert_element_type": _same("to_float"),
}  # fmt: skip
# Fewer elements are left to NumPy, which then takes less than preparing a pass.
MIN_ELEMENTS = 16384
# What an element takes beside reading and writing it, for each instruction, and of functions that take longer, in seconds (measured on two
# cores).
_SECONDS_PER_INSTRUCTION = 2e-11
_SECONDS_PER_ELEMENT = {"exp": 2e-10, "log": 3e-10, "tanh": 4e-10, "erf": 4e-10, "logistic": 3e-10}


class Loop:
    """A call that a pass can contain; by itself NumPy's function.

    ``shape``: of the result. ``kinds``: the dtypes of the inputs, and of the result. ``places``: the inputs of the same shape and dtype.
    """

    __slots__ = ("function", "steps", "shape", "kinds", "places")

    def __init__(self, function: Compute, steps: Sequence[_Instruction], ins: Sequence[ShapedDtype], out: ShapedDtype):
        self.function, self.steps, self.shape = function, steps, tuple(out.shape)
        self.kinds = tuple([aval.dtype for aval in (*ins, out)])
        self.places = [n for n, aval in enumerate(ins) if (tuple(aval.shape), aval.dtype) == (self.shape, out.dtype)]

    def __call__(self, *arrays: np.ndarray) -> object:
        return self.function(*arrays)


def _takes(name: str, kinds: Sequence[np.dtype], out: np.dtype) -> bool:
    """Whether the operation of ``elements.c`` is that of the primitive for inputs and a result of these dtypes."""
    if name == "select_n":
        return len(kinds) == 3 and kinds[0] == BOOL and kinds[1] == out and out in (FLOAT, BOOL)
    if name == "convert_element_type":
        return kinds[0] == BOOL and out == FLOAT
    return {*kinds} == {BOOL if name in ("and", "or", "xor", "not") else FLOAT}


def as_loop(name: str, params: Parameters, function: Compute, ins: Sequence[ShapedDtype], out: ShapedDtype) -> Compute:
    """The function of a primitive, as a call that a pass can contain if that is possible."""
    steps = _LOOPS.get(name)
    if (
        elements is None
        or steps is None
        or prod(out.shape) < MIN_ELEMENTS
        or not _takes(name, [a.dtype for a in ins], out.dtype)
    ):
        return function
    made = steps(params, len(ins))
    return function if made is None else Loop(function, made, ins, out)


class Pass:
    """Several calls in one pass. ``cost``: about how many seconds it takes."""

    __slots__ = ("code", "shape", "kinds", "cost")

    def __init__(self, code: bytes, shape: tuple[int, ...], kinds: Sequence[np.dtype], cost: float) -> None:
        self.code, self.shape, self.kinds, self.cost = code, shape, kinds, cost

    def __call__(self, *arrays: np.ndarray, out: Any = None) -> Any:
        """``out``: memory for results of numbers; of a pass with several results, a list, which may be longer or shorter."""
        if len(self.kinds) == 1:
            result = np.empty(self.shape, self.kinds[0]) if out is None else out
            elements.run(self.code, [result], *arrays)
            return result
        left = [*(out or ())]
        results = [left.pop() if left and kind == FLOAT else np.empty(self.shape, kind) for kind in self.kinds]
        elements.run(self.code, results, *arrays)
        return results


class Pad:
    """Writes an array into a larger one of the same number. ``target``, ``source``: slices of the two that correspond.

    ``part``, ``whole``: the bytes of the two.
    """

    __slots__ = ("shape", "target", "source", "part", "whole", "of_zeros")

    def __init__(
        self, shape: tuple[int, ...], target: tuple[slice, ...], source: tuple[slice, ...], part: int, whole: int
    ) -> None:
        self.shape, self.target, self.source, self.part, self.whole = shape, target, source, part, whole
        self.of_zeros = False  # whether that number is known to be zero

    def __call__(self, x: np.ndarray, value: np.ndarray) -> np.ndarray:
        result = np.full(self.shape, value, x.dtype)
        result[self.target] = x[self.source]
        return result

    def added_to_zeros(self, x: np.ndarray) -> np.ndarray:
        """The beginning of a sum. A zero of the array has no sign then, as where it is added to the zeros of others."""
        return self.add(np.zeros(self.shape, x.dtype), x)

    def add(self, sum: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Adds the array to one of the larger size, in its place."""
        sum[self.target] += x[self.source]
        return sum

    def put_alone(self, x: np.ndarray) -> np.ndarray:
        """The beginning of a sum, whose other places are written later."""
        return self.put(np.empty(self.shape, x.dtype), x)

    def put(self, sum: np.ndarray, x: np.ndarray) -> np.ndarray:
        """Writes the array into one of the larger size, to which nothing else is added there."""
        np.add(x[self.source], 0, out=sum[self.target])  # a zero has no sign then
        return sum


# For how many bytes a pad takes the time, for each of the part and of the whole: by itself, and in each of the places above.
_BYTES_FOR_EACH: dict[object, tuple[float, float]] = {
    None: (3.0, 3.0), Pad.added_to_zeros: (2.0, 2.0), Pad.add: (3.0, 0.0), Pad.put_alone: (2.0, 1.0), Pad.put: (2.0, 0.0),
}  # fmt: skip


def seconds_of_pads(calls: Sequence[NumPyCall]) -> float:
    """About how long the pads among these calls take: those in the place of a sum take much less than those by themselves."""
    seconds = 0.0
    for function, *_ in calls:
        pad: Any = getattr(function, "__self__", function)
        if pad.__class__ is Pad:
            part, whole = _BYTES_FOR_EACH[getattr(function, "__func__", None)]
            seconds += seconds_of_call(part * pad.part + whole * pad.whole)
    return seconds


def _make_up_the_whole(pads: Sequence[Pad]) -> bool:
    """Whether each element of the larger size is one of exactly one of the smaller arrays, as of the parts of a split array."""
    if any(part.step != 1 for pad in pads for part in pad.target):
        return False
    places = [[(part.start, part.stop) for part in pad.target] for pad in pads]
    apart = all(
        any(
            end <= other_start or other_end <= start
            for (start, end), (other_start, other_end) in zip(a, b, strict=True)
        )
        for number, a in enumerate(places)
        for b in places[:number]
    )
    return apart and sum([prod([end - start for start, end in each]) for each in places]) == prod(pads[0].shape)


def _added_in_place(
    calls: Sequence[NumPyCall], readers: dict[int, list[int]], held: Collection[int]
) -> Sequence[NumPyCall]:
    """The calls, where what is padded by zeros to be added, as in the gradient of max pooling, is added to the sum in its place.

    A sum is written to only if it began as such an array itself, and if nothing else reads it. Where the arrays make up the whole, as in
    the gradient of a split, nothing need be zero first.
    """
    # By slot: the number of the call, what it calls, and the slot of the smaller array.
    made_by: dict[int, tuple[int, Pad, int]] = {}
    sums: set[int] = set()  # slots of arrays that may be written to
    changed: dict[int, NumPyCall | None] = {}
    # What is added up in a slot: the numbers of the calls that do so, what is padded there, and the slots that these calls read and write.
    parts_of: dict[int, list[tuple[int, Pad, list[int], int]]] = {}
    for number, call in enumerate(calls):
        function, inputs, output = call
        if function.__class__ is Pad and function.of_zeros and output not in held and len(readers.get(output, ())) == 1:  # pyright: ignore[reportFunctionMemberAccess]
            made_by[output] = number, function, places_of(inputs)[0]  # pyright: ignore[reportArgumentType]
            sums.add(output)
        elif function.__class__ is Loop and [*function.steps] == [("add", (0, 1))]:  # pyright: ignore[reportFunctionMemberAccess]
            first, second = places_of(inputs)
            into, padded = (first, second) if second in made_by else (second, first)
            if first == second or padded not in made_by or into not in sums:
                continue
            padding, pad, smaller = made_by.pop(padded)
            if into in made_by:
                begin, other, part = made_by.pop(into)
                changed[begin] = other.added_to_zeros, part, into
                parts_of[into] = [(begin, other, [part], into)]
            changed[padding], changed[number] = None, (pad.add, at_places([into, smaller]), output)
            parts_of[output] = [*parts_of.pop(into), (number, pad, [into, smaller], output)]
            if output not in held and len(readers.get(output, ())) == 1:
                sums.add(output)
    for parts in parts_of.values():
        if _make_up_the_whole([pad for _, pad, _, _ in parts]):
            begin, pad, (part,), into = parts[0]
            changed[begin] = pad.put_alone, part, into
            changed.update({number: (pad.put, at_places(slots), out) for number, pad, slots, out in parts[1:]})
    after = [changed.get(number, call) for number, call in enumerate(calls)]
    return [call for call in after if call is not None] if changed else calls


class _Open:
    """A pass to which calls can still be added."""

    def __init__(self, number: int) -> None:
        self.first = number
        self.inputs: dict[int, np.dtype | None] = {}  # slots, with the dtype if the input has the shape of the pass
        self.calls: list[tuple[Loop, Sequence[int], int]] = []
        self.numbers: set[int] = set()
        self.steps = 0

    def takes(self, number: int, loop: Loop) -> bool:
        return (
            number - self.first < _MOST_BETWEEN
            and len(self.calls) < _MOST_CALLS
            and len(self.inputs) + len(loop.kinds) <= _MOST_INPUTS
            and len(self.inputs) + self.steps + len(loop.kinds) + len(loop.steps) + 1 <= _MOST_REGISTERS
        )

    def add(self, number: int, loop: Loop, inputs: Sequence[int], output: int) -> None:
        made = {made for _, _, made in self.calls}
        for place, slot in enumerate(inputs):
            if slot not in made:
                whole = loop.kinds[place] if place in loop.places else None
                self.inputs[slot] = self.inputs.get(slot) or whole
        self.calls.append((loop, inputs, output))
        self.numbers.add(number)
        self.steps += len(loop.steps)

    def closed(self, is_read: Callable[[int, set[int]], bool]) -> NumPyCall | None:
        """The call that computes what is read elsewhere; None if nothing is."""
        outputs = [(output, loop.kinds[-1]) for loop, _, output in self.calls if is_read(output, self.numbers)]
        if not outputs:
            return None
        instructions: list[tuple[str, list[object]]] = []
        value_of: dict[int, object] = {slot: ("i", slot) for slot in self.inputs}
        slots = [*self.inputs]
        for loop, inputs, output in self.calls:
            first = len(instructions)
            for name, operands in loop.steps:
                count = len(inputs)
                read = [value_of[inputs[n]] if n < count else first + n - count for n in operands]
                instructions.append((name, read))
            value_of[output] = len(instructions) - 1
        named = [value_of[slot] for slot, _ in outputs]
        kinds = [kind for _, kind in outputs]
        places = tuple([n for n, slot in enumerate(slots) if FLOAT in kinds and self.inputs.get(slot) == FLOAT])
        shape = self.calls[0][0].shape
        each = sum([_SECONDS_PER_INSTRUCTION + _SECONDS_PER_ELEMENT.get(name, 0.0) for name, _ in instructions])
        nbytes = sum([kind.itemsize for kind in (*kinds, *self.inputs.values()) if kind is not None])
        cost = seconds_of_call(nbytes * prod(shape)) + each * prod(shape)
        function = Pass(_code(instructions, slots, named), shape, kinds, cost)
        picked = slots[0] if len(slots) == len(outputs) == 1 else at_places(slots)
        written = outputs[0][0] if len(outputs) == 1 else tuple([slot for slot, _ in outputs])
        return (Overwriting(function, places) if places else function), picked, written


def _code(instructions: Sequence[tuple[str, list[object]]], inputs: Sequence[int], outputs: Sequence[object]) -> bytes:
    """The code for ``elements.c``. A register is used again after the last instruction that reads it, except those of outputs."""
    register: dict[object, int] = {("i", slot): number for number, slot in enumerate(inputs)}
    last_read: dict[object, int] = {}
    for number, (_, read) in enumerate(instructions):
        last_read.update(dict.fromkeys(read, number))
    free: list[int] = []
    used = len(inputs)
    body = bytearray()
    for number, (name, read) in enumerate(instructions):
        if number not in outputs and number not in last_read:  # read by none
            continue
        if free and number not in outputs:
            register[number] = free.pop()
        else:
            register[number] = used
            used += 1
        places = [register[operand] for operand in read]
        # An instruction has three operands; of those that are not needed nothing is read, and the first one stands there.
        body += bytes([_CODES[name], register[number], *places, *places[:1] * (3 - len(places))])
        free += [
            register[operand]
            for operand in dict.fromkeys(read)
            if isinstance(operand, int) and last_read[operand] == number and operand not in outputs
        ]
    places = [register[output] for output in outputs]
    return bytes([used, len(inputs), len(outputs), *range(len(inputs)), *places]) + bytes(body)


def seconds_of_passes(calls: Sequence[NumPyCall]) -> float:
    """About how long the passes among these calls take."""
    functions = [function.function if isinstance(function, Overwriting) else function for function, *_ in calls]
    return sum([function.cost for function in functions if isinstance(function, Pass)])


def _readers(calls: Sequence[NumPyCall]) -> tuple[dict[int, list[int]], list[Sequence[int]]]:
    """The numbers of the calls that read each slot, and the slots that each call reads."""
    readers: dict[int, list[int]] = {}
    inputs_of = [[inputs] if inputs.__class__ is int else places_of(inputs) for _, inputs, _ in calls]
    for number, places in enumerate(inputs_of):
        for slot in places:
            readers.setdefault(slot, []).append(number)
    return readers, inputs_of


def fuse(calls: Sequence[NumPyCall], kept: Iterable[int]) -> Sequence[NumPyCall]:
    """The calls, with passes in the place of those that can share one. ``kept``: the slots that are read after all calls."""
    if not any(function.__class__ is Loop for function, *_ in calls):
        return calls
    held = {*kept}
    readers, inputs_of = _readers(calls)
    if any(function.__class__ is Pad for function, *_ in calls):
        calls = _added_in_place(calls, readers, held)
        readers, inputs_of = _readers(calls)

    def is_read(slot: int, by_others_than: set[int]) -> bool:
        return slot in held or any(number not in by_others_than for number in readers.get(slot, ()))

    result: list[NumPyCall] = []
    open_by_shape: dict[tuple[int, ...], _Open] = {}
    made_in: dict[int, _Open] = {}

    def close(these: Collection[_Open]) -> None:
        for one_pass in these:
            call = one_pass.closed(is_read)
            if call is not None:
                result.append(call)
            for shape in [shape for shape, found in open_by_shape.items() if found is one_pass]:
                del open_by_shape[shape]
            for *_, output in one_pass.calls:
                del made_in[output]

    for number, (function, _, output) in enumerate(calls):
        places = inputs_of[number]
        own = open_by_shape.get(function.shape) if function.__class__ is Loop else None  # pyright: ignore[reportFunctionMemberAccess]
        if own is not None and not own.takes(number, function):  # pyright: ignore[reportArgumentType]
            close([own])
            own = None
        close(list(dict.fromkeys([made_in[slot] for slot in places if slot in made_in and made_in[slot] is not own])))
        if not isinstance(function, Loop):
            result.append(calls[number])
            continue
        if own is None:
            own = open_by_shape[function.shape] = _Open(number)
        own.add(number, function, places, output)
        made_in[output] = own
    close(list(open_by_shape.values()))
    return result
