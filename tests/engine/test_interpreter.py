"""Functions of JAX, traced into plans for NumPy, give the same results as when XLA compiles them."""

import math
import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import torchlike as torch
from torchlike.engine import compiling
from torchlike.engine.aval import Aval
from torchlike.engine.interpreter import Unsupported, linalg, scan, trace, tracing, vjp
from torchlike.engine.interpreter.rules import RULES
from torchlike.numerics.picking import picked_along
from torchlike.numerics.scatter import along

RNG = np.random.default_rng(0)


def f32(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def i64(*values: Any) -> np.ndarray:
    return np.array(values, np.int64)


def both(fn: Any, *arrays: np.ndarray) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Returns the result of the plan of a function, and XLA's."""
    traced = trace(fn, [Aval(a.shape, a.dtype) for a in arrays])
    with np.errstate(all="ignore"):
        ours = [np.asarray(a) for a in traced.plan()(*arrays)]
    with jax.enable_x64(True):
        theirs = [np.asarray(a) for a in jax.jit(fn)(*arrays)]
    assert [(a.shape, a.dtype) for a in traced.outs] == [(a.shape, a.dtype) for a in theirs]
    return ours, theirs


def agree(fn: Any, *arrays: np.ndarray) -> None:
    ours, theirs = both(fn, *arrays)
    for mine, other in zip(ours, theirs, strict=True):
        assert (mine.shape, mine.dtype) == (other.shape, other.dtype)
        np.testing.assert_allclose(mine, other, rtol=2e-5, atol=1e-6)


def convolution(**options: Any) -> Any:
    return lambda x, w: (lax.conv_general_dilated(x, w, **{"window_strides": (1, 1), "padding": "SAME", **options}),)


def pooled(function: Any, start: float, **options: Any) -> Any:
    return lambda x: (lax.reduce_window(x, np.float32(start), function, (1, 2, 3), (1, 2, 1), **options),)


def fori(x: jax.Array) -> Any:
    return (lax.fori_loop(0, 5, lambda i, y: y * 1.5 + i, x),)


def scanned(x: jax.Array, reverse: bool = False) -> Any:
    def step(carry: Any, row: Any) -> Any:
        carry = jnp.tanh(carry + row)
        return carry, (carry * 2, row)

    with jax.disable_jit(False):
        last, (doubled, rows) = lax.scan(step, jnp.zeros(x.shape[1:], x.dtype), x, reverse=reverse)
    return last, doubled, rows


def window_gather(mode: str, **options: Any) -> Any:
    numbers = lax.GatherDimensionNumbers(offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(0, 1))
    return lambda x, i: (lax.gather(x, i, numbers, slice_sizes=(2, 3), mode=mode, **options),)


def batched_gather(x: jax.Array, i: jax.Array) -> Any:
    return (jax.vmap(lambda row, j: row[j])(x, i),)


def window_scatter(function: Any, mode: str) -> Any:
    numbers = lax.ScatterDimensionNumbers((1, 2), (), (0, 1))
    return lambda x, i, u: (function(x, i, u, numbers, mode=mode),)


def _horner(x: jax.Array, coefficients: tuple[float, ...]) -> Any:
    """``lax.polynomial``, which JAX has from version 0.12 on."""
    return jnp.polyval(jnp.asarray(coefficients[::-1], x.dtype), x)


def along_dimensions(x: jax.Array, i: jax.Array, u: jax.Array) -> Any:
    """Of all dimensions in turn: elements picked, set and added. ``i``: no more than the size of each."""
    ways = (lax.scatter, lax.scatter_add, lax.scatter_max)
    at = [(lax.rem(i, jnp.int64(n)), dim) for dim, n in enumerate(x.shape)]
    return [f for i, d in at for f in (picked_along(x, i, d), *[along(way, x, i, d, u) for way in ways])]


X, PLACES = f32(5, 6), i64([0, 0], [3, 3], [4, 5], [-1, 2])
MANY = np.random.default_rng(0).integers(-3, 9, (5000, 2))
CASES: dict[str, tuple[Any, ...]] = {
    "elementwise": (
        lambda x: [f(x) for f in (jnp.exp, jnp.tanh, jnp.sin, lax.rsqrt, lax.logistic, jnp.sign, jnp.floor, lax.erf, jnp.cbrt)],
        np.abs(f32(3, 4)),
    ),
    "logarithm to base 2": (lambda x: (jnp.log2(x),), np.abs(f32(5))),
    "gradients that newer versions of JAX compute by primitives of their own": (
        lambda x: [jax.grad(lambda x, f=f: f(x / 9).sum())(x) for f in (jnp.tanh, lax.erf, lax.atanh, lax.asin)], f32(5)
    ),
    "polynomial": (lambda x: (getattr(lax, "polynomial", _horner)(x, (1.0, -2.0, 0.5)),), f32(5)),
    "special": (lambda x: [f(x) for f in (lax.erfc, lax.erf_inv, lax.lgamma, lax.digamma, lax.bessel_i0e)], f32(7) / 4),
    "signs of zeros": (lambda x: (1 / jnp.sign(x), 1 / jnp.round(x)), np.array([0.0, -0.0], np.float32)),
    "rounding away from zero": (
        lambda x: (lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO),),
        np.array([0.5, -0.5, 1.5, 2.5, 0.49999997, -2.4], np.float32),
    ),
    "integer division": (lambda a, b: (lax.div(a, b), lax.rem(a, b)), i64(7, -7, 7, -7, 5, 0), i64(2, 2, -2, -2, 0, 3)),
    "shifts": (
        lambda a, n: (lax.shift_left(a, n), lax.shift_right_logical(a, n), lax.shift_right_arithmetic(a, n)),
        i64(5, -5, 7, -8, 1), i64(1, 2, 64, 63, 70),
    ),
    "powers": (lambda x: (x**3, x**-2, lax.pow(x, 2), lax.pow(x, jnp.float32(0.5))), np.abs(f32(4))),
    "saturation": (
        lambda x: (x.astype(np.int32), x.astype(np.uint8), x.astype(np.int64), x.astype(bool)),
        np.array([1.7, -1.7, 300, -300, 1e30, -1e30, np.nan, np.inf, 0], np.float32),
    ),
    "bits": (lambda x: (lax.bitcast_convert_type(x, np.int32), lax.reduce_precision(x, 5, 10)), f32(5)),
    "choice": (lambda x, w: (lax.select_n(w, x, -x, x * 2), jnp.where(x > 0, x, 0), lax.clamp(-abs(x), x * 2, abs(x))), f32(4),
               np.array([0, 2, 1, 1], np.int32)),
    "complex": (lambda x, y: (lax.complex(x, y), jnp.abs(lax.complex(x, y)), jnp.conj(lax.complex(x, y)).imag), f32(3), f32(3)),
    "shapes": (
        lambda x: (x.T, x.reshape(3, 10), x[None], jnp.broadcast_to(x[:, :1], (5, 4)), x[::-1, 1:5:2], jnp.tile(x, (2, 1)),
                   jnp.concatenate([x, x], 1), jnp.stack([x, x], 1), *jnp.split(x, 3, axis=1), *jnp.unstack(x)),
        X,
    ),
    "padding": (lambda x: (lax.pad(x, np.float32(0), [(1, 2, 0), (0, 1, 2)]), lax.pad(x, np.float32(1), [(-1, -2, 0), (-2, 3, 1)])), X),
    "reductions": (
        lambda x: (x.sum(0), x.sum(), x.max(1), x.min((0, 1)), x.prod(1), (x > 0).all(0), (x > 0).any(), x.argmax(1), x.argmin(0)), X
    ),
    "reductions along dimensions of one": (
        lambda x: (x.sum(0), x.sum((0, 2)), x.max(2), x.min((0, 2)), x.prod(0), (x > 0).any((0, 2)), x.sum(1),
                   x.argmax(2), x.argmin(0)), f32(1, 4, 1)
    ),
    "spread from parts": (
        lambda x: (jnp.broadcast_to(x.T[:, :1], (4, 6, 3)), lax.broadcast_in_dim(x[:, 0], (2, 5, 3), (1,)),
                   jnp.broadcast_to(x[:, None], (5, 7, 6)), jnp.broadcast_to(x[1, 2], (3, 2)), jnp.broadcast_to(x[:0, :1], (0, 3))),
        f32(5, 6),
    ),
    "reductions of small integers": (lambda x: (x.sum(dtype=np.int8), x.max()), np.array([100, 100, 3], np.int8)),
    "empty reductions": (lambda x: (x.sum(0), jnp.max(x, 0, initial=-1.0)), f32(0, 3)),
    "accumulations": (
        lambda x: (jnp.cumsum(x, 0), lax.cumprod(x, 1, reverse=True), lax.cummax(x), lax.cummin(x), lax.cumlogsumexp(x)), X
    ),
    "products": (
        lambda x, y: (x @ y.T, x.T @ x, lax.dot_general(x, y, (((0,), (0,)), ((), ()))), jnp.einsum("ij,kj->", x, y),
                      jnp.einsum("bij,bjk->bki", x[None], y.T[None])),
        X, f32(5, 6),
    ),
    "products of integers": (lambda a, b: (jnp.dot(a, b),), i64([1, 2], [3, 4]), i64([5, 6], [7, 8])),
    "convolution": (convolution(), f32(2, 3, 7, 8), f32(4, 3, 3, 3)),
    "convolution with strides and holes": (
        convolution(window_strides=(2, 1), padding=((1, 2), (0, 3)), rhs_dilation=(1, 2)), f32(2, 3, 7, 8), f32(4, 3, 3, 2)
    ),
    "transposed convolution": (convolution(lhs_dilation=(2, 3), padding=((2, 1), (1, 1))), f32(2, 3, 4, 5), f32(4, 3, 3, 3)),
    "convolution in groups": (convolution(feature_group_count=3), f32(2, 6, 5, 5), f32(9, 2, 3, 3)),
    "gradient of a convolution in groups": (
        lambda x, w: jax.vjp(lambda x, w: convolution(feature_group_count=2)(x, w)[0], x, w)[1](jnp.ones((2, 4, 5, 5), np.float32)),
        f32(2, 6, 5, 5), f32(4, 3, 3, 3),
    ),
    "convolution with channels last": (
        convolution(dimension_numbers=("NHWC", "HWIO", "NHWC")), f32(2, 5, 6, 3), f32(3, 2, 3, 4)
    ),
    "largest in windows": (pooled(lax.max, -np.inf, padding="SAME"), f32(2, 6, 7)),
    "sums of windows": (pooled(lax.add, 0.0, padding=((0, 0), (1, 0), (2, 2)), window_dilation=(1, 2, 1)), f32(2, 6, 7)),
    "rows": (lambda x, i: (x[i], x[:, i], x[i, i]), X, i64(0, 4, 2, 2)),
    "windows clipped": (window_gather("clip"), X, PLACES),
    "many windows": (
        lambda x, i: [window_gather("clip")(x, places)[0] for places in (i, abs(i), abs(i) % 4, -abs(i))], X, MANY
    ),
    "along dimensions": (along_dimensions, f32(3, 4, 5), np.arange(24).reshape(2, 4, 3) % 7, f32(2, 4, 3)),
    "along a dimension": (along_dimensions, f32(70), np.random.default_rng(0).integers(0, 70, 9000), f32(9000)),
    "windows filled": (window_gather("fill", fill_value=7.0), X, PLACES),
    "windows of a batch": (batched_gather, f32(3, 4), i64([0, 1], [3, 3], [2, 0])),
    "one element": (lambda x: (x[2, 3], x.at[2, 3].set(9.0), x.at[2].set(1.0)), X),
    "set": (lambda x, i, u: (x.at[i].set(u, unique_indices=True),), X, i64(0, 4), f32(2, 6)),
    "add": (lambda x, i, u: (x.at[i].add(u), x.at[:, i].add(u[:1, :4].T[:5].sum()), x.at[i].max(u), x.at[i].multiply(u)), X,
            i64(0, 4, 4, 2), f32(4, 6)),
    "windows added, some outside": (window_scatter(lax.scatter_add, "drop"), X, PLACES, f32(4, 2, 3)),
    "many windows added": (
        lambda x, i: (jnp.zeros((5, 6)).at[i[:, 0], i[:, 1]].add(1.0), x.at[abs(i[:, 0]) % 5, abs(i[:, 1]) % 6].min(0.0)), X, MANY
    ),
    "windows set, clipped": (window_scatter(lax.scatter, "clip"), X, PLACES[:2], f32(2, 2, 3)),
    "moving slices": (
        lambda x, i: (lax.dynamic_slice(x, (i[0], i[1]), (2, 3)), lax.dynamic_update_slice(x, x[:2, :3] * 0, (i[1], i[0]))), X, i64(4, -3)
    ),
    "search": (lambda x: (jnp.searchsorted(jnp.sort(x[:, 0]), x, side="right"), jnp.searchsorted(i64(1, 3), jnp.arange(5))), X),
    "total_order": (
        lambda x: (lax.lt_to_p.bind(x, x[::-1]), lax.le_to_p.bind(x, x[::-1]), lax.eq_to_p.bind(x, -x)),
        np.array([0.0, -0.0, np.nan, 1, -np.inf, -np.nan, -1, np.inf], np.float32),
    ),
    "sort": (lambda x: (jnp.sort(x, 0), jnp.argsort(-x, 1), *lax.sort((x.round(), x, -x), num_keys=2)), X),
    "sort of NaN": (lambda x: (jnp.sort(x), jnp.argsort(x)), np.array([2, np.nan, -np.inf, 1, np.nan, 0], np.float32)),
    "top": (lambda x: lax.top_k(x, 3), np.array([[1, 3, 3, 2], [np.nan, 1, 5, 5]], np.float32)),
    "fixed number of rounds": (fori, f32(3)),
    "rounds until": (lambda x: (lax.while_loop(lambda y: y.sum() < 50, lambda y: y * 2, x),), np.abs(f32(3)) + 1),
    "branches": (lambda x, n: (lax.switch(n, [jnp.sin, jnp.cos, jnp.tanh], x), lax.cond(n > 0, jnp.exp, jnp.log, x)),
                 np.abs(f32(3)), np.array(9, np.int32)),
    "scan": (scanned, f32(4, 3)),
    "scan backward": (lambda x: scanned(x, reverse=True), f32(4, 3)),
    "Fourier": (lambda x: (jnp.fft.fft(x), jnp.fft.rfft(x), jnp.fft.irfft(jnp.fft.rfft(x), 6), jnp.fft.ifft2(x)), X),
    "by LAPACK": (
        lambda x: (*lax.linalg.lu(x), lax.linalg.cholesky(x @ x.T + jnp.eye(4, dtype=np.float32)), *jnp.linalg.qr(x[:, :2], "complete"),
                   *jnp.linalg.svd(x[:2], full_matrices=False), *jnp.linalg.eigh(x @ x.T), jnp.linalg.solve(x, x[:2].T)),
        f32(4, 4),
    ),
    "functions of complex numbers": (
        lambda z: [f(z) for f in (lax.log1p, lax.logistic, jnp.log2)],
        np.array([0, 1e-6 - 1e-7j, -1, 3 + 4j, -0.4 + 0.3j, 200 - 1j, -200 + 1j, 1e30 + 1e30j], np.complex64),
    ),
    "zeta": (
        lambda x, q: (lax.zeta(x, q), *[lax.polygamma(jnp.full_like(q, n), q) for n in (0, 1, 2, 3)]),
        np.array([1.0, 2.0, 3.5, 2.0, 0.5, 2.5], np.float32), np.array([2.0, 3.0, 0.5, -1.5, 1.0, -1.5], np.float32),
    ),
    "bits of other sizes": (
        lambda x, b: (lax.bitcast_convert_type(x.T, np.uint8), lax.bitcast_convert_type(b, np.float32),
                      lax.bitcast_convert_type(b[:0], np.float32)),
        f32(2, 3), RNG.integers(0, 256, (3, 4), np.uint8),
    ),
    "reduction by a function": (
        lambda b: [lax.reduce(b, b.dtype.type(5), f, (1,)) for f in (lax.bitwise_xor, lax.add, lax.max)],
        RNG.integers(0, 256, (3, 4), np.uint8),
    ),
    "products of truth values": (lambda x: (jnp.dot(x > 0, x.T > 0),), X),
    "convolution of integers": (convolution(), i64(*range(24)).reshape(1, 2, 3, 4), i64(*range(36)).reshape(2, 2, 3, 3)),
    "convolution of half numbers": (
        lambda x, w: (convolution()(x.astype(np.float16), w.astype(np.float16))[0].astype(np.float32),),
        i64(*range(24)).reshape(1, 2, 3, 4), i64(*range(36)).reshape(2, 2, 3, 3),
    ),
    "products of half numbers": (
        lambda x, y: (jnp.dot(x.astype(jnp.bfloat16), y.astype(jnp.bfloat16)).astype(np.float32),),
        RNG.integers(-8, 8, (5, 6)), RNG.integers(-8, 8, (6, 3)),
    ),
    "products of groups": (
        lambda a, b, sizes: (lax.ragged_dot(a, b, sizes), *jax.vjp(lambda a, b: lax.ragged_dot(a, b, sizes), a, b)[1](a[:, :2])),
        f32(6, 4), f32(3, 4, 2), np.array([1, 0, 4], np.int32),
    ),
    "random bits left to nobody": (lambda x: (lax.stop_gradient(x), lax.optimization_barrier(x)), X),
}  # fmt: skip


@pytest.mark.recorded
@pytest.mark.parametrize("name", CASES)
def test_numpy_computes_what_xla_computes(name):
    fn, *arrays = CASES[name]
    agree(fn, *arrays)


@pytest.mark.recorded
def test_half_types_are_computed_in_float32_and_rounded_once():
    for dtype in (np.float16, jnp.bfloat16):
        x = jnp.asarray(f32(3, 200)).astype(dtype)
        fn = lambda x: (jnp.exp(x) * x, lax.reduce_sum_p.bind(x, axes=(1,), out_sharding=None))  # noqa: E731
        ours, theirs = both(fn, np.asarray(x))
        np.testing.assert_array_equal(ours[0].astype(np.float32), theirs[0].astype(np.float32))
        exact = np.asarray(x).astype(np.float64).sum(1)
        np.testing.assert_allclose(ours[1].astype(np.float64), exact, rtol=1e-2)


@pytest.mark.recorded
def test_large_results_take_memory_that_nothing_reads_any_more_and_no_other():
    def chain(x: Any) -> Any:
        a = jnp.sin(x)
        row, b = a[:1] * 1, a * 2  # `row` is a view of `a`, so the memory of `a` is not reused
        c = b + 1
        d = c * c
        e = d - b.T.T
        return e * 0.5, row, d + 0, c.reshape(-1)

    x = f32(200, 300)
    before = x.copy()
    agree(chain, x)
    assert (x == before).all(), "inputs are not written to"
    agree(lambda x: (jnp.exp(jnp.sin(jnp.cos(x))) * 2 + 1,), x)


@pytest.mark.recorded
@pytest.mark.parametrize(("rows", "kept", "calls"), [(3, 2 * 3 * 10 * 4, 2), (300, 2 * 4, 4)])
def test_plans_keep_small_constants_and_make_large_ones_in_each_run(rows, kept, calls):
    """Each size has its own plan. With constants as large as a batch, the plans would fill the memory."""

    def fn(x: jax.Array) -> Any:
        lax.full((7,), 1, x.dtype)  # nothing reads it
        return (lax.add(lax.max(x, lax.full((rows, 10), 0.5, x.dtype)), lax.full((rows, 10), 2, x.dtype)),)

    x = f32(rows, 10)
    plan = trace(fn, [Aval(x.shape, x.dtype)]).plan()
    assert sum(value.nbytes for value in plan._slots if isinstance(value, np.ndarray)) == kept
    assert plan.calls == calls
    np.testing.assert_array_equal(plan(x)[0], np.maximum(x, np.float32(0.5)) + 2)


@pytest.mark.recorded
def test_denormal_numbers_are_seen():
    tiny = np.array([1e-45, 0.0], np.float32)
    traced = trace(lambda x: (x > 0,), [Aval(tiny.shape, tiny.dtype)])
    assert traced.plan()(tiny)[0].tolist() == [True, False]


@pytest.mark.recorded
def test_a_primitive_without_rule_is_named_and_its_shape_is_inferred():
    assert "igamma" not in RULES
    traced = trace(lambda x: (lax.igamma(x, x) + 1, x * 2), [Aval((3,), np.dtype(np.float32))])
    assert [out.shape for out in traced.outs] == [(3,), (3,)]
    with pytest.raises(Unsupported, match="igamma"):
        traced.plan()


def quotient(x: jax.Array, y: jax.Array) -> list[jax.Array]:
    return [
        jax.nn.relu(x) / (y * y + 1),
        jnp.where(x > y, x, y).sum(0),
        x[:2].T @ y[:2],
        jnp.sort(x, 0),
        x.at[0].add(y[0]),
    ]


@jax.custom_vjp
def halved(x: jax.Array) -> jax.Array:
    return x / 2


halved.defvjp(lambda x: (x / 2, x), lambda x, ct: (ct * x,))  # its derivative is not the function's own


@jax.custom_jvp
def doubled(x: jax.Array) -> jax.Array:
    return x * 2


doubled.defjvp(lambda primals, tangents: (primals[0] * 2, tangents[0] * primals[0]))


def looped(x: jax.Array, y: jax.Array) -> list[jax.Array]:
    return [*scanned(x * y)]


FUNCTIONS = {
    "arithmetic and indexing": quotient,
    "derivatives of their own": lambda x, y: [halved(x) * y, doubled(jnp.sin(y)) + halved(doubled(x))],
    "a loop": looped,
    "something that does not depend on one": lambda x, y: [jnp.exp(y)],
}


@pytest.mark.recorded
@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_those_of_jax(name):
    fn, x, y = FUNCTIONS[name], f32(4, 3), f32(4, 3)
    with jax.enable_x64(True):
        outs, pull = jax.vjp(fn, x, y)
        weights = [f32(*out.shape) for out in outs]
        expected = pull(list(weights))
    traced = trace(
        lambda x, y, *weights: vjp(fn, [x, y], lambda: list(weights)),
        [Aval(a.shape, a.dtype) for a in (x, y, *weights)],
    )
    for mine, other in zip(traced.plan()(x, y, *weights), expected, strict=True):
        np.testing.assert_allclose(mine, np.asarray(other), rtol=1e-5, atol=1e-6)


@pytest.mark.recorded
def test_second_derivatives_are_those_of_jax():
    def first(x: Any) -> Any:
        return vjp(lambda x: [jnp.tanh(halved(x)) * doubled(x)], [x], lambda: [jnp.ones(3, jnp.float32)])

    def first_of_jax(x: Any) -> Any:
        return jax.vjp(lambda x: [jnp.tanh(halved(x)) * doubled(x)], x)[1]([jnp.ones(3, jnp.float32)])

    x = f32(3)
    traced = trace(lambda x: vjp(lambda x: list(first(x)), [x], lambda: [x * 0 + 1]), [Aval((3,), x.dtype)])
    (expected,) = jax.vjp(lambda x: list(first_of_jax(x)), x)[1]([jnp.ones(3, jnp.float32)])
    np.testing.assert_allclose(traced.plan()(x)[0], expected, rtol=1e-5)


@pytest.mark.recorded
def test_an_input_counts_as_read_if_a_derivative_may_read_it():
    @jax.custom_vjp
    def ignoring(x: jax.Array, y: jax.Array) -> jax.Array:
        return x * 1

    ignoring.defvjp(lambda x, y: (x * 1, y), lambda y, ct: (ct * y, ct))
    avals = [Aval((3,), np.dtype(np.float32))] * 3
    traced = trace(lambda x, y, z: (ignoring(x, y), jnp.zeros_like(z)), avals)
    assert traced.reads() == {0, 1}
    x = f32(3)
    np.testing.assert_array_equal(traced.taking([0, 1]).plan()(x, x)[0], x)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("length", [0, 1, 5])
def test_a_scan_traces_its_body_once_and_gives_what_jax_gives(length, reverse):
    traces = []

    def loop(scan):
        def fn(weight, first, rows):
            bias = jnp.tanh(weight[0])  # values from outside: computed, constant, and an input

            def step(carry, row):
                traces.append(1)
                state, _ = carry
                state = jnp.tanh(state @ weight + bias) + row["a"] * np.float32(2)
                return (state, None), {"sum": jnp.sum(state), "twice": state + state}

            (last, _), collected = scan(step, (first, None), {"a": rows}, reverse=reverse)
            return [last, collected["sum"], collected["twice"]]

        return fn

    arrays = f32(3, 3), f32(2, 3), f32(length, 2, 3)
    plan = trace(loop(scan), [Aval(a.shape, a.dtype) for a in arrays]).plan()
    assert len(traces) == 1
    for ours, theirs in zip(plan(*arrays), loop(lax.scan)(*arrays), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


def test_a_scan_of_what_numpy_cannot_do_is_known_by_its_shapes(monkeypatch):
    monkeypatch.delitem(RULES, "tanh")
    fn = lambda x: [scan(lambda carry, row: (carry + jnp.tanh(row), row), x[0], x)[0]]  # noqa: E731
    traced = trace(fn, [Aval((4, 2), np.dtype(np.float32))])
    assert (traced.outs[0].shape, traced.outs[0].dtype) == ((2,), np.float32)
    assert traced.reads() == {0}
    with pytest.raises(Unsupported, match="tanh"):
        traced.plan()


def test_a_scan_whose_state_changes_its_kind_is_refused():
    with pytest.raises(TypeError, match="carry"):  # the message is JAX's
        trace(lambda x: [scan(lambda carry, row: (carry[0], row), x, x)[0]], [Aval((4, 2), np.dtype(np.float32))])


@pytest.mark.parametrize(
    "dtype", ["bool", "int8", "float16", "bfloat16", "int32", "float32", "int64", "float64", "complex64", "complex128"]
)
def test_a_large_selection_keeps_every_bit(dtype):
    shape = 3, 8192
    kind = np.dtype(jnp.dtype(dtype))
    no, yes = (RNG.integers(0, 256, (*shape, kind.itemsize), np.uint8).view(kind)[..., 0] for _ in range(2))
    if dtype == "bool":
        no, yes = no.view(np.uint8) > 127, yes.view(np.uint8) > 127
    which = RNG.random(shape) < 0.5
    avals = [Aval(shape, np.dtype(bool)), Aval(shape, kind), Aval(shape, kind)]
    (ours,) = trace(lambda w, n, y: (lax.select(w, y, n),), avals).plan()(which, no, yes)
    assert ours.dtype == kind
    assert ours.tobytes() == np.where(which, yes, no).tobytes(), "NaN and signs of zero included"


def test_the_error_function_is_right_to_the_last_bit_but_one():
    x = np.concatenate([np.linspace(-6, 6, 100_001), [0.0, -0.0, 1e-40, np.inf, -np.inf, np.nan]]).astype(np.float32)
    (ours,) = trace(lambda x: (lax.erf(x),), [Aval(x.shape, x.dtype)]).plan()(x)
    exact = np.array([math.erf(e) for e in x.tolist()])
    assert ours.dtype == np.float32 and np.abs(ours[:-1]).max() == 1
    np.testing.assert_array_equal(np.signbit(ours[:-1]), np.signbit(x[:-1]))
    np.testing.assert_allclose(ours, exact, rtol=7e-8, atol=1e-45)  # the last bit of a denormal


@pytest.mark.recorded
def test_linear_algebra_and_gelu_import_little():
    code = (
        "import sys, torchlike as torch\n"
        "a = torch.eye(3) + 1\n"
        "print(torch.linalg.solve(a, a).sum().item(), torch.nn.functional.gelu(torch.ones(5000)).mean().item())\n"
        "print([m for m in ('scipy.linalg', 'scipy.special') if m in sys.modules])"
    )
    environment = {**os.environ, "TORCHLIKE_COMPILE": "auto"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert done.stdout.split("\n")[1] == "[]", "they take a fifth of a second each"


def test_a_guess_of_an_aval_counts_only_where_jax_has_said_the_same(monkeypatch):
    wrong = tracing.ShapedArray((7,), np.dtype(np.int8))
    monkeypatch.setattr(tracing, "_guess", lambda name, params, avals: wrong)
    monkeypatch.setattr(tracing, "_confirmed", {})
    for _ in range(2):  # the first time and later
        traced = trace(lambda x: (lax.tanh(x),), [Aval((3,), np.dtype(np.float32))])
        assert (traced.outs[0].shape, traced.outs[0].dtype) == ((3,), np.float32)


@pytest.mark.parametrize("rest", [(), (3,), (2, 3)])
def test_sums_into_places_add_in_the_order_of_the_updates(rest):
    generator = np.random.default_rng(0)
    index = generator.integers(0, 5, 200)
    updates = generator.standard_normal((200, *rest)).astype(np.float32) * 10.0 ** generator.integers(
        -4, 4, (200, *rest)
    )
    updates = updates.astype(np.float32)
    expected = np.ones((5, *rest), np.float32)
    for place, update in zip(index, updates, strict=True):
        expected[place] += update
    with compiling("never"):
        actual = torch.ones(5, *rest).index_add(0, torch.tensor(index), torch.tensor(updates)).numpy()
    assert actual.tobytes() == expected.tobytes()


@pytest.mark.parametrize("known", ["fft/_pocketfft/pypocketfft", "fft/_duccfft/pyduccfft", None])
def test_transforms_are_xlas_where_scipy_keeps_its_own_elsewhere(known, monkeypatch):
    module = linalg._transforms()  # of the SciPy that is installed

    def extension(path: str) -> Any:
        if path != known:
            raise ModuleNotFoundError(path)
        return module

    monkeypatch.setattr(linalg, "_extension", extension)
    linalg._transforms.cache_clear()
    try:
        x = f32(3, 7 + len(str(known)))  # of a size that was never traced
        np.testing.assert_allclose(torch.fft.fft(torch.tensor(x)).numpy(), np.fft.fft(x), rtol=1e-5, atol=1e-5)
        if known is None:
            with pytest.raises(Unsupported):
                trace(lambda x: (jnp.fft.fft(x),), [Aval(x.shape, x.dtype)]).plan()
    finally:
        linalg._transforms.cache_clear()


def test_examples_of_a_loop_end_by_themselves():
    def collatz(n: jax.Array) -> jax.Array:
        def step(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            n, count = state
            return jnp.where(n % 2 == 0, n // 2, 3 * n + 1), count + 1

        return lax.while_loop(lambda state: state[0] != 1, step, (n, jnp.zeros((), n.dtype)))[1]

    agree(lambda n: (jax.vmap(collatz)(n),), i64(1, 6, 7, 9))
    agree(lambda n: (jax.vmap(jax.vmap(collatz))(n),), i64(1, 6, 7, 9).reshape(2, 2))


def test_what_is_spread_cannot_be_written_to():
    plan = trace(lambda x: (lax.broadcast_in_dim(x, (3, 4), (1,)),), [Aval((4,), np.dtype(np.float32))]).plan()
    x = f32(4)
    (spread,) = plan(x)
    assert not spread.flags.writeable
    assert x.flags.writeable


def test_a_sum_of_a_negative_zero_has_no_sign():
    """As in PyTorch, where a sum begins with zero."""
    x = np.array([[-0.0]], np.float32)
    for found in trace(lambda x: (x.sum(0), x.sum((0, 1))), [Aval(x.shape, x.dtype)]).plan()(x):
        assert not np.signbit(found).any()
