"""Sums over devices of which each keeps a piece are reduce-scatters where that is right, and have the same value everywhere."""

import re
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from torchlike.engine.scatters import with_reduce_scatters

pytestmark = pytest.mark.recorded


def laid_out(x: Any, mesh: Any, *spec: Any) -> Any:
    return lax.with_sharding_constraint(x, NamedSharding(mesh, PartitionSpec(*spec)))


def product(x: Any, y: Any, m: Any) -> Any:
    return laid_out(jnp.tanh(x).T @ y, m, "data")


def along_the_other_dimension(x: Any, y: Any, m: Any) -> Any:
    return laid_out((x.T @ y)[:, :8], m, None, "data")


def whole_before(x: Any, y: Any, m: Any) -> Any:
    return laid_out(laid_out(x.T @ y, m), m, "data")


def of_two_sums(x: Any, y: Any, m: Any) -> Any:
    return laid_out((x.T @ y - 2.0 * (y.T @ x).T) / x.shape[0], m, "data")


def padded(x: Any, y: Any, m: Any) -> Any:
    return laid_out(jnp.pad(x[:, :5].sum(0), (0, 3)), m, "data")


def rows_of_a_table(x: Any, y: Any, m: Any) -> Any:
    places = jnp.argmax(x, 1)
    return laid_out(jnp.zeros((8, 16)).at[places].add(y), m, "data")


def sequences(x: Any, y: Any, m: Any) -> Any:
    a, b = (jnp.transpose(each.reshape(16, 4, -1), (1, 0, 2)).reshape(4 * 16, -1) for each in (x, y))
    return laid_out(
        jnp.einsum("tbi,tbj->ij", a.reshape(4, 16, -1), b.reshape(4, 16, -1)), m
    )  # whole: nothing to scatter


def by_examples(x: Any, y: Any, m: Any) -> Any:
    a, b = (jnp.transpose(each.reshape(16, 2, -1), (1, 0, 2)) for each in (x, y))
    return laid_out(jnp.einsum("tbi,tbj->ij", a, b), m, "data")


def half(x: Any, y: Any, m: Any) -> Any:
    return laid_out((x.astype(jnp.bfloat16).T @ y.astype(jnp.bfloat16)).astype(jnp.float32), m, "data")


# ---- no reduce-scatter would be right, or cheaper


def read_elsewhere_too(x: Any, y: Any, m: Any) -> Any:
    total = x.T @ y
    return laid_out(total, m, "data") + total.sum()


def squared(x: Any, y: Any, m: Any) -> Any:
    return laid_out(jnp.square(x.T @ y), m, "data")


def with_something_else(x: Any, y: Any, m: Any) -> Any:
    return laid_out(x.T @ y + 1.0, m, "data")


def onto_a_table(x: Any, y: Any, m: Any) -> Any:
    return laid_out(jnp.ones((8, 16)).at[jnp.argmax(x, 1)].add(y), m, "data")


def truth_values(x: Any, y: Any, m: Any) -> Any:
    return laid_out((x > 1.0).sum(0, dtype=jnp.int32), m, "data")


def padded_with_ones(x: Any, y: Any, m: Any) -> Any:
    return laid_out(jnp.pad(x[:, :5].sum(0), (0, 3), constant_values=1.0), m, "data")


@pytest.mark.parametrize(
    "wished", [(("model", "data"),), ("data", "model"), ("model", "data"), (("data", "model"),)], ids=str
)
def test_what_is_cut_along_another_axis_is_scattered_in_its_pieces(wished: tuple[Any, ...]) -> None:
    mesh = Mesh(np.array(jax.devices("cpu")[:8]).reshape(4, 2), ("data", "model"))
    numbers = np.random.default_rng(0)
    x, y = (numbers.standard_normal((32, n)).astype(np.float32) for n in (8, 16))
    rows = wished[0] != "data"  # whether `model` cuts the rows of the product, and so the columns of `x`
    specs = [PartitionSpec("data", "model"), PartitionSpec("data")][:: 1 if rows else -1]
    layouts = [NamedSharding(mesh, spec) for spec in specs]
    shapes = [
        jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=layout)
        for each, layout in zip((x, y), layouts, strict=True)
    ]
    program = with_reduce_scatters(jax.make_jaxpr(lambda x, y: laid_out(x.T @ y, mesh, *wished))(*shapes), specs)
    run = jax.jit(program).lower(*shapes).compile()
    (found,) = run(*map(jax.device_put, (x, y), layouts))
    np.testing.assert_allclose(found, x.T @ y, rtol=1e-5, atol=1e-5)
    assert found.sharding.is_equivalent_to(NamedSharding(mesh, PartitionSpec(*wished)), 2)
    exchanged = re.findall(r"= (\S+?)\{\S* (all-\w+|reduce-scatter|collective-\w+)\(", run.as_text() or "")
    if wished != (("data", "model"),):  # pieces in this order lie elsewhere than where the axis `model` has them
        piece = found.addressable_shards[0].data.shape
        assert exchanged == [(f"f32[{piece[0]},{piece[1]}]", "reduce-scatter")]


@pytest.mark.costly
@pytest.mark.parametrize(
    ("fn", "count"),
    [
        (product, 1), (along_the_other_dimension, 1), (whole_before, 1), (of_two_sums, 1), (padded, 1), (rows_of_a_table, 1),
        (sequences, 0), (by_examples, 1), (half, 1),
        (read_elsewhere_too, 0), (squared, 0), (with_something_else, 0), (onto_a_table, 0), (truth_values, 0), (padded_with_ones, 0),
    ],
    ids=lambda each: getattr(each, "__name__", ""),
)  # fmt: skip
@pytest.mark.parametrize("shape", [(8,), (4, 2)], ids=["8", "4x2"])
def test_values_are_the_same_and_sums_are_scattered(
    fn: Callable[[Any, Any, Any], Any], count: int, shape: tuple[int, ...]
) -> None:
    names = ("copies", "data")[-len(shape) :]
    mesh, batch = Mesh(np.array(jax.devices("cpu")[:8]).reshape(shape), names), PartitionSpec(names)
    numbers = np.random.default_rng(0)
    x, y = (numbers.standard_normal((32, n)).astype(np.float32) for n in (8, 16))
    layout = NamedSharding(mesh, batch)
    shapes = [jax.ShapeDtypeStruct(each.shape, each.dtype, sharding=layout) for each in (x, y)]
    call = lambda x, y: fn(x, y, mesh)  # noqa: E731
    program = with_reduce_scatters(jax.make_jaxpr(call)(*shapes), [batch, batch])
    run = jax.jit(program).lower(*shapes).compile()
    (found,) = run(*(jax.device_put(each, layout) for each in (x, y)))
    assert len(re.findall(r" reduce-scatter\(", run.as_text() or "")) == count
    expected = jax.jit(call)(x, y)
    assert found.dtype == expected.dtype and found.sharding.is_equivalent_to(expected.sharding, found.ndim)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=0.1 if fn is half else 1e-4)
