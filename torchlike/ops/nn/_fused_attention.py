"""When attention is computed without the square of all scores: by a kernel of the device, or in blocks."""

from __future__ import annotations

import math

import jax.numpy as jnp
from jax import Array

from ...numerics import attention as numerics
from ...numerics.attention_blocks import WHOLE
from ...numerics.half_precision import HALF
from ...numerics.matmul_precision import precision

Shape = tuple[int, ...]

# So many scores of a head an accelerator computes at once: it has memory for them, and each step of a loop is a program of its own there.
WHOLE_ON_ACCELERATORS = 2**22


def suits(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    batch: Shape,
    causal: bool,
    platform: str,
    kernel: str,
    dropped: bool = False,
) -> bool:
    """Whether attention goes by the primitive of ``numerics/attention.py``.

    Args:
        batch: the common batch of all inputs.
        kernel: "math" for the formula as it stands, "fused" for everything else, "" for what is fastest.
        dropped: whether weights are dropped, which no kernel does.
    """
    if kernel == "math" or not (math.prod(batch) and query.shape[-2] and key.shape[-2]):
        return False
    if key.shape[-2] != value.shape[-2] or query.shape[-1] != key.shape[-1]:
        return False  # the formula says what is wrong
    rows, columns = (1, 1) if mask is None else (1, 1, *mask.shape)[-2:]
    if rows not in (1, query.shape[-2]) or columns not in (1, key.shape[-2]):
        return False
    if kernel == "fused":
        return True
    if dropped:  # the formula would keep random bits for all weights besides
        return query.shape[-2] * key.shape[-2] > WHOLE
    # The kernels are faster for any length.
    if platform in ("gpu", "tpu") and query.dtype in HALF:
        return True
    return query.shape[-2] * key.shape[-2] > (WHOLE if platform == "cpu" else WHOLE_ON_ACCELERATORS)


def attend(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    batch: Shape,
    causal: bool,
    scale: float | None,
    state: Array | None = None,
    below: int = 0,
) -> Array:
    """The same attention by the primitive.

    Args:
        state: a generator's, from which dropout draws. below: see ``philox.kept_of``.
    """
    length, width = query.shape[-2:]
    *lead, heads = (1, 1, *batch)[-max(len(batch), 2) :]
    count = math.prod(lead)

    def flat(x: Array, heads: int) -> Array:
        """(..., heads, n, m) as (all before the heads, heads, n, m)."""
        return jnp.broadcast_to(x, (*lead, heads, *x.shape[-2:])).reshape(count, heads, *x.shape[-2:])

    # Keys and values that several heads share are not repeated.
    shared = max((1, *x.shape[:-2])[-1] for x in (key, value))
    query, key, value = flat(query, heads), flat(_repeated(key, shared), shared), flat(_repeated(value, shared), shared)
    mask = mask if mask is None else _flat_mask(mask, tuple(lead), heads)
    factor = 1 / math.sqrt(max(width, 1)) if scale is None else scale
    of = numerics.Attention(float(factor), causal, precision(), below=below)
    out = numerics.attend(of, query, key, value, mask, state)
    return out.reshape(*batch, length, value.shape[-1])


def _repeated(x: Array, shared: int) -> Array:
    heads = (1, *x.shape[:-2])[-1]
    return x if heads == shared else jnp.broadcast_to(x, (*x.shape[:-3], shared, *x.shape[-2:]))


def _flat_mask(mask: Array, lead: Shape, heads: int) -> Array:
    """(..., rows, columns) as (B or 1, N or 1, rows, columns)."""
    shape = (1,) * (len(lead) + 3 - mask.ndim) + mask.shape
    mask = mask.reshape(shape)
    if math.prod(shape[: len(lead)]) == 1:
        return mask.reshape(1, *shape[len(lead) :])
    whole = jnp.broadcast_to(mask, (*lead, *shape[len(lead) :]))
    return whole.reshape(math.prod(lead), *shape[len(lead) :])
