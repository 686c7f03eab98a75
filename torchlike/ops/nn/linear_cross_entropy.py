"""Cross entropy of a linear layer's output, a chunk of the batch at a time, so that never all logits are there at once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core.tensor import Tensor
from ...dispatch.register import Category, Form, Indices, Promote, ValueCheck, op
from ...numerics.half_precision import at_least_float32
from ..linalg.matmul import rows_by_matrix


def _no_class(
    input: object,
    linear_weight: Array | Tensor,
    target: Array | np.ndarray,
    bias: object,
    weight: Tensor,
    *options: object,
) -> tuple[object, object]:
    if not target.size:
        return np.bool_(False), 0
    wrong = ((target < 0) | (target >= linear_weight.shape[0])) & (target != options[1])
    return wrong.any(), target[wrong.argmax()]


@op(
    name="_linear_cross_entropy",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    check=ValueCheck(_no_class, lambda value, *args, avals: IndexError(f"Target {value} is out of bounds.")),
    samples=[],
)
def in_chunks(
    input: Array,
    linear_weight: Array,
    target: Indices,
    bias: Array | None,
    weight: Array | None,
    reduction: str,
    ignore_index: int,
    rows: int,
) -> Array:
    """``cross_entropy(input @ linear_weight.T + bias, target)`` in chunks of ``rows`` rows; their logits are made anew for the gradient.

    Shapes: (N, F), (C, F), (N), (C), (C).
    """
    batch = input.shape[0]
    chunks = -(-batch // rows) if batch else 0
    padding = chunks * rows - batch
    padded = jnp.pad(input, ((0, padding), (0, 0))).reshape(chunks, rows, input.shape[1])
    targets = jnp.pad(target, (0, padding), constant_values=ignore_index).reshape(chunks, rows)
    zero = jnp.zeros((), at_least_float32(input).dtype)

    @jax.checkpoint
    def chunk(pair: tuple[Array, Array]) -> tuple[Array, Array]:
        x, chunk_targets = pair
        logits = at_least_float32(rows_by_matrix(x, linear_weight, bias))
        counted = chunk_targets != ignore_index
        safe = jnp.where(counted, chunk_targets, 0)[:, None]
        picked = jnp.take_along_axis(logits, safe, axis=1, mode="clip")[:, 0]
        loss = jax.nn.logsumexp(logits, axis=1) - picked
        share = jnp.ones_like(loss) if weight is None else jnp.take(at_least_float32(weight), safe[:, 0], mode="clip")
        return jnp.where(counted, loss * share, zero), jnp.where(counted, share, zero)

    losses, shares = jax.lax.map(chunk, (padded, targets))
    if reduction == "none":
        return losses.reshape(-1)[:batch].astype(input.dtype)
    total = jnp.sum(losses)
    return (total / jnp.sum(shares) if reduction == "mean" else total).astype(input.dtype)
