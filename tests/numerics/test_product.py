"""Matrix products: XLA's numbers, second derivatives and batches; no program for a CPU contains a slow product."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import torchlike as torch
from torchlike.numerics.product import FEWEST_ROWS, SMALL, by_xla, multiply

pytestmark = pytest.mark.recorded
SUMS = [(0, 0), (0, 1), (1, 0), (1, 1)]
HIGHEST = lax.Precision.HIGHEST


def operands(sums, rows=5, inner=7, columns=3, seed=0):
    random = np.random.default_rng(seed)
    shapes = [(rows, inner) if sums[0] else (inner, rows), (columns, inner) if sums[1] else (inner, columns)]
    return [jnp.asarray(random.standard_normal(shape), jnp.float32) for shape in shapes]


def ours(sums):
    return lambda a, b: multiply(a, b, sums, HIGHEST)


def xlas(sums):
    return lambda a, b: by_xla(a, b, sums=sums, precision=HIGHEST)


@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("size", [(5, 7, 3), (96, 128, 64), (1, 7, 1), (0, 7, 3), (5, 0, 3)])
def test_the_numbers_are_xlas(sums, size):
    arrays = operands(sums, *size)
    np.testing.assert_allclose(ours(sums)(*arrays), xlas(sums)(*arrays), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("sums", SUMS)
def test_derivatives_of_derivatives(sums):
    def second(way):
        def slope(a, b):
            return jax.grad(lambda a, b: jnp.sin(way(a, b)).sum(), (0, 1))(a, b)

        return jax.jit(jax.grad(lambda a, b: sum((g * g).sum() for g in slope(a, b)), (0, 1)))

    arrays = operands(sums)
    for gradient, wanted in zip(second(ours(sums))(*arrays), second(xlas(sums))(*arrays), strict=True):
        np.testing.assert_allclose(gradient, wanted, rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("sums", SUMS)
def test_tangents(sums):
    arrays, moves = operands(sums), operands(sums, seed=1)
    for out, wanted in zip(
        *(jax.jvp(way(sums), tuple(arrays), tuple(moves)) for way in (ours, xlas)), strict=True
    ):  # fmt: skip
        np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.costly
@pytest.mark.parametrize("sums", SUMS)
@pytest.mark.parametrize("places", [(0, None), (1, None), (2, None), (None, 0), (None, 1), (None, 2), (0, 0), (2, 1)])
def test_a_batch_of_products(sums, places):
    batches = [
        a if place is None else jnp.moveaxis(jnp.stack([a, 2 * a, a * a]), 0, place)
        for a, place in zip(operands(sums), places, strict=True)
    ]
    out, wanted = (jax.vmap(way(sums), places)(*batches) for way in (ours, xlas))
    np.testing.assert_allclose(out, wanted, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("rows", "transposed"), [(FEWEST_ROWS, 1), (FEWEST_ROWS - 1, 0)])
def test_the_gradient_of_a_weight_is_no_product_that_xla_computes_slowly(rows, transposed):
    x, w = operands((1, 1), rows, 128, 64)
    assert x.size * w.shape[0] > SMALL

    def gradients(x, w):
        return torch.to_jax(torch.nn.functional.linear(torch.from_jax(x), torch.from_jax(w)))

    def backward(x, w, d):
        return jax.vjp(gradients, x, w)[1](d)

    text = jax.jit(backward).lower(x, w, jnp.ones((rows, 64))).as_text()
    assert text.count("stablehlo.dot_general") == 2
    assert text.count("contracting_dims = [0] x [0]") == 1 - transposed
    assert text.count("optimization_barrier") == transposed
