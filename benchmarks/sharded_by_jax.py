"""The step of `sharded.py` with FSDP, written by hand in JAX: in the same dtypes, with gradients summed in float32."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

CHIPS = "chips"


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def whole(piece: jax.Array, dtype: Any) -> jax.Array:
    """A parameter of which each chip has a piece. The gradients are summed in float32 whatever its dtype is, as in PyTorch."""
    return lax.all_gather(piece.astype(dtype), CHIPS, tiled=True)


def _forward(piece: jax.Array, dtype: Any) -> tuple[jax.Array, None]:
    return whole(piece, dtype), None


def _backward(dtype: Any, kept: None, gradient: jax.Array) -> tuple[jax.Array]:
    return (lax.psum_scatter(gradient.astype(jnp.float32), CHIPS, tiled=True),)


whole.defvjp(_forward, _backward)


def _norm(x: jax.Array, weight: jax.Array) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    scale: Any = whole(weight, jnp.float32)
    return centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale


def _linear(x: jax.Array, weight: jax.Array) -> jax.Array:
    matrix: Any = whole(weight, jnp.bfloat16)
    return x.astype(jnp.bfloat16) @ matrix.T


def _block(weights: dict[str, jax.Array], x: jax.Array, heads: int) -> jax.Array:
    y = _norm(x, weights["norm1"])
    parts = [_linear(y, weights[name]).reshape(*y.shape[:2], heads, -1) for name in ("query", "key", "value")]
    attended = jax.nn.dot_product_attention(*parts, is_causal=True).reshape(y.shape)
    x = x + _linear(attended, weights["project"])
    hidden = _linear(_norm(x, weights["norm2"]), weights["widen"])
    return x + _linear(jax.nn.gelu(hidden, approximate=False), weights["narrow"])


def figures(topology: str, blocks: int, batch: int, tokens: int, width: int, heads: int) -> dict[str, float]:
    """What the compiler says of one chip."""
    mesh = Mesh(np.array(topologies.get_topology_desc(topology, "tpu").devices), (CHIPS,))
    divided, copied = PartitionSpec(CHIPS), PartitionSpec()
    optimizer = optax.adamw(3e-4, weight_decay=0.01)

    def loss(params: Any, x: jax.Array) -> jax.Array:
        for weights in params:
            x = _block(weights, x, heads)
        return jnp.square(x).mean() / mesh.size

    def gradients(params: Any, x: jax.Array) -> Any:
        value, found = jax.value_and_grad(loss)(params, x)
        return lax.psum(value, CHIPS), found

    def step(params: Any, state: Any, x: jax.Array) -> Any:
        places = {"in_specs": (divided, divided), "out_specs": (copied, divided), "check_vma": False}
        value, found = jax.shard_map(gradients, mesh=mesh, **places)(params, x)
        updates, state = optimizer.update(found, state, params)
        return optax.apply_updates(params, updates), state, value

    def there(tree: Any) -> Any:
        def place(a: Any) -> Any:
            sharding = NamedSharding(mesh, divided if a.shape else copied)
            return jax.ShapeDtypeStruct(a.shape, a.dtype, sharding=sharding)

        return jax.tree.map(place, tree)

    square = dict.fromkeys(("query", "key", "value", "project"), (width, width))
    shapes = square | {"widen": (4 * width, width), "narrow": (width, 4 * width), "norm1": (width,), "norm2": (width,)}
    params = there([{name: jax.ShapeDtypeStruct(shape, jnp.float32) for name, shape in shapes.items()}] * blocks)
    arguments = (params, there(jax.eval_shape(optimizer.init, params)), there(np.zeros((batch, tokens, width), "f4")))
    kept = jax.tree.map(lambda a: a.sharding, arguments[:2])
    jitted = jax.jit(step, donate_argnums=(0, 1), out_shardings=(*kept, NamedSharding(mesh, copied)))
    compiled: Any = jitted.lower(*arguments).compile()
    return {
        "bytes": compiled.cost_analysis()["bytes accessed"],
        "temporary": compiled.memory_analysis().temp_size_in_bytes,
    }
