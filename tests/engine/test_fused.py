"""Elementwise calls in one pass: every operation, layouts of operands, what may be written over, threads; and reductions."""

import functools
import multiprocessing
import operator
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from torchlike.engine.aval import Aval
from torchlike.engine.interpreter import Plan, fused, reductions, sharing, trace

pytestmark = [
    pytest.mark.uncompiled,
    pytest.mark.skipif(fused.elements is None, reason="the package was built without a compiler"),
]
SHAPE = 130, 257  # no multiple of a block or of a vector
RNG = np.random.default_rng(0)
SPECIAL = np.array(
    [0, -0.0, np.inf, -np.inf, np.nan, 1e-40, -1e-40, 88.7, 88.8, -87.4, -103.9, -104.5, 3e38, 1, -1], np.float32
)

ONE = {
    "neg": lax.neg, "abs": lax.abs, "square": lax.square, "sqrt": lax.sqrt, "rsqrt": lax.rsqrt, "exp": lax.exp, "log": lax.log,
    "tanh": lax.tanh, "erf": lax.erf, "logistic": lax.logistic, "cube": lambda x: lax.integer_pow(x, 3),
    "fifth power": lambda x: lax.integer_pow(x, 5), "inverse square": lambda x: lax.integer_pow(x, -2),
    "clamp": lambda x: lax.clamp(np.float32(-0.5), x, np.float32(0.75)), "floor": lax.floor, "ceil": lax.ceil, "sign": lax.sign,
    "round": lambda x: lax.round(x * 2, lax.RoundingMethod.TO_NEAREST_EVEN), "is finite": lax.is_finite,
}  # fmt: skip
TWO = {
    "add": lax.add, "sub": lax.sub, "mul": lax.mul, "div": lax.div, "max": lax.max, "min": lax.min, "lt": lax.lt, "le": lax.le,
    "gt": lax.gt, "ge": lax.ge, "eq": lax.eq, "ne": lax.ne, "select": lambda x, y: lax.select(x > y, x, y),
    "and": lambda x, y: (x > y) & (x < 1), "or": lambda x, y: (x > y) | (x < 1), "xor": lambda x, y: (x > y) ^ (x < 1),
    "not": lambda x, y: ~(x > y), "rem": lax.rem, "to float": lambda x, y: lax.convert_element_type(x > y, np.float32),
}  # fmt: skip
# Functions of which NumPy and we have approximations of our own; in units of the last place.
APART = {"exp": 3, "log": 4, "tanh": 4, "erf": 2, "logistic": 4, "rsqrt": 2}


def plan_of(function: Callable[..., Any], *arrays: np.ndarray) -> Plan:
    return trace(lambda *args: tuple(function(*args)), [Aval(a.shape, a.dtype) for a in arrays]).plan()


def by_numpy(monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    """The same where the package was built without a compiler."""
    with monkeypatch.context() as without:
        for module in (fused, reductions):
            without.setattr(module, "elements", None)
        with np.errstate(all="ignore"):
            return plan_of(function, *arrays)(*arrays)


def numbers(*shape: int) -> np.ndarray:
    array = (RNG.standard_normal(shape) * 3).astype(np.float32)
    flat = array.reshape(-1)
    flat[: min(len(flat), len(SPECIAL))] = SPECIAL[: len(flat)]
    return array


def passes(plan: Plan) -> list[fused.Pass]:
    calls = plan._ending_calls or ()
    return [call[0] for call in calls if isinstance(call[0], fused.Pass)]


@pytest.mark.parametrize("name", ONE)
def test_functions_of_one_number(name, monkeypatch):
    x = numbers(*SHAPE)
    plan = plan_of(lambda x: [ONE[name](x)], x)
    assert len(passes(plan)) == 1
    (ours,), (expected,) = plan(x), by_numpy(monkeypatch, lambda x: [ONE[name](x)], x)
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(np.isnan(ours), np.isnan(expected))
    exact = np.isinf(expected) | (expected == 0)
    np.testing.assert_array_equal(ours[exact], expected[exact])
    rest = ~exact & ~np.isnan(expected)
    distance = np.abs(ours[rest].astype(np.float64) - expected[rest]) / np.spacing(np.abs(expected[rest]))
    assert distance.max() <= APART.get(name, 0)


@pytest.mark.parametrize("name", TWO)
def test_functions_of_two_numbers(name, monkeypatch):
    x, y = numbers(*SHAPE), RNG.permuted(numbers(*SHAPE).reshape(-1)).reshape(SHAPE)
    y[::7] = x[::7]
    plan = plan_of(lambda x, y: [TWO[name](x, y)], x, y)
    assert len(passes(plan)) == 1
    (ours,), (expected,) = plan(x, y), by_numpy(monkeypatch, lambda x, y: [TWO[name](x, y)], x, y)
    assert ours.dtype == expected.dtype
    np.testing.assert_array_equal(ours, expected)


def test_remainders_are_exact(monkeypatch):
    """Of numbers of every size, and of multiples and their neighbours, whose quotient is nearly a whole number."""
    bits = RNG.integers(0, 2**32, (2, 100_000), np.uint32).view(np.float32)
    whole = RNG.integers(-(2**24), 2**24, (4, 100_000)).astype(np.float32)
    divisors = RNG.standard_normal(100_000).astype(np.float32)
    for x, y in (bits, (whole[0], whole[1] % 99 + 1), (whole[2] * divisors, divisors), (whole[3] * 16, divisors)):
        (ours,), (expected,) = (
            way(lambda x, y: [lax.rem(x, y)], x, y) for way in (ran, partial(by_numpy, monkeypatch))
        )
        right = (ours.view(np.int32) == expected.view(np.int32)) | (np.isnan(ours) & np.isnan(expected))
        assert right.all(), (x[~right][:3], y[~right][:3])


def ran(function: Callable[..., Any], *arrays: np.ndarray) -> list[np.ndarray]:
    plan = plan_of(function, *arrays)
    assert passes(plan)
    return plan(*arrays)


def operands() -> dict[str, np.ndarray]:
    rows, columns = SHAPE
    return {
        "in order": numbers(rows, columns),
        "transposed": numbers(columns, rows).T,
        "every second": numbers(rows, 2 * columns)[:, ::2],
        "from the end": numbers(rows, columns)[::-1, ::-1],
        "one row": np.broadcast_to(numbers(columns), SHAPE),
        "one column": np.broadcast_to(numbers(rows, 1), SHAPE),
        "one number": np.broadcast_to(np.float32(1.5), SHAPE),
        "at an odd address": np.frombuffer(b"." + numbers(rows, columns).tobytes(), np.uint8)[1:].view(np.float32).reshape(SHAPE),
    }  # fmt: skip


@pytest.mark.parametrize("first", operands())
@pytest.mark.parametrize("second", operands())
def test_operands_lie_in_any_order(first, second):
    x, y = operands()[first], operands()[second]
    (total, less) = plan_of(lambda x, y: [x + y * 2, x < y], x, y)(x, y)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(total, x + y * 2)
    np.testing.assert_array_equal(less, x < y)


@pytest.mark.parametrize(
    "shape", [(16384,), (3, 1, 5, 7, 2, 101), (2, 2, 2, 2, 2, 2, 2, 2, 80), (20000, 1), (1, 16385)]
)
def test_shapes_of_any_rank(shape):
    x = numbers(*shape)
    swapped = np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1)
    mask = RNG.random(shape) < 0.5
    results = plan_of(lambda x, y, m: [lax.select(m, x - y, y * 3), x * y], x, swapped, mask)(x, swapped, mask)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(results[0], np.where(mask, x - swapped, swapped * 3))
        np.testing.assert_array_equal(results[1], x * swapped)


def random_program(rng: np.random.Generator, length: int) -> Callable[..., list[Any]]:
    """So many operations on values that are picked at random, some of which are results, with others between them."""

    def program(*inputs: Any) -> list[Any]:
        values, masks, results = [*inputs], [inputs[0] > 0], []
        for _ in range(length):
            kind, a, b = rng.integers(8), values[rng.integers(len(values))], values[rng.integers(len(values))]
            if kind < 3:
                values.append([lax.add, lax.mul, lax.max][kind](a, b))
            elif kind == 3:
                masks.append(a < b)
            elif kind == 4:
                values.append(lax.select(masks[rng.integers(len(masks))], a, b))
            elif kind == 5:
                values.append(lax.tanh(a))
            elif kind == 6:
                values.append(a - jnp.sum(b, 1, keepdims=True) * np.float32(1e-3))
            else:
                values.append(jnp.cumsum(lax.logistic(a), 1))
            if rng.random() < 0.3:
                results.append(values[-1])
            if rng.random() < 0.1:
                results.append(masks[-1])
        return [*results, values[-1]]

    return program


@pytest.mark.parametrize("seed", range(40))
def test_bits_do_not_depend_on_what_shares_a_pass(seed, monkeypatch):
    inputs = [RNG.standard_normal((64, 300)).astype(np.float32) for _ in range(3)]

    def run(most: int) -> tuple[list[np.ndarray], int]:
        with monkeypatch.context() as patched:
            patched.setattr(fused, "_MOST_CALLS", most)
            length = int(np.random.default_rng(seed).integers(1, 60))
            plan = plan_of(random_program(np.random.default_rng(seed + 1), length), *inputs)
            copies = [array.copy() for array in inputs]
            results = plan(*copies)
            for copy, array in zip(copies, inputs, strict=True):
                np.testing.assert_array_equal(copy, array, "an input that somebody holds is not written over")
            return results, len(passes(plan))

    (alone, many), (together, few) = run(1), run(20)
    assert few <= many
    for one, other in zip(alone, together, strict=True):
        assert one.dtype == other.dtype and one.tobytes() == other.tobytes()


def softmax(x: Any) -> Any:
    e = jnp.exp(x - jnp.max(x, -1, keepdims=True))
    return e / jnp.sum(e, -1, keepdims=True)


def normalized(x: Any) -> tuple[Any, Any, Any]:
    """Rows with mean zero and variance one; the mean, and the factor."""
    mean = jnp.sum(x, -1, keepdims=True) / x.shape[-1]
    factor = lax.rsqrt(jnp.sum((x - mean) ** 2, -1, keepdims=True) / x.shape[-1] + np.float32(1e-5))
    return (x - mean) * factor, mean, factor


ROWS = {
    "softmax": lambda x: [softmax(x)],
    "normalized": normalized,
    "its derivative": lambda x: jax.vjp(lambda x: normalized(x)[0], x)[1](x),
    "least and largest": lambda x: [
        (x - jnp.min(x, -1, keepdims=True)) / (jnp.max(x, -1, keepdims=True) - jnp.min(x, -1, keepdims=True))
    ],
    "sum of squares": lambda x: [x * lax.rsqrt(jnp.sum(x * x, -1, keepdims=True))],
    "a choice for each row": lambda x: [
        x / jnp.where(jnp.sum(x, -1, keepdims=True) > 0, np.float32(2), jnp.sum(x, -1, keepdims=True))
    ],
    "of all columns": lambda x: [normalized(x)[0], jnp.sum(normalized(x)[0] * x, 0)],
}


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("shape", [(64, 256), (300, 77), (20, 10, 90), (17, 1000), (9000, 2)], ids=str)
def test_what_is_taken_of_rows_joins_the_pass(name, shape, monkeypatch):
    x = RNG.standard_normal(shape).astype(np.float32)
    plan = plan_of(ROWS[name], x)
    assert len(passes(plan)) == 1 and passes(plan)[0].code[3] + 256 * passes(plan)[0].code[4] == shape[-1]
    monkeypatch.setattr(fused, "_ALONG_ROWS", {})
    apart = plan_of(ROWS[name], x)
    assert len(apart._ending_calls or ()) > len(plan._ending_calls or ())
    for array in (x, np.ascontiguousarray(x.swapaxes(0, -1)).swapaxes(0, -1), x[:1].repeat(shape[0], 0)):
        for one, other in zip(plan(array), apart(array), strict=True):
            assert one.shape == other.shape and one.tobytes() == other.tobytes()


EXACT = {name: ONE[name] for name in ONE if name not in ("clamp", *APART) or name == "rsqrt"} | {
    name: TWO[name] for name in TWO if name not in ("max", "min")
}


@pytest.mark.parametrize("name", EXACT)
def test_operations_on_few_elements_give_numpys_bits_in_a_pass(name, monkeypatch):
    rows = numbers(600, 1), numbers(600, 1)[::-1].copy()

    def function(x: Any, *rows: Any) -> list[Any]:
        zero = jnp.sum(x, -1, keepdims=True)  # so that the operation joins a pass
        read = [row + zero for row in rows]
        result = EXACT[name](*read[: 2 if name in TWO else 1])
        return [x * lax.convert_element_type(result, np.float32), result]

    x = np.zeros((600, 40), np.float32)
    with np.errstate(all="ignore"):
        together = plan_of(function, x, *rows)
        assert all(isinstance(call[0], fused.Pass) for call in together._ending_calls or ())
        monkeypatch.setattr(fused, "_EXACT", frozenset())
        for one, other in zip(together(x, *rows), plan_of(function, x, *rows)(x, *rows), strict=True):
            np.testing.assert_array_equal(one, other)
            if one.dtype == bool:
                continue
            numbers_alone = ~np.isnan(one)
            np.testing.assert_array_equal(np.signbit(one[numbers_alone]), np.signbit(other[numbers_alone]))


def test_a_pass_that_ends_with_another_that_is_awaited():
    """What is taken of the rows of one array is read in the pass of another, and something else waits for both."""
    x, y = RNG.standard_normal((64, 500)).astype(np.float32), RNG.standard_normal((64, 300)).astype(np.float32)

    def function(x: Any, y: Any) -> list[Any]:
        a, s = x - jnp.sum(x, -1, keepdims=True), jnp.sum(y, -1, keepdims=True)
        b = y - s
        return [jnp.cumsum(a, 1), jnp.cumsum(b, 1), a * s]

    s = y.sum(-1, keepdims=True)
    a, b = x - x.sum(-1, keepdims=True), y - s
    for ours, expected in zip(plan_of(function, x, y)(x, y), (a.cumsum(1), b.cumsum(1), a * s), strict=True):
        np.testing.assert_allclose(ours, expected, rtol=1e-3, atol=1e-2)


def test_rows_that_are_too_wide_or_of_other_dimensions_do_not_join():
    for shape, axis in [((64, 1025), -1), ((256, 64), 0), ((8, 64, 64), 1)]:
        x = RNG.standard_normal(shape).astype(np.float32)
        plan = plan_of(lambda x, axis=axis: [x - jnp.sum(x, axis, keepdims=True)], x)
        assert [each.code[3] + 256 * each.code[4] for each in passes(plan)] == [1]
        np.testing.assert_allclose(plan(x)[0], x - x.sum(axis, keepdims=True), atol=1e-4)


def test_two_views_that_repeat_rows_are_two_arrays():
    x = RNG.standard_normal((64, 300)).astype(np.float32)

    def function(x: Any) -> list[Any]:
        total = jnp.sum(x * 2, 1)
        return [
            lax.broadcast_in_dim(total, x.shape, (0,)),
            lax.broadcast_in_dim(total, x.shape, (0,)),
            total,
            total[:, None],
        ]

    for result in plan_of(function, x)(x):
        np.testing.assert_allclose(
            result, np.broadcast_to((2 * x).sum(1).reshape(64, *[1] * (result.ndim - 1)), result.shape), rtol=1e-4
        )


def random_rows(rng: np.random.Generator, length: int) -> Callable[..., list[Any]]:
    """As ``random_program``, of two arrays with as many rows, and with many operations on what is taken of them."""

    def program(x: Any, y: Any, row: Any) -> list[Any]:
        arrays, rows, results = [[x, x * x], [y, y * y]], [row], []
        for _ in range(length):
            values = arrays[rng.integers(2)]
            kind, a, b = rng.integers(11), values[rng.integers(len(values))], values[rng.integers(len(values))]
            r, q = rows[rng.integers(len(rows))], rows[rng.integers(len(rows))]
            if kind < 2:
                values.append([lax.add, lax.mul][kind](a, b))
            elif kind < 4:
                values.append([lax.sub, lax.mul][kind - 2](a, jnp.broadcast_to(r, a.shape)))
            elif kind < 6:
                rows.append([jnp.sum, jnp.max, jnp.min][rng.integers(3)](a, -1, keepdims=True))
            elif kind == 6:
                rows.append([lax.add, lax.div, lax.max, lax.sub][rng.integers(4)](r, q))
            elif kind == 7:
                rows.append(
                    [lax.neg, lax.square, lax.tanh, lambda r: jnp.sum(r, -1, keepdims=True)][rng.integers(4)](r)
                )
            elif kind == 8:
                rows.append(jnp.where(r < q, r, np.float32(0.5)))
            else:
                values.append(a + jnp.sum(b, 0) if kind == 9 else jnp.cumsum(a, -1))
            if rng.random() < 0.2:
                results.append(values[-1])
            if rng.random() < 0.2:
                results.append([rows[-1], rows[-1].reshape(x.shape[:-1])][rng.integers(2)])
        return [*results, arrays[0][-1], arrays[1][-1], rows[-1]]

    return program


@pytest.mark.parametrize("seed", range(60))
def test_bits_do_not_depend_on_what_is_done_row_by_row(seed, monkeypatch):
    *lead, columns = [(64, 300), (40, 20, 24), (17, 1000)][seed % 3]
    inputs = [RNG.standard_normal((*lead, last)).astype(np.float32) for last in (columns, columns + 6, 1)]

    def run() -> list[bytes]:
        rng = np.random.default_rng(seed)
        plan = plan_of(random_rows(rng, int(rng.integers(1, 60))), *inputs)
        with np.errstate(all="ignore"):
            return [result.tobytes() for result in plan(*[array.copy() for array in inputs])]

    together = run()
    monkeypatch.setattr(fused, "_ALONG_ROWS", {})
    assert run() == together
    monkeypatch.setattr(fused, "_MOST_CALLS", 1)
    assert run() == together


def random_channels(rng: np.random.Generator, length: int) -> Callable[..., list[Any]]:
    """Operations with one right result on two images and on numbers of channels and samples, in any order of the operands."""

    def program(x: Any, y: Any, *of_channels: Any) -> list[Any]:
        values, results = [x, y], []
        for _ in range(length):
            few = of_channels[rng.integers(len(of_channels))]
            other = jnp.broadcast_to(few * few if rng.random() < 0.3 else few, x.shape)
            pair = [
                values[rng.integers(len(values))],
                other if rng.random() < 0.7 else values[rng.integers(len(values))],
            ]
            a, b = pair[:: [1, -1][rng.integers(2)]]
            kind = rng.integers(9)
            if kind < 6:
                values.append([lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min][kind](a, b))
            else:
                values.append([lax.neg(other), lax.select(a < b, b, other), lax.select(other < b, a, b)][kind - 6])
            if rng.random() < 0.2:
                results.append(values[-1])
        return [*results, *values[-2:]]

    return program


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    "shape",
    [(16, 128, 4, 4), (6, 12, 24, 24), (3, 10, 9, 112), (2, 5, 45, 47), (3, 9, 1009), (20000, 3), (600, 7, 5)],
    ids=str,
)
def test_numbers_of_channels_are_those_of_their_elements(shape, seed, monkeypatch):
    def inputs() -> list[np.ndarray]:
        few = [
            (1, shape[1], *[1] * (len(shape) - 2)),
            (shape[0], *[1] * (len(shape) - 1)),
            shape[1:2] + (1,) * (len(shape) - 2),
        ]
        return [numbers(*each) for each in (shape, shape, *few)]

    function, arrays = random_channels(np.random.default_rng(seed), 3 + 2 * seed), inputs()
    with np.errstate(all="ignore"):
        found = ran(function, *arrays)
    function = random_channels(np.random.default_rng(seed), 3 + 2 * seed)
    for result, wanted in zip(found, by_numpy(monkeypatch, function, *arrays), strict=True):
        np.testing.assert_array_equal(result, wanted)


def test_a_pass_ends_where_its_result_is_needed_and_holds_what_lies_between():
    x = numbers(200, 200)
    assert len(passes(plan_of(lambda x: [lax.exp(x * 2 + 1) - x], x))) == 1
    apart = plan_of(lambda x: [lax.exp(jnp.cumsum(x * 2, 0) + 1)], x)
    assert len(passes(apart)) == 2
    # What is not read does not end a pass.
    assert len(passes(plan_of(lambda x, y: [lax.exp(x * 2 + jnp.cumsum(y, 0))], x, x))) == 1
    assert not passes(plan_of(lambda x: [lax.exp(x * 2)], x[:50, :50])), "small arrays are NumPy's"


def test_results_are_written_over_inputs_that_the_plan_alone_holds():
    def function(x: Any, y: Any, row: Any) -> list[Any]:
        return [x * row + y, lax.tanh(x) - row, x < y]

    x, y, row = numbers(300, 200), numbers(300, 200), np.broadcast_to(numbers(200), (300, 200))
    plan = plan_of(function, x, y, row)
    expected = plan(x, y, row)
    arrays = [x.copy(), y.copy(), row]
    addresses = {array.ctypes.data for array in arrays[:2]}
    results = plan.consuming(arrays)
    assert addresses == {result.ctypes.data for result in results[:2]}
    for ours, other in zip(results, expected, strict=True):
        assert ours.tobytes() == other.tobytes()


@pytest.fixture
def threads():
    yield sharing.set_threads
    sharing.set_threads(2)


def heavy(x: Any) -> list[Any]:
    return [lax.erf(x) * lax.exp(-x) + 1, jnp.sum(x, 1), jnp.sum(x, 0), jnp.max(x)]


@pytest.mark.parametrize("shape", [(700, 900), (520, 192), (129, 257)])
def test_bits_do_not_depend_on_the_number_of_threads(shape, threads):
    x = RNG.standard_normal(shape).astype(np.float32)
    plan, results = plan_of(heavy, x), []
    for number in (1, 2, 5):
        threads(number)
        for asleep in (False, True) * 10:
            time.sleep(0.003 * asleep)  # the pass begins without threads that sleep
            if number == 5:  # as beside a library's convolutions
                fused.elements.give_way()
            results.append([result.tobytes() for result in plan(x)])
    assert all(result == results[0] for result in results)


def test_a_pass_has_ended_when_it_returns(threads):
    """Of three parts each of two threads takes one, and the one that calls must wait for the other."""
    threads(2)
    x = RNG.standard_normal(3 * 16384).astype(np.float32)
    (expected,) = plan_of(lambda x: [lax.erf(x)], x)(x)
    code = bytes([3, 1, 1, 1, 0, 0, 1, fused._CODES["tanh"], 2, 0, 0, 0, fused._CODES["erf"], 1, 0, 0, 0])
    for _ in range(1000):
        result = np.full_like(x, np.nan)
        fused.elements.run(code, x.shape, [result], x)
        assert np.array_equal(result, expected)


def test_threads_of_the_program_compute_at_once(threads):
    threads(2)
    x = RNG.standard_normal((300, 900)).astype(np.float32)
    plan = plan_of(heavy, x)
    expected, wrong = [result.tobytes() for result in plan(x)], []

    def work() -> None:
        wrong.extend([1 for _ in range(50) if [result.tobytes() for result in plan(x)] != expected])

    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not wrong


def in_child(x: np.ndarray, queue: Any) -> None:
    queue.put([result.tobytes() for result in plan_of(heavy, x)(x)])
    sharing.set_threads(3)
    queue.put([result.tobytes() for result in plan_of(heavy, x)(x)])


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_process_that_was_forked_has_threads_of_its_own(threads):
    threads(2)
    x = RNG.standard_normal((300, 900)).astype(np.float32)
    expected = [result.tobytes() for result in plan_of(heavy, x)(x)]
    context = multiprocessing.get_context("fork")
    queue = context.SimpleQueue()
    child = context.Process(target=in_child, args=(x, queue))
    child.start()
    assert queue.get() == expected and queue.get() == expected
    child.join()


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((4096, 64), (1,)), ((4160, 65), (1,)), ((30000, 3), (1,)), ((8, 20000), (1,)), ((1, 100001), (1,)), ((70, 10, 33), (1, 2)),
        ((4096, 64), (0,)), ((65, 4160), (0,)), ((20000, 1), (0,)), ((10, 70, 33), (0, 1)), ((50000,), (0,)), ((2, 100, 100), (0, 1, 2)),
        ((1030, 16), (1,)), ((1030, 17), (1,)), ((530, 511), (1,)), ((33, 512), (1,)),
        ((90, 2, 3, 100), (1, 2)), ((8, 16, 32, 2, 32, 2), (3, 5)), ((700, 9, 5), (1,)), ((90, 16, 30), (1,)), ((90, 17, 30), (1,)),
        ((8, 64, 7, 9), (0, 2, 3)), ((5, 1, 70, 1, 80), (0, 4)), ((1, 30, 700), (0, 2)), ((9, 40, 70), (1,)), ((9, 5, 40, 12), (0, 2)),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ordered", [True, False], ids=["in order", "transposed"])
def test_reductions(shape, axes, ordered):
    x = RNG.standard_normal(shape).astype(np.float32)
    if not ordered:
        x = np.ascontiguousarray(x.T).T
    plan = plan_of(lambda x: [jnp.sum(x, axes), jnp.max(x, axes), jnp.min(x, axes)], x)
    total, largest, least = plan(x)
    np.testing.assert_allclose(total, x.sum(axes, dtype=np.float64), rtol=1e-5, atol=1e-3)
    np.testing.assert_array_equal(largest, x.max(axes))
    np.testing.assert_array_equal(least, x.min(axes))
    np.testing.assert_array_equal(largest.shape, x.max(axes).shape)
    nothing = np.broadcast_to(np.float32(-0.0), shape)
    assert not np.signbit(plan(nothing)[0]).any() and np.signbit(plan(nothing)[1]).all()


@pytest.mark.parametrize("columns", [16, 17, 40, 511])
def test_the_bits_of_short_rows_do_not_depend_on_how_many_there_are(columns):
    """Sixteen are reduced side by side, the rest one by one."""
    x = RNG.standard_normal((1040, columns)).astype(np.float32)
    x[::2] = np.copysign(np.float32(0), x[::2])  # which zero is the largest one, the order says
    program = lambda x: [jnp.sum(x, 1), jnp.max(x, 1), jnp.min(x, 1)]  # noqa: E731
    whole, one_less = plan_of(program, x)(x), plan_of(program, x[1:])(x[1:])
    for result, of_less in zip(whole, one_less, strict=True):
        assert result[1:].tobytes() == of_less.tobytes()


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("place", [0, 7, 63, 64, 200])
def test_a_reduction_shows_what_is_no_number(axis, place):
    x = RNG.standard_normal((201, 201)).astype(np.float32)
    x[(place, 3) if axis == 0 else (3, place)] = np.nan
    for result in plan_of(lambda x: [jnp.sum(x, axis), jnp.max(x, axis), jnp.min(x, axis)], x)(x):
        assert np.flatnonzero(np.isnan(result)).tolist() == [3]


@pytest.mark.parametrize("name", operands())
@pytest.mark.parametrize("shape", [(-1,), (65, 2, -1)], ids=str)
def test_a_reshape_copies_what_lies_in_another_order(name, shape, threads):
    x = operands()[name]
    expected = x.reshape(shape)
    for count in (1, 3):
        threads(count)
        (result,) = plan_of(lambda x: [x.reshape(expected.shape)], x)(x)
        np.testing.assert_array_equal(result, expected)
        assert np.shares_memory(result, x) == np.shares_memory(expected, x)


@pytest.mark.parametrize(
    ("to", "x"),
    [
        (np.empty(4, np.float32), np.empty(5, np.float32)), (np.empty((2, 2), np.float32), np.empty(4, np.float32)),
        (np.empty(4, np.float32), np.empty(4, np.float64)), (np.empty(4, np.int32), np.empty(4, np.int32)),
        (np.empty(8, np.float32)[::2], np.empty(4, np.float32)), (np.empty(4, np.float32), np.empty(4, bool)),
    ],
)  # fmt: skip
def test_arrays_that_cannot_be_copied_are_refused(to, x):
    with pytest.raises((ValueError, BufferError)):
        assert fused.elements is not None
        fused.elements.copy(to, x)


def test_a_sum_of_many_numbers_loses_little():
    x = np.full(3_000_000, 0.1, np.float32)
    (total,) = plan_of(lambda x: [jnp.sum(x)], x)(x)
    assert abs(total / (np.float64(x[0]) * len(x)) - 1) < 1e-6


@pytest.mark.parametrize(
    ("code", "outputs", "inputs"),
    [
        (b"", [np.empty(4, np.float32)], [np.empty(4, np.float32)]),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.float32)], []),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.float32)], [np.empty(5, np.float32)]),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.float32)], [np.empty(4, np.float64)]),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.int32)], [np.empty(4, np.float32)]),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(8, np.float32)[::2]], [np.empty(4, np.float32)]),
        (bytes([99, 1, 1, 1, 0, 0, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.float32)], [np.empty(4, np.float32)]),
        (bytes([2, 1, 1, 1, 0, 9, 1, 0, 1, 0, 0, 0]), [np.empty(4, np.float32)], [np.empty(4, np.float32)]),
        (bytes([2, 1, 1, 1, 0, 0, 1, 0, 1, 0, 9, 0]), [np.empty(4, np.float32)], [np.empty(4, np.float32)]),
    ],
)
def test_arrays_that_do_not_fit_the_code_are_refused(code, outputs, inputs):
    assert fused.elements is not None
    with pytest.raises(ValueError, match="fit"):
        fused.elements.run(code, (4,), outputs, *inputs)


@pytest.mark.parametrize("shape", [(40, 16), (5, 8, 9)])
@pytest.mark.parametrize("mode", ["clip", "fill", "promise_in_bounds"])
def test_rows_are_added_one_after_the_other(shape, mode):
    numbers = RNG.integers(0, shape[0], 300)
    x, rows = [RNG.standard_normal(size).astype(np.float32) for size in (shape, (300, *shape[1:]))]
    expected = x.copy()
    np.add.at(expected, numbers, rows)

    def add(x, numbers, rows):
        return [
            x.at[numbers].add(rows, mode=mode),
            x.at[numbers - shape[0]].add(rows, mode=mode, wrap_negative_indices=True),
        ]

    plan = plan_of(add, x, numbers, rows)
    for result in plan(x, numbers, rows):
        assert result.tobytes() == expected.tobytes()


def test_rows_that_are_not_there_are_not_added():
    x = np.zeros((3, 8), np.float32)
    for numbers in ([0, 3], [0, -1], [2**40, 0]):
        assert fused.elements.add_rows(x, np.array(numbers), np.ones((2, 8), np.float32)) is False
    assert not x.any()
    for wrong in (np.ones((2, 7), np.float32), np.ones((3, 8), np.float32), np.ones((2, 8))):
        with pytest.raises(ValueError, match="do not fit"):
            fused.elements.add_rows(x, np.array([0, 1]), wrong)


@pytest.mark.parametrize("overlapping", [True, False])
def test_what_is_padded_by_zeros_is_added_in_place(overlapping, threads):
    """The gradient of max pooling: an image for each place of a window, between whose elements there are zeros."""
    parts = [RNG.standard_normal((3, 8, 40, 30)).astype(np.float32) for _ in range(4)]
    step = 1 if overlapping else 2

    def spread(part, place):
        i, j = divmod(place, 2)
        edges = [(i, step - i, step - 1), (j, step - j, step - 1)]
        return lax.pad(part, np.float32(0), [(0, 0, 0), (0, 0, 0), *edges])

    def summed(*parts):
        images = [spread(part, place) for place, part in enumerate(parts)]
        total = images[0]
        for image in images[1:]:
            total = total + image
        return [total, total * 2]

    def with_others_that_read(*parts):
        images = [spread(part, place) for place, part in enumerate(parts)]
        first = images[0] + images[1]
        second = first + images[2]
        return [first, second, images[3], images[3] + second, images[2] + images[2], parts[0] + parts[1]]

    def to_an_input(*parts):
        return [parts[-1] + spread(parts[0], 0), parts[1] - parts[2]]

    whole = RNG.standard_normal(np.shape(spread(jnp.asarray(parts[0]), 0))).astype(np.float32)
    given = parts
    for function in (summed, with_others_that_read, to_an_input):
        parts = [*given, whole] if function is to_an_input else given
        plan = plan_of(function, *parts)
        before = [part.copy() for part in parts]
        for _ in range(2):
            for ours, theirs in zip(plan.consuming([*parts]), function(*map(jnp.asarray, parts)), strict=True):
                np.testing.assert_array_equal(ours, theirs)
        for part, unchanged in zip(parts, before, strict=True):
            np.testing.assert_array_equal(part, unchanged)
    parts = given
    total, _ = plan_of(summed, *parts)(*[np.full_like(part, -0.0) for part in parts])
    assert not np.signbit(total).any(), "as if each had been added to zeros"
    adds = [call for call in plan_of(summed, *parts)._ending_calls or () if getattr(call[0], "__name__", "") == "add"]
    assert len(adds) == 3


@pytest.mark.parametrize(
    ("places", "whole"),
    [([0, 1, 2], True), ([2, 0, 1], True), ([0, 2], False), ([0, 1, 1], False), ([0, 1, 2, 2], False)],
)
@pytest.mark.parametrize("axis", [0, 2])
def test_parts_that_make_up_the_whole_are_written_where_they_belong(places, whole, axis):
    """The gradient of a split. Elements that no part has are zero, and those of two parts their sum."""
    parts = [RNG.standard_normal((12, 50, 36)).astype(np.float32) for _ in places]
    parts[0][0, 0] = -0.0
    length = parts[0].shape[axis]

    def padded(*parts):
        results = []
        for place, part in zip(places, parts, strict=True):
            edges = [(0, 0, 0)] * 3
            edges[axis] = (place * length, (2 - place) * length, 0)
            results.append(lax.pad(part, np.float32(0), edges))
        return results

    def program(*parts):
        return [functools.reduce(operator.add, padded(*parts))]

    plan = plan_of(program, *parts)
    for ours, theirs in zip(plan(*parts), program(*map(jnp.asarray, parts)), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours), np.signbit(theirs))
    written = [call for call in plan._ending_calls or () if getattr(call[0], "__name__", "") in ("put", "put_alone")]
    assert len(written) == (len(places) if whole else 0)
    assert plan.cost < 0.7 * plan_of(padded, *parts).cost, "each by itself takes longer"


def test_results_may_be_written_over_inputs_whenever_these_are_read():
    """Random passes: a result is the same over an input that is read before, by the same instruction, and later."""
    choose = np.random.default_rng(3)
    names = {"add": 2, "mul": 2, "neg": 1, "square": 1, "sub": 2}
    over_now = 0
    for _ in range(300):
        inputs = 3
        instructions: list[tuple[str, list[object], bool]] = []
        for _ in range(choose.integers(1, 7)):
            name = str(choose.choice([*names]))
            operands = [(int(n), False) for n in range(inputs)] + [*range(len(instructions))]
            instructions.append((name, [operands[n] for n in choose.integers(0, len(operands), names[name])], False))
        outputs = sorted({len(instructions) - 1, int(choose.integers(0, len(instructions)))})
        code = fused._code(
            instructions, [(n, False) for n in range(inputs)], [(output, False) for output in outputs], 0
        )
        arrays = [numbers(3000) for _ in range(inputs)]
        expected = [np.empty_like(arrays[0]) for _ in outputs]
        fused.elements.run(code, expected[0].shape, expected, *arrays)
        over = [arrays[n] for n in choose.permutation(inputs)[: len(outputs)]]
        fused.elements.run(code, over[0].shape, over, *arrays)
        for one, other in zip(over, expected, strict=True):
            np.testing.assert_array_equal(one.view(np.int32), other.view(np.int32))
            over_now += 1
    assert over_now > 300
