"""Attention: weights from the products of queries and keys, and the values they add up."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core.annotations import Dtype
from ..._core.meta import on_meta
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ...dispatch.register import Autocast, Category, Form, Indices, Promote, Sample, op
from ...engine.aval import Placement
from ...engine.value import Value
from ...numerics import attention as numerics, philox
from ...numerics.attention_blocks import WHOLE
from ...numerics.exact_math import traced_platform
from ...numerics.half_precision import HALF
from ...numerics.matmul_precision import precision
from ...random_streams.by_device import default_of, is_drawn_there
from ..creation.drawing import from_state, keep
from ..linalg.matmul import _check_bmm, stacked_product, stacks

FLASH = "ScaledDotProductFlashAttentionForCpuBackward0"
# From so many queries on, causal attention is computed in two halves on a CPU. Shorter ones gain less than the larger program takes longer
# to compile.
HALVED_FROM = 256
# So many scores of a head an accelerator computes at once: it has memory for them, and each step of a loop is a program of its own there.
WHOLE_ON_ACCELERATORS = 2**22


@jax.custom_jvp
def _weights(scores: Array) -> Array:
    """Softmax over the last dimension; a row that may look nowhere (all -inf) gives zeros."""
    top = jnp.max(scores, axis=-1, keepdims=True)
    top = jnp.where(jnp.isneginf(top), jnp.zeros((), scores.dtype), top)
    e = jnp.exp(scores - top)
    total = jnp.sum(e, axis=-1, keepdims=True)
    return e / jnp.where(total == 0, jnp.ones((), scores.dtype), total)


@_weights.defjvp
def _weights_derivative(primals: tuple[Array, ...], tangents: tuple[Array, ...]) -> tuple[Array, Array]:
    y, (t,) = _weights(*primals), tangents
    return y, y * (t - jnp.sum(y * t, axis=-1, keepdims=True))


def _broadcast(a: tuple[int, ...], b: tuple[int, ...]) -> tuple[int, ...]:
    """The common shape. Raises PyTorch's error where there is none."""
    rank = max(len(a), len(b))
    for back in range(1, min(len(a), len(b)) + 1):
        if a[-back] != b[-back] and 1 not in (a[-back], b[-back]):
            raise RuntimeError(
                f"The size of tensor a ({a[-back]}) must match the size of tensor b ({b[-back]}) at non-singleton dimension "
                f"{rank - back}"
            )
    return jnp.broadcast_shapes(a, b)


def backward_name(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    noise: object,
    causal: bool,
    scale: object,
    gqa: bool,
    platform: str = "",
    kernel: str = "",
) -> str:
    ranks = {len(x.shape) for x in (query, key, value)}
    if ranks == {4} and noise is None and query.shape[-1] == value.shape[-1] and key.shape[:-1] == value.shape[:-1]:
        return FLASH
    return "MmBackward0" if ranks == {2} else "UnsafeViewBackward0"


def _refuse(name: str, dtype: Dtype) -> str | Exception:
    if dtype.is_complex:
        return NotImplementedError(f"\"softmax_lastdim_kernel_impl\" not implemented for '{dtype.scalar_name}'")
    return f"expected scalar type Float but found {dtype.scalar_name}"


QKV = ((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 4))


@op(
    name="_attention",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=backward_name,
    refuse=_refuse,
    samples=[
        Sample(shapes=QKV, args=(None, None, False, None, False, "cpu")),
        Sample(shapes=QKV, args=(None, None, True, 0.3, False, "cpu")),
        Sample(shapes=((4, 3, 4), (2, 5, 4), (2, 5, 3)), args=(None, None, False, None, True, "cpu")),
    ],
    autocast=Autocast.LOWER,
)
def attention(
    query: Array,
    key: Array,
    value: Array,
    mask: Indices | None,
    noise: Indices | None,
    causal: bool,
    scale: float | None,
    gqa: bool,
    platform: str,
    kernel: str = "",
) -> Array:
    """``(softmax(scale * query @ key.T + mask) * noise) @ value``, in the way that is fastest on the platform.

    Args:
        kernel: "math" for the formula as it stands, "fused" for a way that does not make the square of all scores.
    """
    shared = key, value
    if gqa:
        key, value = _repeated(query, key), _repeated(query, value)
        if shared[0].shape[-3] != shared[1].shape[-3]:
            shared = key, value
    if noise is None:
        whole = _whole_batch(query, key, value, mask)
        if suits(query, key, value, mask, whole, causal, platform, kernel):
            return attend(query, *shared, mask, whole, causal, scale)
    batch = _broadcast(query.shape[:-2], key.shape[:-2])
    length, features = query.shape[-2:]
    _check_bmm((math.prod(batch), length, features), (math.prod(batch), key.shape[-1], key.shape[-2]))
    plain = causal and mask is None and noise is None and key.shape[-2] == value.shape[-2]
    if plain and platform == "cpu" == traced_platform() and length >= HALVED_FROM:
        return _in_halves(query, key, value, scale)
    return _attended(query, key, value, mask, noise, causal, scale)


def _whole_batch(query: Array, key: Array, value: Array, mask: Array | None) -> tuple[int, ...]:
    """The common batch of all inputs; its product is 0 where there is none, which the formula refuses."""
    shapes = [x.shape[:-2] for x in (query, key, value)] + ([] if mask is None else [mask.shape[:-2]])
    try:
        return jnp.broadcast_shapes(*shapes)
    except ValueError:
        return (0,)


def _in_halves(query: Array, key: Array, value: Array, scale: float | None) -> Array:
    """Causal attention without a quarter of the products and weights: the first half of the queries looks at no later key."""
    length, keys = query.shape[-2], key.shape[-2]
    middle = length // 2
    parts = []
    for first, last in ((0, middle), (middle, length)):
        seen = min(last, keys)
        k, v = (lax.slice_in_dim(x, 0, seen, axis=-2) for x in (key, value))
        queries = lax.slice_in_dim(query, first, last, axis=-2)
        parts.append(_attended(queries, k, v, None, None, True, scale, first))
    return jnp.concatenate(parts, axis=-2)


def _attended(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    noise: Array | None,
    causal: bool,
    scale: float | None,
    first: int = 0,
) -> Array:
    """Attention of queries from number ``first`` on, at all keys."""
    batch = _broadcast(query.shape[:-2], key.shape[:-2])
    length, features = query.shape[-2:]
    q, k = stacks(query, batch), stacks(key, batch)
    half = query.dtype.itemsize < 4
    factor = 1 / math.sqrt(max(features, 1)) if scale is None else scale
    # Scores of half types are kept as float32, and scaled themselves: a scaled query would be rounded.
    q = q if half else q * jnp.asarray(factor, q.dtype)
    scores = stacked_product(q, k, 1, rounded=False)
    scores = scores.reshape(*batch, length, key.shape[-2])
    scores = scores * jnp.asarray(factor, scores.dtype) if half else scores
    if mask is not None:
        scores = _masked(scores, mask)
    if causal:
        # A column and a row: NumPy would make all of ``jnp.tril`` anew in each call, in five steps.
        rows, columns = (
            lax.broadcasted_iota(np.int32, shape, d) for d, shape in enumerate([(length, 1), (1, key.shape[-2])])
        )
        scores = jnp.where(rows + first >= columns, scores, jnp.asarray(-jnp.inf, scores.dtype))
    weights = _weights(scores) if scores.size else scores
    weights = weights if noise is None else weights * noise.astype(weights.dtype)
    batch = _broadcast(weights.shape[:-2], value.shape[:-2])
    count = math.prod(batch)
    _check_bmm((count, length, key.shape[-2]), (count, *value.shape[-2:]))
    out = stacked_product(stacks(weights.astype(q.dtype), batch), stacks(value, batch), 0)
    return out.reshape(*batch, length, value.shape[-1])


def _masked(scores: Array, mask: Array) -> Array:
    """Scores where a boolean mask is True, -inf elsewhere; or the sum with a mask of numbers."""
    _broadcast(scores.shape, mask.shape)
    if mask.dtype == bool:
        return jnp.where(mask, scores, jnp.asarray(-jnp.inf, scores.dtype))
    return scores + mask.astype(scores.dtype)


def _repeated(query: Array, array: Array) -> Array:
    """Each head of keys or values as often as several heads of queries share it."""
    for x in (query, array):
        if x.ndim < 3:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-x.ndim}, {x.ndim - 1}], but got -3)"
            )
    heads, query_heads = array.shape[-3], query.shape[-3]
    if not heads or query_heads % heads:
        raise RuntimeError("Number of heads in key and value must divide the number of heads in ")
    return array if heads == query_heads else jnp.repeat(array, query_heads // heads, axis=-3)


def attention_dropout(query: Tensor, key: Tensor, p: float, gqa: bool) -> Tensor:
    """Dropout's factors for the weights."""
    a, b = query._aval.shape, key._aval.shape
    if p == 1 or on_meta(query):
        return from_value(Value.on_host(np.zeros((), query.dtype.numpy), query._aval.placement))
    leading = a[:-2] if gqa else _broadcast(a[:-2], b[:-2])
    return keep(query, (*leading, a[-2], b[-2]), p)


# ---- with dropout, on an accelerator


def drops_there(query: Tensor, p: float) -> bool:
    """Whether attention with dropout draws its numbers within ``attention_with_dropout``."""
    placement = query._aval.placement
    return 0 < p < 1 and is_drawn_there(placement) and type(placement) is Placement and not modes.vmaps


def dropped_there(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, p: float, *options: Any) -> Tensor:
    """Attention with dropout, by the device's default generator."""
    placement = query._aval.placement

    def compute(state: Tensor) -> tuple[Tensor, Tensor]:
        return attention_with_dropout(query, key, value, mask, state, 1 - p, *options)

    return from_state(default_of(placement), placement, compute)


def _name_with_dropout(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, state: Tensor, q: float, *options: Any
) -> str:
    return backward_name(query, key, value, mask, state, *options)


@op(
    name="_attention_with_dropout",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    backward=_name_with_dropout,
    refuse=_refuse,
    constant=("state",),
    constant_results=(1,),
    samples=[],
    autocast=Autocast.LOWER,
)
def attention_with_dropout(
    query: Array,
    key: Array,
    value: Array,
    mask: Indices | None,
    state: Indices,
    q: float,
    causal: bool,
    scale: float | None,
    gqa: bool,
    platform: str,
    kernel: str = "",
) -> tuple[Array, Array]:
    """``attention`` that keeps each weight with probability ``q``, and the generator's next state.

    There are so many weights that random bits count: 16 for each. ``q`` is rounded to them, and the factor with it. The bits of a weight
    follow from its place, so both ways of computing drop the same weights, and derivatives draw the bits again.
    """
    shared = key, value
    if gqa:
        key, value = _repeated(query, key), _repeated(query, value)
        shared = shared if shared[0].shape[-3] == shared[1].shape[-3] else (key, value)
    below, batch = philox.kept_of(q), _broadcast(query.shape[:-2], key.shape[:-2])
    # A value or a mask for more than the weights are for does not make more weights.
    if batch == _whole_batch(query, key, value, mask) and suits(
        query, key, value, mask, batch, causal, platform, kernel, dropped=True
    ):
        out = attend(query, *shared, mask, batch, causal, scale, state, below)
    else:
        matrix = lax.iota(np.uint32, math.prod(batch)).reshape(*batch, 1, 1)
        rows, columns = (lax.iota(np.int32, x.shape[-2]) for x in (query, key))
        bits = philox.halves(state, matrix, rows[:, None], columns[None, :], key.shape[-2])
        out = _attended(query, key, value, mask, philox.factors(bits, below), causal, scale)
    return out, philox.advanced(state)


# ---- without the square of all scores: by a kernel of the device, or in blocks


def suits(
    query: Array,
    key: Array,
    value: Array,
    mask: Array | None,
    batch: tuple[int, ...],
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
    batch: tuple[int, ...],
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
    query, key, value = (
        flat(query, heads),
        flat(_with_heads(key, shared), shared),
        flat(_with_heads(value, shared), shared),
    )
    mask = mask if mask is None else _flat_mask(mask, tuple(lead), heads)
    factor = 1 / math.sqrt(max(width, 1)) if scale is None else scale
    of = numerics.Attention(float(factor), causal, precision(), below=below)
    out = numerics.attend(of, query, key, value, mask, state)
    return out.reshape(*batch, length, value.shape[-1])


def _with_heads(x: Array, shared: int) -> Array:
    heads = (1, *x.shape[:-2])[-1]
    return x if heads == shared else jnp.broadcast_to(x, (*x.shape[:-3], shared, *x.shape[-2:]))


def _flat_mask(mask: Array, lead: tuple[int, ...], heads: int) -> Array:
    """(..., rows, columns) as (B or 1, N or 1, rows, columns)."""
    shape = (1,) * (len(lead) + 3 - mask.ndim) + mask.shape
    mask = mask.reshape(shape)
    if math.prod(shape[: len(lead)]) == 1:
        return mask.reshape(1, *shape[len(lead) :])
    whole = jnp.broadcast_to(mask, (*lead, *shape[len(lead) :]))
    return whole.reshape(math.prod(lead), *shape[len(lead) :])
