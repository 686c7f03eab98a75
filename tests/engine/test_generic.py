"""Traces for variable sizes: every decision that depends on a size is noticed, and results equal those of traces for single sizes."""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax._src.util import weakref_lru_cache

import torchlike as torch
from torchlike.engine.interpreter import Shaped, Traces, as_constant, loops, scan
from torchlike.engine.interpreter.traces import generic
from torchlike.engine.interpreter.traces.by_size import MAX_KEYS
from torchlike.engine.interpreter.traces.sizes import Size, Sizes
from torchlike.engine.report import report
from torchlike.ops.settings.defaults import forget_compiled

pytestmark = pytest.mark.composed


# Sizes that no other test uses. Tables of JAX's compare what is looked up with an entry of another size by chance, rarely for both hashes,
# and the trace does not hold for the size of that entry then. Where traces are counted, no such entry may have a size that follows.
OWN_SIZES = range(4001, 4011)

GRU = [torch.linspace(-1, 1, 24).reshape(6, 4), torch.linspace(0, 2, 12).reshape(6, 2), torch.ones(6), torch.zeros(6)]


class Counted:
    """Counts the traces of a function ``compute(size, array)`` of vectors in ``calls``.

    Where a table of JAX's has compared something by chance, a trace for variable sizes is made once more. It counts once.
    """

    def __init__(self, compute: Callable[[Any, Any], Any]) -> None:
        self.compute, self.calls, self.traces = compute, 0, Traces()

    def __call__(self, size: int) -> tuple[np.ndarray, tuple[int, ...]]:
        def make(sizes: Sequence[Any]) -> tuple[Callable[..., Any], list[Shaped]]:
            def function(array: Any) -> Any:
                again = type(sizes[0]) is Size and sizes[0]._sizes.number > 0
                self.calls += not again
                return (self.compute(sizes[0], array),)

            return function, [Shaped((sizes[0],), np.dtype(np.float32))]

        traced, _ = self.traces.trace(self.traces.calls("key"), (size,), make)
        (result,) = traced.plan()(np.arange(size, dtype=np.float32))
        return result, traced.outs[0].shape


def doubled_below_five(size: Any, array: Any) -> Any:
    return array * 2 if size < 5 else array + 1


def test_a_function_is_traced_for_few_of_its_sizes() -> None:
    count = Counted(lambda size, array: jnp.concatenate([array, lax.squeeze(array.reshape(1, size), [0]) + 1]))
    for size in OWN_SIZES:
        result, shape = count(size)
        expected = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(result, np.concatenate([expected, expected + 1]))
        assert shape == (2 * size,)
    assert count.calls == 5  # traces for two sizes, one for a variable size, and two that are compared with it


def test_what_was_not_called_for_long_is_dropped() -> None:
    class Key:
        pass

    traces, alive = Traces(), weakref.WeakSet[Key]()
    for _ in range(10 * MAX_KEYS):
        key = Key()
        alive.add(key)
        traces.trace(
            traces.calls(key), (3,), lambda sizes: (lambda array: (array,), [Shaped((sizes[0],), np.dtype(np.float32))])
        )
    assert len(alive) == MAX_KEYS


def test_sizes_that_did_not_vary_are_compared() -> None:
    """The trace for any number of columns is one for two rows alone."""
    traces = Traces()
    calls = traces.calls("key")

    def make(sizes: Sequence[Any]) -> tuple[Callable[..., Any], list[Shaped]]:
        return lambda array: (array + np.float32(sizes[0]),), [Shaped((sizes[1],), np.dtype(np.float32))]

    confirmed = False
    for rows, columns in [*((2, n) for n in range(3, 9)), (5, 9), (5, 4), (2, 10), (5, 11)]:
        confirmed |= calls.latest is not None
        traced, _ = traces.trace(calls, (rows, columns), make)
        np.testing.assert_array_equal(traced.plan()(np.zeros(columns, np.float32))[0], np.full(columns, rows))
    assert confirmed


def test_a_comparison_divides_the_sizes() -> None:
    count = Counted(doubled_below_five)
    for size in (2, 3, 4, 9, 4, 12, 3, 7, 5, 2, 8, 4, 6):
        array = np.arange(size, dtype=np.float32)
        np.testing.assert_array_equal(count(size)[0], array * 2 if size < 5 else array + 1)


@pytest.mark.parametrize(
    "decides",
    [
        lambda size: size in {3, 7, 9},
        lambda size: size in (7, 9),
        lambda size: size % 4 == 3,
        lambda size: (size - 7) * (size - 9) == 0,
        lambda size: {7: True}.get(size, False),
        lambda size: not size - 7,
        lambda size: size == 7,
        lambda size: np.int64(7) == size,
        lambda size: size != np.asarray(9) and size == 7,
        lambda size: sum(range(size)) == 21,
        lambda size: str(size) == "7",
        lambda size: float(size) == 7.0,
        lambda size: size == 7.0,
        lambda size: max(size, 7) == 7,
        lambda size: divmod(size, 7)[1] == 0,
        lambda size: isinstance(size, int) and size == 7,
        lambda size: 20 // (8 - size) == 20,
    ],
)
def test_no_decision_goes_unnoticed(decides: Callable[[Any], bool]) -> None:
    """The function may ask anything about the size; for 7 and 9 some of these functions decide differently."""
    count = Counted(lambda size, array: array * 2 if decides(size) else array + 1)
    for size in (2, 4, 5, 6, 10, 7, 9, 3, 11, 12):
        array = np.arange(size, dtype=np.float32)
        if size == 8:
            continue
        np.testing.assert_array_equal(count(size)[0], array * 2 if decides(size) else array + 1)


def test_what_depends_on_the_type_of_a_size_is_found_out() -> None:
    """A function may ask for the type of the size; the comparison with a trace for a plain number finds that."""
    before = report.not_generic.total()
    count = Counted(lambda size, array: array + 1 if type(size) is int else array * 3)
    for size in range(2, 9):
        np.testing.assert_array_equal(count(size)[0], np.arange(size, dtype=np.float32) + 1)
    assert report.not_generic.total() > before


def test_the_comparison_of_sizes_is_needed_for_right_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the invariant on purpose, to show that the test above is able to fail."""
    monkeypatch.setattr(generic.Recorded, "equals", lambda self, other: True)
    count = Counted(lambda size, array: array + 1 if type(size) is int else array * 3)
    results = [count(size)[0][1] for size in range(2, 9)]
    assert results[-1] == 3.0


def test_a_size_may_be_a_constant_of_the_function() -> None:
    def last_two(size: Any, array: Any) -> Any:
        start = as_constant(size - 2, np.int64)
        return lax.dynamic_slice(array, [start], [2], allow_negative_indices=False)

    count = Counted(last_two)
    for size in OWN_SIZES:
        np.testing.assert_array_equal(count(size)[0], [size - 2, size - 1])
    assert count.calls == 5


def test_sizes_that_are_read_as_numbers_raise() -> None:
    size: Any = Sizes([5]).sizes[0]
    readers: list[Callable[[Any], object]] = [
        range, int, float, np.zeros, np.asarray(1).__getitem__, lambda n: [0] * n, lambda n: [1, 2][n], lambda n: {n},
        lambda n: n / 2, lambda n: n == "5", lambda n: n < 2.5, str,
    ]  # fmt: skip
    for reads in readers:
        with pytest.raises((TypeError, IndexError)):
            reads(size)


def test_sizes_of_a_trace_that_failed_are_equal_to_nothing() -> None:
    """JAX keeps shapes in tables. A shape from a trace that was given up must never equal a shape of numbers."""

    sizes: list[Any] = []

    def fails(size: Any, array: Any) -> Any:
        sizes.append(size)
        lax.broadcast(array, (3, size))
        return array * (2 if float(size) else 3)

    count = Counted(fails)
    for size in (4, 5, 6, 6, 5, 7):
        result, shape = count(size)
        assert type(shape[0]) is int
        np.testing.assert_array_equal(result, 2 * np.arange(size, dtype=np.float32))
    (variable,) = [size for size in sizes if type(size) is not int]
    assert not _equal_to_jax(variable, 6)


@pytest.mark.parametrize(
    "compute", [lambda x: x.flip(0) * 2, lambda x: torch.nn.functional.nll_loss(x, x.sum(-1).long())]
)
def test_a_trace_keeps_no_input_alive(compute: Callable[[Any], Any]) -> None:
    """JAX leaves reference cycles of exceptions and frames behind, whether or not a size can be variable."""
    gc.collect()
    gc.disable()
    try:
        for size in range(2, 7):
            x = torch.zeros(size, 3)
            value = weakref.ref(x._value())
            compute(x).sum().item()
            del x
            assert value() is None, size
    finally:
        gc.enable()


def test_a_loop_has_one_body_for_every_length() -> None:
    count = Counted(lambda size, array: scan(lambda sum, row: (sum + row, sum), jnp.zeros((), np.float32), array)[1])
    for size in OWN_SIZES:
        np.testing.assert_array_equal(count(size)[0], np.cumsum(np.arange(size)) - np.arange(size))
    assert count.calls == 5


BODIES: list[Callable[[Any], Any]] = [
    lambda size: lambda sum, row: (sum + jnp.sum(lax.full((size,), 1, np.float32) * row), sum),
    lambda size: lambda sum, row: (sum + row * jnp.sum(lax.iota(np.float32, size) * 0 + 1), sum),
    lambda size: lambda sum, row: (sum + row * as_constant(size, np.float32), sum),
]


@pytest.mark.parametrize("body", BODIES)
def test_the_body_of_a_loop_is_not_that_for_another_size(body: Callable[[Any], Any]) -> None:
    """A body has one plan, so none may be made of one that depends on a variable size."""
    count = Counted(lambda size, array: scan(body(size), jnp.zeros((), np.float32), array)[1])
    for size in range(2, 9):
        np.testing.assert_array_equal(count(size)[0], size * (np.cumsum(np.arange(size)) - np.arange(size)))


def test_that_a_body_is_looked_through_for_sizes_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the invariant on purpose, to show that the test above is able to fail."""
    monkeypatch.setattr(loops.Body, "refuse_sizes", lambda self: None)
    monkeypatch.setattr(generic.Recorded, "equals", lambda self, other: True)
    count = Counted(lambda size, array: scan(BODIES[0](size), jnp.zeros((), np.float32), array)[1])
    with pytest.raises((TypeError, AssertionError)):
        for size in range(2, 9):
            np.testing.assert_array_equal(count(size)[0], size * (np.cumsum(np.arange(size)) - np.arange(size)))


def _equal_to_jax(size: Any, number: int) -> bool:
    """Compares as a table of JAX compares sizes."""
    names: dict[str, Any] = {"__name__": "jax.tables"}
    exec("def equal(a, b): return a == b", names)
    return names["equal"](size, number)


def test_new_sizes_are_not_traced_after_the_generic_trace() -> None:
    sizes = Sizes([5])
    size: Any = sizes.sizes[0]
    assert _equal_to_jax(size, 5)
    sizes.traced = True
    assert not _equal_to_jax(size, 5)  # JAX still keeps it in a table, and must not find it for 5
    with pytest.raises(TypeError, match="outside of the trace"):
        bool(size == 5)


def test_what_tables_of_jax_compare_by_themselves_does_not_limit_a_trace() -> None:
    """Its tables compare an entry with what is looked up where a few bits of their hashes are the same."""
    names: dict[str, Any] = {"__name__": "jax.tables", "found": weakref_lru_cache(lambda key, shape: shape)}
    exec("def look_up(key, shape): return found(key, shape)", names)
    compared = list[str]()

    class Key:
        pass

    key = Key()

    def compute(size: Any, array: Any) -> Any:
        for number in range(1000):
            names["look_up"](key, (number, 3))
        for number in range(500):
            names["look_up"](key, (size + number, 3))
        return array + 1

    def make(sizes: Sequence[Any]) -> tuple[Callable[..., Any], list[Shaped]]:
        return lambda array: (compute(sizes[0], array),), [Shaped((sizes[0],), np.dtype(np.float32))]

    with pytest.MonkeyPatch.context() as patch:
        ask = Sizes.ask
        patch.setattr(
            Sizes, "ask", lambda self, question, answer: compared.append(question) or ask(self, question, answer)
        )
        trace = generic.Generic(make, [6000], [0])
    excluded = [question for question in compared if re.fullmatch(r"\(\(s\[0\]\+\(\d+\)\)==\(\d+\)\)", question)]
    assert len(excluded) > 6, "JAX compares hashes first now, so that none of this is needed"
    left = [size for size in range(2, 3000) if not trace.holds([size])]
    assert len(left) < 3, "a comparison may come by chance for both hashes"


def test_sizes_that_a_table_lets_go_of_are_in_no_cycle() -> None:
    """Only the garbage collector would find them then."""
    table = list[Any]()

    def reached(thing: object) -> list[object]:
        direct = [each for each in gc.get_referents(thing) if not isinstance(each, type)]
        return direct + [each for one in direct for each in gc.get_referents(one)]

    def make(sizes: Sequence[Any]) -> tuple[Callable[..., Any], list[Shaped]]:
        table.append(sizes[0])
        return lambda array: (array + 1,), [Shaped((sizes[0],), np.dtype(np.float32))]

    generic.Generic(make, [6], [0])
    sizes = table[0]._sizes
    assert not any(each is table[0] for each in reached(sizes)), "they hold what holds them"


def test_another_thread_does_not_find_a_size_for_a_number() -> None:
    size: Any = Sizes([5]).sizes[0]
    with ThreadPoolExecutor(1) as pool:
        assert not pool.submit(_equal_to_jax, size, 5).result()
        with pytest.raises(TypeError, match="outside of the trace"):
            pool.submit(size.__eq__, 5).result()
    assert _equal_to_jax(size, 5)


@pytest.mark.costly
@pytest.mark.parametrize(
    "compute",
    [
        lambda x: torch.nn.functional.softmax(x @ x.T, -1),
        lambda x: torch.tril(torch.ones(x.shape[0], x.shape[0])) @ x,
        lambda x: x.view(x.shape[0], 2, 2).transpose(0, 1).reshape(-1),
        lambda x: torch.cat((x, x[:1] * 2)),
        lambda x: x[-3:].mean() + x.sum(0),
        lambda x: x.flip(0).cumsum(0),
        lambda x: torch.arange(x.shape[0]) + x[:, 0],
        lambda x: x.unfold(0, 2, 1).sum(-1),
        lambda x: torch.nn.functional.conv1d(x.T[None], torch.ones(1, 4, 2), padding=1),
        lambda x: torch.nn.functional.pad(x, (0, 0, 1, x.shape[0] % 3)),
        lambda x: x.std(0, correction=0) + x.var(correction=0),
        lambda x: torch.nn.functional.interpolate(x.T[None], scale_factor=2),
        lambda x: torch.nn.functional.max_pool1d(x.T[None], 2),
        lambda x: x.roll(1, 0).chunk(3)[0],
        lambda x: x.repeat(2, 1).sort(0).values,
        lambda x: x[torch.arange(x.shape[0]).flip(0) - 1] + x[:, torch.tensor([-1, 2])].sum(),
        lambda x: torch.index_select(x, 0, torch.arange(x.shape[0])[::2]),
        lambda x: torch.gru(x[:, None], torch.zeros(1, 1, 2), GRU, True, 1, 0.0, False, False, False)[0],
    ],
)
def test_results_are_those_of_traces_for_the_sizes_themselves(compute: Callable[[Any], Any]) -> None:
    inputs = [torch.linspace(-1.0, 2.0, size * 4).reshape(size, 4) ** 2 for size in (2, 3, 4, 5, 1, 8, 7)]

    def result(x: torch.Tensor) -> tuple[object, object]:
        """Returns the result and the gradient of the sum of its squares, or the error."""
        try:
            x = x.clone().requires_grad_()
            out = compute(x)
            (out**2).sum().backward()
            return out.detach().numpy().copy(), x.grad.numpy().copy()
        except RuntimeError as error:
            return str(error), None

    varied = [result(x) for x in inputs]
    for x, several in zip(inputs, varied, strict=True):
        forget_compiled("test", "anew")
        for mine, other in zip(result(x), several, strict=True):
            assert type(mine) is type(other)
            np.testing.assert_array_equal(mine, other)
