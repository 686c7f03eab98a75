"""A primitive of JAX for products of two matrices, so that a CPU computes their gradients as fast as the products themselves.

The gradient of a weight is a product whose left matrix is transposed. XLA hands the other products to a library (YNNPACK), and this one to
older code of its own, which takes up to twice as long where many rows are added up. So on a CPU the left matrix is written out transposed
first.
"""

from __future__ import annotations

from math import prod
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax
from jax.core import ShapedArray
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir

product_p = Primitive("torchlike_product")

# Fewer multiplications and additions than this take as long in any order.
SMALL = 2**19
# So do sums over fewer rows than this, and the transposition comes on top: a whole step of 784-512-512-10 takes a tenth less without it
# at 64 and 128 rows, as long at 256, and a twentieth more at 512.
FEWEST_ROWS = 256


def multiply(a: Array, b: Array, sums: tuple[int, int], precision: object) -> Array:
    """The product of two matrices of one dtype, summed over a dimension of each."""
    return product_p.bind(a, b, sums=sums, precision=precision)


# ---- shapes, derivatives, batches


@product_p.def_abstract_eval
def _abstract(a: Any, b: Any, *, sums: tuple[int, int], precision: object) -> ShapedArray:
    return ShapedArray((a.shape[1 - sums[0]], b.shape[1 - sums[1]]), a.dtype)


def _gradient_of_a(d: Array, a: object, b: Array, *, sums: tuple[int, int], precision: object) -> Array:
    remaining = 1 - sums[1]
    return multiply(d, b, (1, remaining), precision) if sums[0] == 1 else multiply(b, d, (remaining, 1), precision)


def _gradient_of_b(d: Array, a: Array, b: object, *, sums: tuple[int, int], precision: object) -> Array:
    remaining = 1 - sums[0]
    return multiply(a, d, (remaining, 0), precision) if sums[1] == 0 else multiply(d, a, (0, remaining), precision)


ad.defbilinear(product_p, _gradient_of_a, _gradient_of_b)


def _batched(operands: Any, places: Any, *, sums: tuple[int, int], precision: Any) -> tuple[Array, int]:
    """The rule for ``vmap``: if one matrix is shared, one product with the rows of all others; otherwise a product for each example."""
    # If the examples share a matrix, their rows form one large product instead of many small ones.
    (a, b), (place_a, place_b) = operands, places
    if place_b is None:
        rows = jnp.moveaxis(a, (place_a, 1 - sums[0] + (place_a <= 1 - sums[0])), (0, 1))
        flat = rows.reshape(prod(rows.shape[:2]), rows.shape[2])
        out = multiply(flat, b, (1, sums[1]), precision)
        return out.reshape(*rows.shape[:2], out.shape[1]), 0
    if place_a is None:
        rows = jnp.moveaxis(b, (place_b, 1 - sums[1] + (place_b <= 1 - sums[1])), (0, 1))
        flat = rows.reshape(prod(rows.shape[:2]), rows.shape[2])
        out = multiply(a, flat, (sums[0], 1), precision)
        return out.reshape(out.shape[0], *rows.shape[:2]), 1
    a, b = jnp.moveaxis(a, place_a, 0), jnp.moveaxis(b, place_b, 0)
    numbers = (((sums[0] + 1,), (sums[1] + 1,)), ((0,), (0,)))
    return lax.dot_general(a, b, numbers, precision=precision), 0


batching.primitive_batchers[product_p] = _batched


# ---- how a program computes it


def by_xla(a: Array, b: Array, *, sums: tuple[int, int], precision: Any) -> Array:
    """The product as XLA computes it from one ``dot_general``."""
    return lax.dot_general(a, b, (((sums[0],), (sums[1],)), ((), ())), precision=precision)


def for_processors(a: Array, b: Array, *, sums: tuple[int, int], precision: object) -> Array:
    """The product in the form that a CPU computes fastest."""
    if sums == (0, 0) and a.dtype == np.float32 and len(a) >= FEWEST_ROWS and a.size * b.shape[1] > SMALL:
        # Without the barrier XLA would take the transposition back into the product.
        a, sums = lax.optimization_barrier(a.T), (1, 0)
    return by_xla(a, b, sums=sums, precision=precision)


product_p.def_impl(jax.jit(multiply, static_argnames=("sums", "precision")))  # in tests of JAX's own transforms
mlir.register_lowering(product_p, mlir.lower_fun(by_xla, multiple_results=False))
mlir.register_lowering(product_p, mlir.lower_fun(for_processors, multiple_results=False), platform="cpu")
