"""The kernels for attention that JAX brings along: cuDNN's for GPUs, and one for TPUs. Only this file uses JAX's internals for it.

Each function returns None for what its kernel does not compute; ``attention_blocks.py`` says what the arrays are.
"""

from __future__ import annotations

import inspect
from functools import cache
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.extend.core import Primitive

from .attention_blocks import Attention

try:
    from jax._src import dispatch
    from jax._src.cudnn import fused_attention_stablehlo as cudnn
except ImportError:  # these names are internal, so another version of JAX may lack them
    dispatch: Any = None
    cudnn: Any = None

# Widths of queries and values are padded to a multiple of this.
STEP = 8
# cuDNN's kernels for attention need a GPU of this generation.
OLDEST = (8, 0)
# What stands for -inf in a mask: cuDNN subtracts masks from each other. The smallest number of float16 is -65504.
LOWEST = {"bfloat16": -(2.0**41), "float16": -(2.0**15)}


def needs_devices(*primitives: Primitive) -> None:
    """Says that the lowering of these looks at the devices of the program: JAX's rule divides cuDNN's calls among them."""
    known = getattr(dispatch, "prim_requires_devices_during_lowering", None)
    if known is not None:
        known.update(primitives)


class _Operands:
    """Queries, keys, values and the mask as cuDNN takes them.

    Args:
        heads_inside: whether (B, N, T, E) is handed over as (B, T, N, E).
    """

    def __init__(
        self, of: Attention, heads_inside: bool, query: Array, key: Array, value: Array, masks: tuple[Array, ...]
    ) -> None:
        self.of, self.heads_inside = of, heads_inside
        self.layout = (cudnn.AttentionLayout.BTNH if heads_inside else cudnn.AttentionLayout.BNTH).value
        self.rows, self.columns = query.shape[2], key.shape[2]
        self.widths = query.shape[3], value.shape[3]
        self.padded_width = -(-max(self.widths) // STEP) * STEP
        # With a mask, gradients need even lengths.
        self.more = (self.rows % 2, self.columns % 2) if masks else (0, 0)
        self.query, self.key, self.value = self.by_query(query), self.by_key(key), self.by_key(value)
        # Queries that may look nowhere: cuDNN has no -inf, and gives them the mean of all values.
        self.looks: Array | None = None
        self.bias: Array | None = None
        if masks:
            self._take_mask(masks[0], query.dtype)

    def _take_mask(self, mask: Array, dtype: Any) -> None:
        lowest = jnp.asarray(LOWEST[dtype.name], dtype)
        open_to = mask if mask.dtype == bool else ~jnp.isneginf(mask)
        bias = jnp.where(open_to, jnp.zeros((), dtype) if mask.dtype == bool else jnp.maximum(mask, lowest), lowest)
        seen = open_to
        if self.of.causal:
            seen = seen & jnp.tril(jnp.ones((self.rows, self.columns), bool))
        self.looks = jnp.any(seen, -1)[..., None]
        bias = jnp.broadcast_to(bias, (*bias.shape[:2], self.rows, self.columns))
        self.bias = lax.pad(bias, lowest, [(0, 0, 0), (0, 0, 0), *[(0, more, 0) for more in self.more]])

    def _laid_out(self, x: Array, more: int) -> Array:
        """With as many rows and features as cuDNN wants, in the order that was chosen."""
        wider = self.padded_width - x.shape[3]
        if more or wider:
            x = lax.pad(x, jnp.zeros((), x.dtype), [(0, 0, 0), (0, 0, 0), (0, more, 0), (0, wider, 0)])
        return jnp.swapaxes(x, 1, 2) if self.heads_inside else x

    def by_query(self, x: Array) -> Array:
        return self._laid_out(x, self.more[0])

    def by_key(self, x: Array) -> Array:
        return self._laid_out(x, self.more[1])

    def back(self, x: Array, length: int, width: int) -> Array:
        x = jnp.swapaxes(x, 1, 2) if self.heads_inside else x
        return x[:, :, :length, :width]

    def where_looking(self, x: Array, otherwise: float = 0.0) -> Array:
        """What belongs to queries, with a constant for those that look nowhere."""
        return x if self.looks is None else jnp.where(self.looks, x, jnp.asarray(otherwise, x.dtype))


def _takes(query: Array, key: Array, value: Array, masks: tuple[Array, ...]) -> bool:
    if cudnn is None or query.dtype.name not in LOWEST or not key.dtype == value.dtype == query.dtype:
        return False
    if not (query.size and key.size and value.size):
        return False
    # A mask of more digits would be rounded.
    return all(mask.dtype in (bool, query.dtype) for mask in masks)


@cache
def _parameters_of_forward() -> frozenset[str]:
    return frozenset(inspect.signature(cudnn._dot_product_attention_fwd_impl).parameters)


def _settings(at: _Operands) -> dict[str, Any]:
    kind = cudnn.MaskType
    # JAX 0.12 lets a function change the scores, and asks which.
    changed = {"score_mod": None} if "score_mod" in _parameters_of_forward() else {}
    return changed | {
        "scale": float(at.of.scale),
        "seed": 42,
        "dropout_rate": 0.0,
        "variadic_args": (at.bias is not None, False),
        "mask_type": kind.CAUSAL if at.of.causal else kind.NO_MASK,
        "layout": at.layout,
        "sliding_window_length": None,
    }


def _capability() -> tuple[int, ...]:
    """The generation of the GPU that is there; empty without one."""
    try:
        device = jax.local_devices(backend="cuda")[0]
    except RuntimeError:
        return ()
    return tuple(int(x) for x in device.compute_capability.split("."))


def _is_taken(at: _Operands) -> bool:
    """Whether cuDNN computes this, forward and backward, on the GPU that is there. JAX asks it for all but the oldest GPUs."""
    if _capability() < OLDEST:
        return False
    try:
        version = cudnn.check_cudnn_version()
        cudnn.check_is_flash_attention(at.query, at.key, at.value, at.layout, version, at.bias is not None, True)
    except (NotImplementedError, RuntimeError):
        return False
    return True


def _all_operands(at: _Operands) -> list[Array]:
    """In the order of JAX's primitives: lengths, offsets and pages are those of uses that there are not here."""
    none = jnp.zeros(0, at.query.dtype)
    return [at.query, at.key, at.value, none if at.bias is None else at.bias, *[none] * 6]


def cudnn_forward(
    of: Attention, heads_inside: bool, query: Array, key: Array, value: Array, *masks: Array
) -> list[Array] | None:
    """What attention gives, and the logarithm of each query's sum of exponentials."""
    if not _takes(query, key, value, masks):
        return None
    at = _Operands(of, heads_inside, query, key, value, masks)
    if not _is_taken(at):
        return None
    settings = _settings(at)
    out, sums = cudnn._dot_product_attention_fwd_p_wrapper.bind(*_all_operands(at), **settings, is_training=True)
    out = at.where_looking(at.back(out, at.rows, at.widths[1]))
    return [out, at.where_looking(sums[:, :, : at.rows, None], float("inf"))[..., 0]]


def cudnn_gradients(of: Attention, heads_inside: bool, *operands: Array) -> list[Array] | None:
    """The gradients of query, key and value.

    Operands: these three, perhaps a mask, both results of the forward pass, and the gradient of the first of them.
    """
    query, key, value, *masks, out, sums, cotangent = operands
    if not _takes(query, key, value, tuple(masks)):
        return None
    at = _Operands(of, heads_inside, query, key, value, tuple(masks))
    if not _is_taken(at):
        return None
    # A query that looks nowhere has no part in any gradient. Its logarithm is to be a number, since 0 times infinity is not.
    arrived = at.by_query(at.where_looking(cotangent))
    sums = at.where_looking(sums[..., None])[..., 0]
    sums = lax.pad(sums, jnp.zeros((), sums.dtype), [(0, 0, 0), (0, 0, 0), (0, at.more[0], 0)])
    found = cudnn._dot_product_attention_bwd_p_wrapper.bind(
        *_all_operands(at), sums, at.by_query(out), arrived, **_settings(at)
    )
    (wide, narrow), (rows, columns) = at.widths, (at.rows, at.columns)
    d_query, d_key, d_value = found[:3]
    return [at.back(d_query, rows, wide), at.back(d_key, columns, wide), at.back(d_value, columns, narrow)]


# ---- TPUs


def _pallas() -> Any:
    try:
        from jax.experimental.pallas.ops.tpu import flash_attention
    except ImportError:  # this module is experimental, so another version of JAX may lack it
        return None
    return flash_attention


def _step(length: int) -> int:
    """The number of rows in a block; 0 where the kernel has none that divides the length."""
    return next((size for size in (512, 256, 128) if length % size == 0), 0)


def _fits_tpu(query: Array, key: Array, value: Array, masks: int) -> bool:
    if masks or not query.dtype == key.dtype == value.dtype == jnp.bfloat16 or query.shape[3] != value.shape[3]:
        return False
    return bool(_step(query.shape[2]) and _step(key.shape[2]))


def tpu_forward(of: Attention, _: bool, query: Array, key: Array, value: Array, *masks: Array) -> list[Array] | None:
    """What attention gives, and the logarithm of each query's sum of exponentials."""
    pallas = _pallas()
    if pallas is None or not _fits_tpu(query, key, value, len(masks)):
        return None
    key, value = (jnp.repeat(x, query.shape[1] // x.shape[1], 1) for x in (key, value))
    rows, columns = _step(query.shape[2]), _step(key.shape[2])
    sizes = {"block_b": 1, "block_q": rows, "block_k_major": columns, "block_k": columns, "debug": False}
    settings: Any = {"save_residuals": True, "causal": of.causal, "sm_scale": float(of.scale), **sizes}
    with jax.enable_x64(False):  # the kernels' own indices are of 32 bits
        out, totals, tops = pallas._flash_attention_impl(query, key, value, None, None, **settings)
    return [out, tops + jnp.log(totals)]


def tpu_gradients(of: Attention, _: bool, *operands: Array) -> list[Array] | None:
    """The gradients of query, key and value. Operands: as of ``cudnn_gradients``."""
    query, key, value, *masks, out, sums, cotangent = operands
    pallas = _pallas()
    if pallas is None or not _fits_tpu(query, key, value, len(masks)):
        return None
    shared = key.shape[1]
    key, value = (jnp.repeat(x, query.shape[1] // shared, 1) for x in (key, value))
    rows, columns = _step(query.shape[2]), _step(key.shape[2])
    means = jnp.sum(out.astype(jnp.float32) * cotangent.astype(jnp.float32), -1)
    # The kernel's totals are those of exponentials from which the largest score was taken: with the logarithm instead they are 1.
    inputs = query, key, value, None, None, jnp.ones_like(sums), sums, cotangent, means
    settings: Any = {
        "sm_scale": float(of.scale), "causal": of.causal, "mask_value": pallas.DEFAULT_MASK_VALUE, "debug": False, "block_q_major": rows,
    }  # fmt: skip
    with jax.enable_x64(False):
        d_key, d_value = pallas._flash_attention_bwd_dkv(
            *inputs, **settings, block_q=rows, block_k_major=columns, block_k=columns
        )
        # This one writes the means out as often as a block has keys.
        d_query, _ = pallas._flash_attention_bwd_dq(*inputs, **settings, block_k_major=128, block_k=128)
    return [d_query, *[_of_shared(d, shared) for d in (d_key, d_value)]]


def _of_shared(gradient: Array, shared: int) -> Array:
    """The sum of the gradients of all heads that share a head of keys or values."""
    batch, heads, length, width = gradient.shape
    if heads == shared:
        return gradient
    parts = gradient.reshape(batch, shared, heads // shared, length, width)
    return jnp.sum(parts.astype(jnp.float32), 2).astype(gradient.dtype)
