"""Tapes give what NumPy gives, bit by bit, and nothing where they are not known to."""

import gc
import weakref
from operator import itemgetter
from typing import Any

import numpy as np
import pytest

import torchlike as torch
from tests.engine.test_interpreter import CASES, f32
from torchlike.engine import program
from torchlike.engine.aval import Aval
from torchlike.engine.interpreter import joined, trace
from torchlike.engine.interpreter.elementwise import MIN_BLENDED
from torchlike.engine.interpreter.reductions import _along
from torchlike.engine.interpreter.shapes import reshaped
from torchlike.engine.places import at_places, places_of
from torchlike.engine.recorder import compiling

Tape: Any = joined.tape and joined.tape.Tape
pytestmark = [pytest.mark.recorded, pytest.mark.skipif(Tape is None, reason="built without a compiler")]


def tape_of(function: Any, inputs: int, outputs: int = 0) -> Any:
    """The tape of one call. ``outputs``: 0 if the function returns an array and not a sequence of them."""
    made = tuple(range(inputs, inputs + (outputs or 1)))
    call = function, at_places(range(inputs)), made if outputs else made[0]
    return Tape((None,) * (inputs + len(made)), 0, [call], made)


def same(mine: Any, other: Any) -> bool:
    """Whether arrays are the same bit by bit, but for the bits of what is not a number."""
    other = np.asarray(other)
    if (mine.shape, mine.dtype) != (other.shape, other.dtype):
        return False
    if other.dtype.kind == "f":
        mine, other = [np.where(np.isnan(each), np.nan, each) for each in (mine, other)]
    return np.asarray(mine).tobytes() == np.asarray(other).tobytes()


def laid_out(array: np.ndarray) -> list[np.ndarray]:
    """The array, and others of its shape and dtype that lie in another way: their elements are others."""
    made = [array]
    if array.ndim > 1:
        made.append(np.ascontiguousarray(array.T).T)
        made.append(np.repeat(array, 2, axis=-1)[..., ::2])
        made.append(np.concatenate([array, array], axis=-1)[..., : array.shape[-1]])
    if array.ndim:
        made.append(array[::-1].copy()[::-1])
        made.append(np.broadcast_to(array[:1], array.shape))
    return made


def computed(calls: Any, slots: list[Any]) -> Any:
    """The calls one by one, each with its inputs, computed by NumPy."""
    for function, inputs, output in calls:
        given = [slots[n] for n in ([inputs] if isinstance(inputs, int) else places_of(inputs))]
        results = function(*given)
        yield function, given, results, isinstance(output, tuple)
        for slot, result in zip(
            output if isinstance(output, tuple) else [output],
            results if isinstance(output, tuple) else [results],
            strict=True,
        ):
            slots[slot] = result


def calls_of(name: str) -> list[Any]:
    fn, *arrays = CASES[name]
    plan: Any = trace(fn, [Aval(a.shape, a.dtype) for a in arrays]).plan()
    slots = [*plan._slots]
    slots[plan._first_input : plan._first_input + len(arrays)] = arrays
    with np.errstate(all="ignore"):
        return list(computed(plan._calls, slots))


# How many of the calls of these cases have tapes; others may have one, too.
HAVE_TAPES = {
    "elementwise": 7, "shapes": 9, "reductions": 8, "reductions along dimensions of one": 3, "spread from parts": 3, "products": 4,
    "powers": 3, "rows": 1, "choice": 2,
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_tape_computes_the_bits_of_the_call(name):
    taken = 0
    for function, given, results, several in calls_of(name):
        if not all(isinstance(array, np.ndarray) for array in given) or not given:
            continue
        arrays = [np.asarray(array) for array in given]
        for number, layout in enumerate(zip(*[(*laid_out(a), *[a] * 6)[:6] for a in arrays], strict=True)):
            tape = tape_of(function, len(arrays), len(results) if several else 0)
            made = tape.run(list(layout))
            if made is None:
                assert not tape.can_run
                continue
            taken += not number
            with np.errstate(all="ignore"):
                wanted = function(*layout)
            for mine, other in zip(made, wanted if several else [wanted], strict=True):
                assert same(mine, other), (function, [(a.shape, a.strides) for a in layout])
            # Once more, with other elements: nothing of the first run may be left.
            others = [np.flip(a.copy()).reshape(a.shape) if a.dtype.kind == "f" else a for a in layout]
            again = tape.run(others)
            if again is not None:
                with np.errstate(all="ignore"):
                    wanted = function(*others)
                for mine, other in zip(again, wanted if several else [wanted], strict=True):
                    assert same(mine, other)
    assert taken >= HAVE_TAPES.get(name, 0)


@pytest.mark.parametrize("function", [np.add, np.maximum, np.minimum])
@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("shape", [(3, 5, 7), (4, 1, 300), (2, 130, 3), (1, 6, 1)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_sums_are_added_up_in_the_order_of_numpy(function, axes, shape, dtype):
    x = (np.random.default_rng(0).standard_normal(shape) * 1000).astype(dtype)
    for each in laid_out(x):
        made = tape_of(_along(function, axes), 1).run([each])
        assert made is None or same(made[0], function.reduce(each, axes))
        assert made is not None or each is not x or axes == (0, 2)


def test_a_tape_is_of_arrays_that_lie_in_one_way():
    tape, x = tape_of(np.negative, 1), f32(4, 4)
    assert same(tape.run([x])[0], -x)
    assert tape.can_run
    for other in x.T, x[::-1], x.astype(np.float64), x[:2], np.ma.masked_array(x):
        assert tape.run([other]) is None
    unaligned = np.frombuffer(bytearray(65), np.uint8)[1:].view(np.float32).reshape(4, 4)
    assert tape.run([unaligned]) is None
    assert tape.run([x.astype(x.dtype.newbyteorder())]) is None
    assert same(tape.run([x + 1])[0], -(x + 1))


def test_what_a_tape_returns_has_memory_of_its_own():
    tape = tape_of(np.negative, 1)
    first, second = tape.run([f32(4, 4)])[0], tape.run([f32(4, 4)])[0]
    assert not np.shares_memory(first, second)
    assert first.flags.owndata
    assert first.flags.writeable
    x = f32(4, 4)
    viewed = tape_of(reshaped((2, 8)), 1).run([x])[0]
    assert np.shares_memory(viewed, x)
    alive = weakref.ref(x)
    del x
    gc.collect()
    assert alive() is not None
    assert viewed.base is alive()


@pytest.mark.parametrize("index", [np.s_[1], np.s_[:, :2], np.s_[::-1], np.s_[1:3, 1:3]])
def test_a_part_that_is_returned_does_not_keep_the_whole(index):
    calls = [(np.negative, 0, 1), (itemgetter(index), 1, 2)]
    x = f32(4, 4)
    for picks in (2,), (1, 2), (2, 1, 2):
        made = Tape((None,) * 3, 0, calls, picks).run([x])
        for pick, mine in zip(picks, made, strict=True):
            assert same(mine, -x if pick == 1 else (-x)[index])
            assert mine.base is None
            assert mine.flags.c_contiguous


@pytest.mark.parametrize(
    "function",
    [
        lambda x: -x,  # it does not say what it does
        lambda x: x,
        np.frexp,  # two results
        np.linalg.inv,
    ],
)
def test_other_functions_have_no_tape(function):
    tape = tape_of(function, 1)
    assert tape.run([f32(3, 3)]) is None
    assert tape.can_run is False


@pytest.mark.parametrize("x", [f32(MIN_BLENDED + 1), f32(0, 3), f32(3) * 1j, np.array(["a"]), np.array([None])])
def test_other_arrays_have_no_tape(x):
    assert tape_of(np.add, 2).run([x, x]) is None


def test_places_are_taken_again_only_after_the_last_that_reads_them():
    """Many results of two sizes, each of which may be read again much later."""
    rng = np.random.default_rng(0)
    x = f32(6, 8)
    reshapes = [reshaped((8, 6)), reshaped((6, 8)), reshaped((2, 4, 6))]
    for _ in range(50):
        calls: list[Any] = []
        values: list[Any] = [x]
        for number in range(1, 40):
            a, b = rng.integers(0, number, 2).tolist()
            function: Any = (np.subtract, np.maximum, np.minimum, np.negative, *reshapes)[rng.integers(7)]
            places = (a,) if function is np.negative or function in reshapes else (a, b)
            if len({values[place].shape for place in places}) > 1:
                places = (a, a)
            values.append(function(*[values[place] for place in places]))
            calls.append((function, at_places(places) if len(places) > 1 else places[0], number))
        picks = (*rng.integers(0, 40, 3).tolist(), 39)
        made = Tape((None,) * 40, 0, calls, picks).run([x])
        assert made is not None
        for pick, mine in zip(picks, made, strict=True):
            assert same(mine, values[pick])


def test_a_layer_of_a_transformer_is_on_tapes_whole(monkeypatch):
    torch.manual_seed(0)
    layer = torch.nn.TransformerEncoderLayer(32, 4, 64, batch_first=True).eval()
    x = torch.randn(2, 5, 32)
    made: list[Any] = []

    class Noted(program.JoinedPlan):
        def __init__(self, steps, unread):
            super().__init__(steps, unread)
            made.append(self)

    monkeypatch.setattr(program, "_joined_steps", Noted)
    with compiling("never"), torch.no_grad():
        results = [layer(x).numpy().tobytes() for _ in range(6)]
    assert len({*results}) == 1
    assert made
    assert all(plan._tape.can_run for plan in made if plan._calls)
