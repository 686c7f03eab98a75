"""Elementwise calls on large arrays of float32 in one pass: ``elements.c`` computes them block by block, on several threads.

NumPy computes each on one core, and writes each result to memory. Where the package was built without a compiler, NumPy does it.

A call joins a pass of the same shape that is still open, though other calls stand between them: it runs where the pass ends. A pass ends
before a call that reads one of its results outside of it. What is read in the pass alone is never an array. Each element goes through the
same operations, rounded in the same way, whatever shares a pass, so the bits of a result do not depend on it.

A sum or an extreme along the last dimensions joins the pass of what it is taken of, and so do operations on the results, one for each row.
So a softmax, or a layer normalization, reads and writes its arrays once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from importlib import import_module
from math import inf, prod
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
    "floor", "ceil", "round", "sign", "is_finite", "rem", "plus_zero", "row_sum", "row_max", "row_min", "spread",
)  # fmt: skip
_CODES = {name: code for code, name in enumerate(_NAMES)}
# Limits of ``elements.c``, and of the calls between which a pass stays open: it holds its inputs all the while.
_MOST_REGISTERS, _MOST_INPUTS, _MOST_CALLS, _MOST_BETWEEN = 80, 16, 20, 40
_MOST_WITH_ROWS, _WIDEST = 64, 1024  # calls, and between them, where there are rows; elements of a row
# What is added to the code of an instruction, and to the number of a register.
_ONCE_A_ROW, _OF_ROWS = 64, 128
FLOAT, BOOL = np.dtype(np.float32), np.dtype(bool)

# An instruction: what it computes, and of which of the inputs or of earlier instructions, which are counted on from the inputs.
_Instruction = tuple[str, tuple[int, ...]]
# An instruction as the code has it: with the values that it reads, and whether it computes one element for each row.
_Named = tuple[str, list[object], bool]
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
        "logistic", "lt", "le", "eq", "ne", "and", "or", "xor", "not", "floor", "ceil", "sign", "is_finite", "rem",
    )},
    "add_any": _same("add"), "gt": _same("lt", 1, 0), "ge": _same("le", 1, 0), "select_n": _same("select"),
    "rsqrt": lambda params, count: [("sqrt", (0,)), ("reciprocal", (1,))],
    "clamp": lambda params, count: [("max", (1, 0)), ("min", (3, 2))],
    "round": lambda params, count: [("round", (0,))] if params["rounding_method"] == 1 else None,
    "integer_pow": _power, "polynomial": _polynomial, "convert_element_type": _same("to_float"),
}  # fmt: skip
_ALONG_ROWS = {"reduce_sum": "row_sum", "reduce_max": "row_max", "reduce_min": "row_min"}
_VIEWS = frozenset({"reshape", "broadcast_in_dim", "squeeze", "expand_dims"})
# What has one right result, to the sign of a zero. NumPy computes operations on few elements, so of those a pass computes only these.
_EXACT = frozenset({
    "add", "add_any", "sub", "mul", "div", "neg", "abs", "square", "integer_pow", "sqrt", "rsqrt",
    "lt", "le", "gt", "ge", "eq", "ne", "and", "or", "xor", "not", "select_n", "convert_element_type", "floor", "ceil", "round", "sign",
    "is_finite", "rem",
})  # fmt: skip
# Fewer elements are left to NumPy, which then takes less than preparing a pass.
MIN_ELEMENTS = 16384
_FEWEST_ROWS = MIN_ELEMENTS // _WIDEST
# What an element takes beside reading and writing it, for each instruction, and of functions that take longer, in seconds (measured on two
# cores).
_SECONDS_PER_INSTRUCTION = 2e-11
_SECONDS_PER_ELEMENT = {"exp": 2e-10, "log": 3e-10, "tanh": 4e-10, "erf": 4e-10, "logistic": 3e-10, "rem": 6e-10}


class Loop:
    """A call that a pass can contain; by itself NumPy's function.

    ``shape``: of the result. ``kinds``: the dtypes of the inputs, and of the result. ``places``: the inputs of the pass's shape and this
    dtype. ``whole``: the shape of the pass that it can open; () for a view, or operations on few elements, which join one that has rows.
    ``columns``: of the rows that it adds up, 0 where it does not.
    """

    __slots__ = ("function", "steps", "shape", "kinds", "places", "whole", "columns")
    taped = ("function",)

    def __init__(
        self,
        function: Compute,
        steps: Sequence[_Instruction],
        ins: Sequence[ShapedDtype],
        out: ShapedDtype,
        whole: tuple[int, ...] = (),
        columns: int = 0,
    ) -> None:
        self.function, self.steps, self.shape = function, steps, tuple(out.shape)
        self.whole, self.columns = whole, columns
        self.kinds = tuple([aval.dtype for aval in (*ins, out)])
        self.places = [n for n, aval in enumerate(ins) if (tuple(aval.shape), aval.dtype) == (whole, out.dtype)]

    def __call__(self, *arrays: np.ndarray) -> object:
        return self.function(*arrays)


def _takes(name: str, kinds: Sequence[np.dtype], out: np.dtype) -> bool:
    """Whether the operation of ``elements.c`` is that of the primitive for inputs and a result of these dtypes."""
    if name == "select_n":
        return len(kinds) == 3 and kinds[0] == BOOL and kinds[1] == out and out in (FLOAT, BOOL)
    if name == "convert_element_type":
        return kinds[0] == BOOL and out == FLOAT
    if name in _VIEWS:
        return out in (FLOAT, BOOL)
    return {*kinds} == {BOOL if name in ("and", "or", "xor", "not") else FLOAT}


def loops_from(name: str, kinds: Sequence[np.dtype], out: np.dtype) -> float:
    """For how many elements, at least, ``as_loop`` makes something of a primitive for these dtypes, unless the last size is 1.

    Infinity: for none, whatever the last size.
    """
    if (
        elements is None
        or not (name in _LOOPS or name in _ALONG_ROWS or name in _VIEWS)
        or not _takes(name, kinds, out)
    ):
        return inf
    return MIN_ELEMENTS if name in _LOOPS else 0


def as_loop(name: str, params: Parameters, function: Compute, ins: Sequence[ShapedDtype], out: ShapedDtype) -> Compute:
    """The function of a primitive, as a call that a pass can contain if that is possible."""
    steps = _LOOPS.get(name)
    if elements is None or (steps is None and name not in _ALONG_ROWS and name not in _VIEWS):
        return function
    x, shape, size = tuple(ins[0].shape), tuple(out.shape), prod(out.shape)
    if size < _FEWEST_ROWS or not _takes(name, [a.dtype for a in ins], out.dtype):
        return function
    large = size >= MIN_ELEMENTS
    if steps is not None:
        made = steps(params, len(ins)) if large or (name in _EXACT and shape[-1] == 1) else None
        return function if made is None else Loop(function, made, ins, out, shape if large else ())
    if name in _VIEWS:
        more = len(shape) - len(x)
        kept = shape == x + (1,) * more or x == shape + (1,) * -more
        if name == "reshape" and params.get("dimensions"):
            return function
        leading = name == "broadcast_in_dim" and [*params["broadcast_dimensions"]] == [*range(len(x))]
        return Loop(function, (), ins, out) if kept or (leading and large) else function
    columns = prod(x) // size
    if {*params["axes"]} != {*range(len(shape), len(x))}:
        return function
    if columns == 1 and name == "reduce_sum":
        return Loop(function, [("plus_zero", (0,))], ins, out)
    rows = 1 < columns <= _WIDEST and prod(x) >= MIN_ELEMENTS
    return Loop(function, [(_ALONG_ROWS[name], (0,))], ins, out, x, columns) if rows else function


class Pass:
    """Several calls in one pass. ``results``: dtypes and shapes. ``cost``: about how many seconds it takes."""

    __slots__ = ("code", "shape", "results", "cost")

    def __init__(
        self, code: bytes, shape: tuple[int, ...], results: Sequence[tuple[np.dtype, tuple[int, ...]]], cost: float
    ) -> None:
        self.code, self.shape, self.results, self.cost = code, shape, results, cost

    def __call__(self, *arrays: np.ndarray, out: Any = None) -> Any:
        """``out``: memory for results of numbers; of a pass with several results, a list, which may be longer or shorter."""
        if len(self.results) == 1:
            kind, shape = self.results[0]
            result = np.empty(shape, kind) if out is None else out
            elements.run(self.code, self.shape, [result], *arrays)
            return result
        left = [*(out or ())]
        results = [
            left.pop() if left and (kind, shape) == (FLOAT, self.shape) else np.empty(shape, kind)
            for kind, shape in self.results
        ]
        elements.run(self.code, self.shape, results, *arrays)
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

    def __init__(self, number: int, shape: tuple[int, ...]) -> None:
        self.first, self.shape = number, shape
        # Slots, and whether they have one element for each row; with the dtype if the input has the shape of the pass.
        self.inputs: dict[tuple[int, bool], np.dtype | None] = {}
        self.calls: list[tuple[Loop, Sequence[int], int]] = []
        self.originals: list[NumPyCall] = []
        self.numbers: set[int] = set()
        self.made: set[int] = set()
        self.rows: set[int] = set()  # of the slots that are made, those with one element for each row
        self.lead: tuple[int, ...] = ()  # the dimensions of these elements, and the same with the others, of size one
        self.kept: tuple[int, ...] = ()
        self.columns = self.steps = 0
        self.is_worth_it = False  # there is more than what is taken of rows

    def is_near(self, number: int) -> bool:
        return number - self.first < (_MOST_WITH_ROWS if self.columns else _MOST_BETWEEN)

    def takes(self, number: int, loop: Loop) -> bool:
        return (
            self.is_near(number)
            and len(self.calls) < (_MOST_WITH_ROWS if self.columns else _MOST_CALLS)
            and len(self.inputs) + len(loop.kinds) <= _MOST_INPUTS
            and len(self.inputs) + self.steps + 2 * len(loop.kinds) + len(loop.steps) + 1 <= _MOST_REGISTERS
            and (not loop.columns or not self.columns or (loop.columns, loop.shape) == (self.columns, self.lead))
        )

    def takes_rows(self, loop: Loop, inputs: Sequence[int]) -> bool:
        """Whether the call reads rows' elements of this pass, and makes such elements, or a view that repeats them."""
        own = self.made.intersection(inputs)
        if not own or not own <= self.rows or loop.columns:
            return False
        if len(inputs) > 1:  # the dimensions of others are counted from the last one
            return loop.shape == self.kept
        return loop.shape in (self.lead, self.kept) or (loop.shape == self.shape and not loop.steps)

    def add(self, number: int, loop: Loop, inputs: Sequence[int], call: NumPyCall, of_rows: bool) -> None:
        output: int = call[2]
        if loop.columns:
            self.columns, self.lead = loop.columns, loop.shape
            self.kept = loop.shape + (1,) * (len(self.shape) - len(loop.shape))
        for place, slot in enumerate(inputs):
            if slot not in self.made:
                whole = loop.kinds[place] if place in loop.places and not of_rows else None
                self.inputs[slot, of_rows] = self.inputs.get((slot, of_rows)) or whole
            elif not of_rows:
                self.steps += slot in self.rows  # it is spread
        if of_rows or loop.columns:
            self.rows.add(output)
        self.is_worth_it |= bool(loop.whole) and not of_rows and not loop.columns
        self.calls.append((loop, inputs, output))
        self.originals.append((loop.function, *call[1:]))
        self.made.add(output)
        self.numbers.add(number)
        self.steps += len(loop.steps) or 1  # a view may have to be written

    def closed(self, is_read: Callable[[int, set[int]], bool]) -> Sequence[NumPyCall]:
        """The call that computes what is read elsewhere; none if nothing is."""
        if not self.is_worth_it:
            return self.originals
        outputs = [(output, loop) for loop, _, output in self.calls if is_read(output, self.numbers)]
        if not outputs:
            return ()
        instructions, named = self._instructions(outputs)
        slots = [slot for slot, _ in self.inputs]
        results = [(loop.kinds[-1], loop.shape) for _, loop in outputs]
        over = (FLOAT, self.shape) in results
        places = tuple([n for n, kind in enumerate(self.inputs.values()) if over and kind == FLOAT])
        each = sum([_SECONDS_PER_INSTRUCTION + _SECONDS_PER_ELEMENT.get(name, 0.0) for name, *_ in instructions])
        kinds = (*[kind for kind, shape in results if shape == self.shape], *self.inputs.values())
        nbytes = sum([kind.itemsize for kind in kinds if kind is not None])
        cost = seconds_of_call(nbytes * prod(self.shape)) + each * prod(self.shape)
        function = Pass(_code(instructions, self.inputs, named, self.columns), self.shape, results, cost)
        picked = slots[0] if len(slots) == len(outputs) == 1 else at_places(slots)
        written = outputs[0][0] if len(outputs) == 1 else tuple([slot for slot, _ in outputs])
        return [((Overwriting(function, places) if places else function), picked, written)]

    def _instructions(self, outputs: Sequence[tuple[int, Loop]]) -> tuple[list[_Named], list[tuple[object, bool]]]:
        """The instructions; and by output, the value that is written, and whether it has one element for each row."""
        instructions: list[_Named] = []
        value_of: dict[int, object] = {}
        rows: set[object] = set()

        for loop, inputs, output in self.calls:
            if not loop.steps:
                value_of[output] = value_of[inputs[0]]
                continue
            of_rows = output in self.rows and not loop.columns
            values = [value_of.get(slot, (slot, of_rows)) for slot in inputs]
            first, count = len(instructions), len(inputs)
            for name, operands in loop.steps:
                instructions.append((name, [values[n] if n < count else first + n - count for n in operands], of_rows))
                if output in self.rows:
                    rows.add(len(instructions) - 1)
            value_of[output] = len(instructions) - 1
        named = [(value_of[slot], loop.shape != self.shape) for slot, loop in outputs]
        for n, (value, of_rows) in enumerate(named):
            if value in rows and not of_rows:
                named[n] = len(instructions), False
                instructions.append(("spread", [value], False))
        return instructions, named


def _code(
    instructions: Sequence[_Named],
    inputs: Iterable[tuple[int, bool]],
    named: Sequence[tuple[object, bool]],
    columns: int,
) -> bytes:
    """The code for ``elements.c``. A register is used again after the last instruction that reads it, except those of outputs."""
    register: dict[object, int] = {value: number for number, value in enumerate(inputs)}
    places = [number | (_OF_ROWS if of_rows else 0) for number, (_, of_rows) in enumerate(inputs)]
    last_read: dict[object, int] = {}
    outputs = {value for value, _ in named}
    for number, (_, read, _) in enumerate(instructions):
        last_read.update(dict.fromkeys(read, number))
    free: list[int] = []
    used = len(places)
    body = bytearray()
    for number, (name, read, of_rows) in enumerate(instructions):
        if number not in outputs and number not in last_read:  # read by none
            continue
        if free and number not in outputs:
            register[number] = free.pop()
        else:
            register[number] = used
            used += 1
        operands = [register[operand] for operand in read]
        # An instruction has three operands; of those that are not needed nothing is read, and the first one stands there.
        code = _CODES[name] | (_ONCE_A_ROW if of_rows else 0)
        body += bytes([code, register[number], *operands, *operands[:1] * (3 - len(operands))])
        free += [
            register[operand]
            for operand in dict.fromkeys(read)
            if isinstance(operand, int) and last_read[operand] == number and operand not in outputs
        ]
    written = [register[value] | (_OF_ROWS if of_rows else 0) for value, of_rows in named]
    high, low = divmod(max(columns, 1), 256)
    return bytes([used, len(places), len(written), low, high, *places, *written]) + bytes(body)


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
    if not any(function.__class__ is Loop and function.whole for function, *_ in calls):
        return calls
    held = {*kept}
    readers, inputs_of = _readers(calls)
    if any(function.__class__ is Pad for function, *_ in calls):
        calls = _added_in_place(calls, readers, held)
        readers, inputs_of = _readers(calls)
    fusing = _Fusing(held, readers)
    for number, call in enumerate(calls):
        fusing.add(number, call, inputs_of[number])
    fusing.close([*fusing.open_by_shape.values()])
    return fusing.result


class _Fusing:
    """The calls so far, and the passes that are still open. A class, since closures that call each other are garbage in a circle."""

    def __init__(self, held: set[int], readers: dict[int, list[int]]) -> None:
        self.held, self.readers = held, readers
        self.result: list[NumPyCall] = []
        self.open_by_shape: dict[tuple[int, ...], _Open] = {}
        self.made_in: dict[int, _Open] = {}
        # Calls that wait until the passes whose results they read end: those with rows, which else would end before the rest of their
        # loops.
        self.waiting: list[NumPyCall] = []
        self.waits: set[int] = set()  # for them: the slots of their results
        self.awaited: list[_Open] = []

    def is_read(self, slot: int, by_others_than: set[int]) -> bool:
        return slot in self.held or any(number not in by_others_than for number in self.readers.get(slot, ()))

    def close(self, these: Collection[_Open]) -> None:
        released = any(one_pass in self.awaited for one_pass in these)
        for one_pass in dict.fromkeys([*these, *(self.awaited if released else ())]):
            if self.open_by_shape.get(one_pass.shape) is not one_pass:
                continue
            self.result.extend(one_pass.closed(self.is_read))
            del self.open_by_shape[one_pass.shape]
            for output in one_pass.made:
                del self.made_in[output]
        if released:
            self.result.extend(self.waiting)
            for each in self.waiting, self.waits, self.awaited:
                each.clear()

    def joined(self, number: int, loop: Loop, places: Sequence[int]) -> tuple[_Open | None, bool]:
        """The open pass that a loop joins, and whether it computes one element for each row there."""
        reads = next((self.made_in[slot] for slot in places if slot in self.made_in), None)
        of_rows = reads is not None and bool(reads.columns) and reads.takes_rows(loop, places)
        own = reads if of_rows else self.open_by_shape.get(loop.whole)
        if own is None or own.takes(number, loop):
            return own, of_rows
        self.close([own])
        return None, False

    def add(self, number: int, call: NumPyCall, places: Sequence[int]) -> None:
        """Takes the next call. ``places``: the slots that it reads."""
        function, inputs, output = call
        made_in, waits, loop = self.made_in, self.waits, function if isinstance(function, Loop) else None
        if loop is None and made_in.keys().isdisjoint(places) and waits.isdisjoint(places):
            self.result.append(call)
            return
        if loop is not None and loop.whole and not waits.isdisjoint(places):
            self.close([*self.awaited])
        own, of_rows = self.joined(number, loop, places) if loop and waits.isdisjoint(places) else (None, False)
        others = list(dict.fromkeys([made_in[slot] for slot in places if slot in made_in and made_in[slot] is not own]))
        if loop is not None and (loop.whole or of_rows):
            if others:
                self.close(others)  # and those that are awaited with them, perhaps its own
                own, of_rows = self.joined(number, loop, places)
            if own is None and loop.whole:
                if loop.whole in self.open_by_shape:
                    self.close([self.open_by_shape[loop.whole]])
                own = self.open_by_shape[loop.whole] = _Open(number, loop.whole)
            if own is not None:
                own.add(number, loop, places, call, of_rows)
                made_in[output] = own
                return
        held_up = [one_pass for one_pass in others if one_pass.columns and one_pass.is_near(number)]
        self.close([one_pass for one_pass in others if one_pass not in held_up])
        call = (loop.function if loop is not None else function), inputs, output
        held_up = [one_pass for one_pass in held_up if self.open_by_shape.get(one_pass.shape) is one_pass]
        if held_up or not waits.isdisjoint(places):
            self.waiting.append(call)
            waits.update([output] if output.__class__ is int else output)
            self.awaited += [one_pass for one_pass in held_up if one_pass not in self.awaited]
        else:
            self.result.append(call)
