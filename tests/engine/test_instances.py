"""Plans that are filled in for sizes equal those that a builder makes anew: in results, calls and cost."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from torchlike.engine.interpreter import Shaped, as_constant
from torchlike.engine.interpreter.rules import RULES, Unsupported
from torchlike.engine.interpreter.traces import generic, instances
from torchlike.engine.interpreter.traces.instances import Instances

Function = Callable[[Any, Any, Any], Any]


def mask(size: Any, x: Any, y: Any) -> Any:
    """Its constants are computed with the plan for small sizes, and in each run for large ones."""
    below = lax.broadcasted_iota(np.int32, (size, size), 0) >= lax.broadcasted_iota(np.int32, (size, size), 1)
    return lax.select(below, x[:, None] * y, jnp.zeros((size, size), np.float32)), below


def halves(size: Any, x: Any, y: Any) -> Any:
    start = as_constant(size - 1, np.int64)
    last = lax.dynamic_slice(x, [start], [1], allow_negative_indices=False)
    return *lax.split(jnp.concatenate([x, y]), [size, size]), last


def product(size: Any, x: Any, y: Any) -> Any:
    return (jnp.exp(lax.broadcast_in_dim(x, (3, size), (1,)) @ y.reshape(size, 1)) * 2 + 1,)


def only_the_second(size: Any, x: Any, y: Any) -> Any:
    return lax.sort(y), y.sum()


def large(size: Any, x: Any, y: Any) -> Any:
    """From 128 on, results take the memory of inputs that nobody reads any more."""
    outer = x[:, None] + y
    return ((outer * 3 + 1) * outer - 2,)


def written_over(size: Any, x: Any, y: Any) -> Any:
    """From 128 on, integers that no pass computes, one of which is written over the other, and a constant that must not be."""
    numbers = lax.convert_element_type(x[:, None] * y * 9, np.int32)
    ones = lax.broadcast_in_dim(as_constant(1, np.int32), (5, 7), ())
    return numbers * numbers + numbers, lax.sub(lax.mul(ones, ones), ones), ones


def flags(size: Any, x: Any, y: Any) -> Any:
    """From 128 on, one pass over booleans, of fewer bytes than are reused."""
    positive = (x[:, None] + y) > 0
    return (lax.bitwise_not(lax.bitwise_or(positive, (x[:, None] - y) > 0)),)


def columns(size: Any, x: Any, y: Any) -> Any:
    """Columns, which join a pass with rows however few they are."""
    column = x[:, None] + y[:, None]
    return (column * column, jnp.exp(column))


def padded(size: Any, x: Any, y: Any) -> Any:
    """Parts of one array, as in the gradient of a split one: zeros are written, and only where a part is added."""
    parts = [lax.pad(x[:, None] * y, np.float32(0), ((n, 2 - n, 0), (0, 0, 0))) for n in range(2)]
    return (parts[0] + parts[1],)


def unchanged(size: Any, x: Any, y: Any) -> Any:
    """Primitives that do nothing to an array, one after the other: they are no calls, and an input may be a result."""
    same = lax.stop_gradient(lax.convert_element_type(lax.stop_gradient(x), np.float32))
    return same, same + lax.stop_gradient(y)


FUNCTIONS = [mask, halves, product, only_the_second, large, written_over, flags, columns, padded, unchanged]
SIZES = [5, 9, 31, 32, 33, 64, 130, 7]


def make(function: Function, sizes: Sequence[Any]) -> tuple[Callable[..., Any], list[Shaped]]:
    (size,) = sizes
    shapes = [Shaped((size,), np.dtype(np.float32))] * 2
    return lambda x, y: tuple(function(size, x, y)), shapes


def kind_of(call: Sequence[Any]) -> object:
    """Whether it is a function of NumPy's, writes over an input, or may join a pass."""
    return call[0] if isinstance(call[0], np.ufunc) else type(call[0])


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_a_plan_that_is_filled_in_is_the_one_that_is_made_anew(function: Function) -> None:
    traced = Instances(generic.Generic(lambda sizes: make(function, sizes), [6], [0]))
    random = np.random.default_rng(0)
    for size in SIZES:
        instance, whole = traced([size]), traced.whole([size])
        assert [(out.shape, out.dtype) for out in instance.outs] == [(out.shape, out.dtype) for out in whole.outs]
        assert (instance.reads(), instance.convolutions) == (whole.reads(), whole.convolutions)
        arrays = random.standard_normal((2, size)).astype(np.float32)
        plan, anew = instance.plan(), whole.plan()
        assert (plan.calls, plan.outputs, plan.cost) == (anew.calls, anew.outputs, anew.cost)
        assert [*map(kind_of, plan._calls)] == [*map(kind_of, anew._calls)]
        for _ in range(2):  # a run leaves nothing behind
            for result, expected in zip(plan(*arrays), anew(*arrays), strict=True):
                np.testing.assert_array_equal(result, expected, strict=True)
        read = sorted(instance.reads())
        for result, expected in zip(instance.taking(read).plan()(*arrays[read]), anew(*arrays), strict=True):
            np.testing.assert_array_equal(result, expected, strict=True)


def test_large_results_are_written_over_what_nobody_reads_any_more() -> None:
    """The sum takes the memory of the product, so that there are two arrays at once and not three."""
    size = 1000
    traced = Instances(generic.Generic(lambda sizes: make(written_over, sizes), [6], [0]))
    arrays = np.ones((2, size), np.float32)
    for plan in (traced([size]).plan(), traced.whole([size]).plan()):
        plan(*arrays)
        tracemalloc.start()
        try:
            plan(*arrays)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert 2 * 4 * size**2 <= peak < 2.5 * 4 * size**2


def test_what_a_constant_is_depends_on_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Breaks the invariant on purpose: a template serves only sizes that make the same constants."""
    traced = Instances(generic.Generic(lambda sizes: make(mask, sizes), [6], [0]))
    small, large_size = traced([5]).plan(), traced([64]).plan()
    assert small.calls < large_size.calls
    monkeypatch.setattr(instances, "MAX_CONSTANT_BYTES", 2**30)
    assert traced([64]).plan().calls == small.calls


def test_a_primitive_without_a_rule_is_named() -> None:
    # fmt: off
    traced = Instances(generic.Generic(lambda sizes: make(lambda size, x, y: [lax.lgamma(x), lax.igamma(x, y)], sizes), [6], [0]))
    # fmt: on
    with pytest.raises(Unsupported, match="igamma"):
        traced([5]).plan()


def test_what_does_nothing_is_no_call() -> None:
    traced = Instances(generic.Generic(lambda sizes: make(unchanged, sizes), [6], [0]))
    assert (traced([5]).plan().calls, traced.whole([5]).plan().calls) == (1, 1)


def test_a_function_serves_all_sizes_only_if_its_rule_looks_at_no_shape() -> None:
    floats = [Shaped((3,), np.dtype(np.float32))] * 2
    for_any_size = instances._for_any_size
    assert for_any_size(RULES["add"], {}, floats[:2], floats[:1]) is np.add
    assert for_any_size(RULES["reshape"], {}, floats[:1], floats[:1]) is None
    assert for_any_size(RULES["reduce_sum"], {"axes": (0,)}, floats[:1], floats[:1]) is None
    assert (
        for_any_size(lambda params, ins, outs: lambda x: x.reshape(outs[0].shape), {}, floats[:1], floats[:1]) is None
    )
