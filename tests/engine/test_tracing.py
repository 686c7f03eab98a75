"""Tracing for NumPy gives JAX's shapes and dtypes without asking JAX, also for the operators for which it has shortcuts."""

import itertools
import operator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import torchlike as torch
from torchlike import nn
from torchlike.engine import compiling
from torchlike.engine.aval import Aval
from torchlike.engine.interpreter import trace, tracing, vjp
from torchlike.engine.report import report

pytestmark = pytest.mark.recorded
RNG = np.random.default_rng(0)

OPERATORS = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "truediv", "lt", "le", "gt", "ge", "eq", "ne", "and_", "or_")
}
SHAPES = [(), (1,), (3,), (1, 3), (2, 1), (2, 3), (1, 1), (2, 1, 3)]
DTYPES = [np.float32, np.float64, np.int64, np.bool_, np.complex64, jnp.bfloat16]
NUMBERS = [2, 2.5, True, 2**40]


def array(shape: tuple[int, ...], dtype: Any) -> np.ndarray:
    numbers = RNG.integers(1, 5, shape)
    return np.asarray(numbers > 2 if dtype is np.bool_ else numbers).astype(dtype)


def outcome(fn: Any) -> Any:
    """Returns shape and dtype of a result, or the type of the error."""
    try:
        result = fn()[0]
    except (TypeError, ValueError, OverflowError) as error:
        return type(error)
    return result.shape, np.dtype(result.dtype)


def by_both(fn: Any, *arrays: np.ndarray) -> tuple[Any, Any]:
    """Returns the result of a function's trace and plan, and JAX's result."""

    def ours() -> Any:
        traced = trace(fn, [Aval(a.shape, a.dtype) for a in arrays])
        with np.errstate(all="ignore"):
            results = [np.asarray(result) for result in traced.plan()(*arrays)]
        assert [(a.shape, a.dtype) for a in traced.outs] == [(r.shape, r.dtype) for r in results]
        return results

    with jax.enable_x64(True):
        theirs = outcome(lambda: jax.eval_shape(fn, *arrays))
    return outcome(ours), theirs


@pytest.mark.costly
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_arrays_are_jaxs(name):
    function = OPERATORS[name]
    # Twice: once JAX has confirmed the shape of a result, the trace no longer asks JAX.
    for shapes in [*itertools.product(SHAPES, SHAPES)] * 2:
        first, second = array(shapes[0], np.float32), array(shapes[1], np.float32)
        ours, theirs = by_both(lambda a, b: (function(a, b),), first, second)
        assert ours == theirs, shapes


@pytest.mark.costly
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_of_dtypes_and_numbers_are_jaxs(name):
    function = OPERATORS[name]
    for dtype, other in itertools.product(DTYPES, DTYPES):
        ours, theirs = by_both(lambda a, b: (function(a, b),), array((2, 3), dtype), array((3,), other))
        assert ours == theirs, (dtype, other)
    for dtype, number in itertools.product(DTYPES, NUMBERS):
        for turned in (False, True):
            ours, theirs = by_both(
                lambda a, n=number, turned=turned: (function(n, a) if turned else function(a, n),), array((2, 3), dtype)
            )
            assert ours == theirs, (dtype, number, turned)


@pytest.mark.costly
@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv"])
def test_gradients_through_operators_are_jaxs(name):
    """For differentiated arrays, other arrays and numbers, as first and as second operand."""
    once = OPERATORS[name]
    forms = {
        "arrays": lambda a, b: once(once(a, b), a),
        "number": lambda a, b: once(once(3.5, a), once(b, 2)),
        "as another dtype": lambda a, b: once(a.astype(np.float32), b.reshape(b.shape)),
    }
    sizes = [(), (3,), (1, 3), (2, 1), (2, 3)]
    for (form, function), shapes in itertools.product(forms.items(), itertools.product(sizes, sizes)):
        arrays = [array(shape, np.float32) for shape in shapes]
        for wanted in ([1], [0, 1]):

            def pulled(*chosen: Any, function: Any = function, wanted: Any = wanted, arrays: Any = arrays) -> Any:
                full = list(arrays)
                for place, value in zip(wanted, chosen, strict=True):
                    full[place] = value
                inputs = full

                def of_wanted(*values: Any) -> Any:
                    replaced = list(inputs)
                    for place, value in zip(wanted, values, strict=True):
                        replaced[place] = value
                    return [function(*replaced)]

                out = jax.eval_shape(lambda: function(*arrays))
                return vjp(of_wanted, chosen, lambda: [jnp.full(out.shape, 2, out.dtype)])

            chosen = [arrays[place] for place in wanted]
            traced = trace(pulled, [Aval(a.shape, a.dtype) for a in chosen])
            ours = traced.plan()(*chosen)
            with jax.enable_x64(True):
                theirs = pulled(*map(jnp.asarray, chosen))
            for mine, other in zip(ours, theirs, strict=True):
                assert np.shape(mine) == other.shape and np.asarray(mine).dtype == other.dtype
                np.testing.assert_allclose(mine, other, rtol=1e-5, atol=1e-6, err_msg=f"{form} {shapes} {wanted}")


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


MASK = np.array([[True, False, True]])
# Functions whose results differ from their inputs in shape, each with inputs of several sizes.
SHAPED = {
    "product": (lambda a, b: a @ b, [(f32(2, 3), f32(3, 4)), (f32(5, 1), f32(1, 1)), (f32(0, 3), f32(3, 2))]),
    "products": (lambda a, b: a @ b, [(f32(2, 4, 3), f32(2, 3, 5)), (f32(1, 1, 2), f32(1, 2, 7))]),
    "dot": (lambda a, b: lax.dot_general(a, b, (((0,), (1,)), ((), ()))), [(f32(3, 2), f32(4, 3)), (f32(1, 5), f32(2, 1))]),
    "wider dot": (
        lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ())), preferred_element_type=jnp.float64),
        [(f32(3, 2), f32(2, 3)), (f32(1, 5), f32(5, 1))],
    ),
    "select": (lambda a, b: lax.select_n(a > 0, a, b), [(f32(2, 3), f32(2, 3)), (f32(1, 1), f32(1, 1))]),
    "select by one": (lambda a, b: lax.select_n(b, a, -a), [(f32(2, 3), np.bool_(True)), (f32(4, 1), np.bool_(False))]),
    "slice": (lambda a: a[1:, ::2], [(f32(4, 5),), (f32(1, 1),), (f32(3, 8),)]),
    "squeeze": (lambda a: lax.squeeze(a, (1,)), [(f32(4, 1),), (f32(1, 1),)]),
    "concatenate": (lambda a, b: lax.concatenate([a, b, a], 1), [(f32(2, 3), f32(2, 1)), (f32(1, 1), f32(1, 4))]),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPED)
def test_shapes_that_are_guessed_are_jaxs(name, monkeypatch):
    function, cases = SHAPED[name]
    monkeypatch.setattr(tracing, "_confirmed", {})
    for inputs in [*cases, *cases]:
        traced = trace(lambda *arrays: (function(*arrays),), [Aval(np.shape(a), np.asarray(a).dtype) for a in inputs])
        with jax.enable_x64(True):
            wanted = jax.eval_shape(function, *inputs)
        assert [(a.shape, a.dtype) for a in traced.outs] == [(wanted.shape, wanted.dtype)]
    assert any(tracing._confirmed.values())


REFUSED = {
    "dot": (lambda a, b: lax.dot_general(a, b, (((1,), (0,)), ((), ()))), (f32(2, 3), f32(3, 4)), (f32(2, 3), f32(4, 3))),
    "select": (lambda a, b: lax.select_n(a > 0, b, b), (f32(2, 3), f32(2, 3)), (f32(2, 3), f32(3, 2))),
    "slice": (lambda a: lax.slice(a, (0,), (3,)), (f32(4),), (f32(2),)),
    "squeeze": (lambda a: lax.squeeze(a, (0,)), (f32(1, 2),), (f32(2, 2),)),
    "concatenate": (lambda a, b: lax.concatenate([a, b], 0), (f32(2, 3), f32(1, 3)), (f32(2, 3), f32(1, 2))),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_jax_refuses_is_refused_after_a_guess_was_confirmed(name):
    function, right, wrong = REFUSED[name]
    for _ in range(2):
        trace(lambda *arrays: (function(*arrays),), [Aval(a.shape, a.dtype) for a in right])
    with pytest.raises((TypeError, ValueError)):
        trace(lambda *arrays: (function(*arrays),), [Aval(a.shape, a.dtype) for a in wrong])


def test_no_layer_or_loss_of_usual_models_needs_a_trace_by_jax():
    """Where the internals of JAX are others than this tracing expects, all works still, but takes JAX's own time."""
    torch.manual_seed(0)
    report.traced_by_jax.clear()
    report.not_interpreted.clear()
    with compiling("never"):
        convolutions = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten())
        lstm, encoder = nn.LSTM(36, 8, batch_first=True), nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        head = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.Tanh(), nn.Dropout(0.1), nn.Linear(8, 3))
        parameters = [p for module in (convolutions, lstm, encoder, head) for p in module.parameters()]
        optimizer = torch.optim.Adam(parameters)
        for _ in range(2):
            hidden = lstm(convolutions(torch.randn(6, 1, 8, 8)).reshape(2, 3, 36))[0]
            loss = nn.functional.cross_entropy(head(encoder(hidden))[:, -1], torch.tensor([0, 2]))
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
        assert loss.isfinite()
    assert not report.traced_by_jax
    assert not report.not_interpreted


def test_a_function_traced_once_is_appended_for_other_arrays():
    traced_for = []

    def step(a: Any, state: dict[str, Any], first: bool, number: Any) -> Any:
        traced_for.append((a.shape, first))
        scaled = a * jnp.exp(number)
        return {
            "sum": scaled + state["m"] if first else scaled - state["m"],
            "same": a,
            "five": 5.0,
            "top": lax.top_k(a, 1)[0],
        }

    def fn(number: Any, *arrays: Any) -> list[Any]:
        once = tracing.traced_once(step)
        results = []
        for a, m in zip(arrays[::2], arrays[1::2], strict=True):
            for first in (True, False):
                result = once(a, {"m": m}, first, number)
                results += [result["sum"], result["same"] * result["five"], result["top"]]
        # One array twice, and a constant, are other cases.
        results.append(once(arrays[0], {"m": arrays[0]}, True, number)["sum"])
        results.append(once(arrays[2], {"m": jnp.ones(4, np.float32)}, True, number)["sum"])
        results.append(once(arrays[2], {"m": jnp.zeros(4, np.float32)}, True, number)["sum"])
        return results

    arrays = [array((4,), np.float32) for _ in range(6)] + [array((2, 3), np.float32) for _ in range(4)]
    number = np.asarray(0.5, np.float32)
    avals = [Aval(a.shape, a.dtype) for a in (number, *arrays)]
    plan = trace(fn, avals).plan()
    assert traced_for == [((4,), True), ((4,), False), ((2, 3), True), ((2, 3), False), *[((4,), True)] * 3]
    for ours, theirs in zip(plan(number, *arrays), fn(jnp.asarray(number), *map(jnp.asarray, arrays)), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6)


def test_what_reads_none_of_the_other_arrays_is_not_repeated():
    def fn(number: Any, *arrays: Any) -> list[Any]:
        once = tracing.traced_once(lambda a, number: a * jnp.exp(number))
        return [once(a, number) for a in arrays]

    arrays = [array((4,), np.float32) for _ in range(3)]
    plan = trace(fn, [Aval((), np.dtype(np.float32)), *[Aval(a.shape, a.dtype) for a in arrays]]).plan()
    assert plan.calls == 4  # one exponential and three products
    for ours, a in zip(plan(np.asarray(0.5, np.float32), *arrays), arrays, strict=True):
        np.testing.assert_allclose(ours, a * np.exp(0.5), rtol=1e-6)
