"""Pooling by the largest element, held against a loop over windows: values, positions and derivatives, on CPUs and in the way of TPUs."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import torchlike as torch
from torchlike.engine import compiling
from torchlike.engine.aval import Aval
from torchlike.engine.interpreter import trace, windows as rules
from torchlike.engine.interpreter.rules import RULES
from torchlike.numerics.exact_math import computed_on
from torchlike.ops.nn.pool import max_pool

pytestmark = pytest.mark.recorded

# kernel, stride, padding, dilation, ceil_mode
WINDOWS = [
    ((2, 2), (2, 2), (0, 0), (1, 1), False),
    ((3, 3), (2, 2), (1, 1), (1, 1), False),
    ((2, 2), (2, 2), (0, 0), (1, 1), True),
    ((3, 2), (2, 1), (1, 1), (1, 1), True),
    ((2, 2), (3, 3), (0, 0), (1, 1), False),  # elements that are in no window
    ((3, 3), (1, 2), (2, 1), (2, 1), False),
    ((3,), (2,), (1,), (1,), True),
    ((2, 2, 2), (2, 1, 2), (1, 0, 1), (1, 1, 1), False),
]


def images(dims, equal):
    """Pictures with infinities and NaN; if ``equal`` with equal elements, several NaN in a window, and one with nothing but -inf."""
    random = np.random.default_rng(0)
    x = random.standard_normal((2, 3, *(7, 8, 5)[:dims])).astype(np.float32) * 2
    x = np.round(x) if equal else x
    flat = x.reshape(2, 3, -1)
    flat[1, 0, :2] = np.inf, np.nan
    if equal:
        flat[0, 0, [2, 3]] = np.nan
        flat[0, 1] = -np.inf
    return x


def by_loop(x, sizes, kernel, stride, padding, dilation):
    """The position of each window's first largest element, or of its last NaN, in the flattened image."""
    lengths = x.shape[2:]
    found = np.empty((*x.shape[:2], *sizes), np.int64)
    for n, c, *at in np.ndindex(found.shape):
        best = None
        for place in itertools.product(*map(range, kernel)):
            here = [a * s - p + o * d for a, s, p, o, d in zip(at, stride, padding, place, dilation, strict=True)]
            if all(0 <= i < length for i, length in zip(here, lengths, strict=True)):
                value = x[(n, c, *here)]
                if best is None or value > best or np.isnan(value):
                    best, found[(n, c, *at)] = value, np.ravel_multi_index(here, lengths)
    return found


def added(like, places, numbers):
    """Zeros, to which numbers are added at positions of the flattened images."""
    out = np.zeros_like(like)
    for n, c in np.ndindex(like.shape[:2]):
        np.add.at(out[n, c].reshape(-1), places[n, c].ravel(), numbers[n, c].ravel())
    return out


def derivatives(x, cotangent, tangent, windows):
    """What pooling gives, where, and its derivatives: backward, forward, twice, of mapped images, of mapped cotangents."""

    def values(x):
        return max_pool.declared.compute(x, *windows, "")[0]

    def back(x, cotangent):
        return jax.vjp(values, x)[1](cotangent)[0]

    return (
        max_pool.declared.compute(x, *windows, ""),
        back(x, cotangent),
        jax.jvp(values, (x,), (tangent,))[1],
        jax.vjp(lambda c: back(x, c), cotangent)[1](tangent)[0],
        jax.vmap(back)(x[:, None], cotangent[:, None])[:, 0],
        jax.vmap(lambda c: back(x, c))(jnp.stack([cotangent, 2 * cotangent]))[1] / 2,
    )


@pytest.mark.parametrize("platform", ["cpu", "tpu"])
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_the_largest_of_each_window_and_what_follows_from_where_it_is(windows, platform):
    *window, _ = windows
    dims = len(window[0])
    # Of equal elements, XLA's operation for TPUs may take any.
    x = images(dims, equal=platform == "cpu")
    sizes = max_pool.declared.compute(x, *windows, "")[0].shape
    random = np.random.default_rng(1)
    cotangent, tangent = (random.standard_normal(shape).astype(np.float32) for shape in (sizes, x.shape))
    with jax.enable_x64(True), computed_on(platform):
        (out, places), *found = jax.jit(functools.partial(derivatives, windows=windows))(x, cotangent, tangent)
    wanted = by_loop(x, sizes[2:], *window)

    def picked(images):
        return np.take_along_axis(images.reshape(2, 3, -1), wanted.reshape(2, 3, -1), 2).reshape(sizes)

    np.testing.assert_array_equal(places, wanted)
    np.testing.assert_array_equal(out, picked(x))
    backward = added(x, wanted, cotangent)
    for got, right in zip(found, (backward, picked(tangent), picked(tangent), backward, backward), strict=True):
        np.testing.assert_allclose(got, right, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_on_tpus_one_of_the_largest_gets_the_gradient(windows):
    *window, _ = windows
    x = images(len(window[0]), equal=True)
    with jax.enable_x64(True), computed_on("tpu"):
        out, pull = jax.jit(lambda x: jax.vjp(lambda x: max_pool.declared.compute(x, *windows, "")[0], x))(x)
        ones = np.asarray(pull(jnp.ones_like(out))[0])
    # As many as there are windows in each image; and what a window holds of equal elements is worth the same.
    assert (ones.sum(tuple(range(2, x.ndim))) == np.prod(out.shape[2:])).all()
    finite = np.isfinite(x).all(tuple(range(2, x.ndim)))
    axes = tuple(range(1, x.ndim - 1))
    np.testing.assert_allclose((ones[finite] * x[finite]).sum(axes), out[finite].sum(axes), rtol=1e-5)


def test_on_tpus_the_gradient_is_one_operation_of_xla():
    x = np.zeros((2, 3, 8, 8), np.float32)

    def gradient(x):
        return jax.grad(lambda x: max_pool.declared.compute(x, *WINDOWS[1], "")[0].sum())(x)

    for platform, count in (("cpu", 0), ("tpu", 1)):
        with computed_on(platform):
            text = jax.jit(lambda x: gradient(x)).lower(x).as_text()
        assert text.count("select_and_scatter") == count


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("by_c", [True, False], ids=["elements.c", "NumPy"])
@pytest.mark.parametrize("copies", [1, 60], ids=["", "wide"])
@pytest.mark.parametrize("windows", WINDOWS, ids=str)
def test_op_by_op_the_gradient_has_the_bits_of_a_program(windows, by_c, dtype, copies, monkeypatch):
    """Also where windows share elements, which add up in the same order, and for more windows in a line than are compared at once."""
    if not by_c:
        monkeypatch.setattr(rules, "elements", None)
    x = np.concatenate([images(len(windows[0]), equal=True).astype(dtype)] * copies, axis=-1)
    random = np.random.default_rng(1)

    def back(x, cotangent):
        return jax.vjp(lambda x: max_pool.declared.compute(x, *windows, "")[0], x)[1](cotangent)

    with jax.enable_x64(True):
        cotangent = random.standard_normal(max_pool.declared.compute(x, *windows, "")[0].shape).astype(dtype)
        (program,) = jax.jit(back)(x, cotangent)
    plan = trace(back, [Aval(a.shape, a.dtype) for a in (x, cotangent)]).plan()
    with np.errstate(all="ignore"):
        (found,) = plan(x, cotangent)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, program)


@pytest.mark.parametrize("size", [62, 10], ids=["alone", "one of several operations in a row"])
def test_positions_that_nobody_reads_are_not_computed(size, monkeypatch):
    computed = []

    def noted(params, ins, outs, rule=RULES["gather"]):
        compute = rule(params, ins, outs)
        return lambda *arrays: (computed.append(True), compute(*arrays))[1]

    monkeypatch.setitem(RULES, "gather", noted)
    x = torch.randn(5, 9, size, size - 4)
    with compiling("never"):
        for _ in range(3):  # from the second time on operations in a row share a plan
            values = torch.nn.functional.max_pool2d(x, 2) * 2
            assert values.sum().isfinite().item()
        assert not computed
        values, positions = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
        positions.tolist()
        assert computed
        assert torch.equal(x.flatten(2).gather(2, positions.flatten(2)).view_as(values), values)
