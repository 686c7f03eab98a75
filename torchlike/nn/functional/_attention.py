"""Attention: the scaled dot product, and several heads of it with their projections."""

from __future__ import annotations

import math
import warnings
from typing import Any

from ..._core import dtypes
from ..._core.annotations import Dtype
from ..._core.tensor import Tensor
from ...backends.cuda import kernels
from ...dispatch.arguments import check_flags
from ...dispatch.type_names import type_name
from ...ops.creation.filled import zeros
from ...ops.linalg.matmul import baddbmm, bmm, linear
from ...ops.nn.attention import FLASH, attention, attention_dropout, backward_name, dropped_there, drops_there
from ...ops.nn.pad import pad
from ...ops.shape.joining import cat
from ..attention.bias import CausalBias
from ._activation import softmax
from ._dropout import dropout

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def _check_attention(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None) -> None:
    for position, (name, argument) in enumerate((("query", query), ("key", key), ("value", value)), 1):
        if not isinstance(argument, Tensor):
            raise TypeError(
                f"scaled_dot_product_attention(): argument '{name}' (position {position}) must be Tensor, not {type_name(argument)}"
            )
    kinds = [dtypes.C_NAMES[x.dtype.name] for x in (query, key, value)]
    if len(set(kinds)) > 1:
        raise RuntimeError(
            f"Expected query, key, and value to have the same dtype, but got query.dtype: {kinds[0]} key.dtype: {kinds[1]} and "
            f"value.dtype: {kinds[2]} instead."
        )
    if query.device is not key.device or query.device is not value.device:
        raise RuntimeError(
            f"Expected query, key, and value to have the same device type, but got query.device: {query.device} key.device: "
            f"{key.device} and value.device: {value.device} instead."
        )
    if min(query.dim(), key.dim(), value.dim()) < 2:
        raise RuntimeError(
            f"Expected query, key, and value to all be  at least 2 dimensional, but got query.dim: {query.dim()} key.dim: "
            f"{key.dim()} and value.dim: {value.dim()} instead."
        )
    if mask is not None and mask.dtype not in (dtypes.bool_, dtypes.float32, query.dtype):
        kind = dtypes.C_NAMES[mask.dtype.name]
        raise RuntimeError(
            f"Expected attn_mask dtype to be bool or float or to match query dtype, but got attn_mask.dtype: {kind} and  "
            f"query.dtype: {kinds[0]} instead."
        )


def _check_kernel(query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, *options: Any) -> None:
    """Raises for a call that PyTorch's fused kernels cannot compute, while its general formula is switched off."""
    fused = {"FLASH_ATTENTION"} if query.is_cpu else kernels.everything
    if not fused & kernels.enabled:
        raise RuntimeError(
            "No viable backend for scaled_dot_product_attention was found. This is likely due to turning off both the math kernel "
            "and the fused kernels."
        )
    mask_has_grad = mask is not None and mask.requires_grad
    if query.is_cpu and (mask_has_grad or backward_name(query, key, value, mask, *options) != FLASH):
        raise RuntimeError("No available kernel.  Aborting execution.")


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale * query @ key.T + attn_mask) @ value``.

    Args:
        query: (..., L, E). key: (..., S, E). value: (..., S, Ev).
        attn_mask: broadcasts to (..., L, S): booleans that are True where a query may look, or numbers that are added.
        dropout_p: probability with which a weight is dropped; always, not in training alone.
        is_causal: each query looks at keys up to its own position only.
        scale: default 1 / sqrt(E).
        enable_gqa: heads of queries share heads of keys and values; dimension -3 of the queries is a multiple of theirs.

    Raises:
        RuntimeError: shapes or dtypes that do not go together.

    >>> x = torch.ones(1, 2, 3)
    >>> torch.nn.functional.scaled_dot_product_attention(x, x, x)
    tensor([[[1., 1., 1.],
             [1., 1., 1.]]])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.scaled_dot_product_attention.html; Vaswani et al.
    (2017), https://arxiv.org/abs/1706.03762
    """
    if is_causal.__class__ is not bool or enable_gqa.__class__ is not bool:
        check_flags("scaled_dot_product_attention", is_causal=(None, is_causal), enable_gqa=(None, enable_gqa))
    _check_attention(query, key, value, attn_mask)
    if not 0 <= dropout_p <= 1:
        raise RuntimeError(f"dropout probability has to be between 0 and 1, but got {dropout_p}")
    there, noise = False, None
    if dropout_p:
        there = drops_there(query, dropout_p)
        noise = None if there else attention_dropout(query, key, dropout_p, enable_gqa)
    if not kernels.math:
        _check_kernel(query, key, value, attn_mask, there or noise, is_causal, scale, enable_gqa)
    if attn_mask is not None and is_causal:
        if isinstance(attn_mask, CausalBias):
            raise ValueError("CausalBias should not be used with causal=True")
        # PyTorch's fused kernel accepts both; its general formula, which it uses for the other cases, does not.
        if backward_name(query, key, value, attn_mask, there or noise, is_causal, scale, enable_gqa) != FLASH:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
    platform = query._aval.placement.platform
    options = bool(is_causal), scale, bool(enable_gqa), platform, kernels.way
    if there:
        return dropped_there(query, key, value, attn_mask, dropout_p, *options)
    return attention(query, key, value, attn_mask, noise, *options)


# ---- several heads


def canonical_mask(
    mask: Tensor | None,
    mask_name: str,
    other_type: object,
    other_name: str,
    target_type: object,
    check_other: bool = True,
) -> Any:
    """A mask as numbers to add: -inf where a boolean mask is True. Masks of numbers, and None, stay as they are."""
    if mask is None:
        return None
    boolean, floating = mask.dtype is dtypes.bool_, mask.dtype.is_floating_point
    if not boolean and not floating:
        raise AssertionError(f"only bool and floating types of {mask_name} are supported")
    if check_other and other_type is not None and mask.dtype is not other_type:
        warnings.warn(
            f"Support for mismatched {mask_name} and {other_name} is deprecated. Use same type for both instead.",
            stacklevel=4,
        )
    return zeros(mask.shape, dtype=target_type, device=mask.device).masked_fill(mask, -math.inf) if boolean else mask  # pyright: ignore[reportAttributeAccessIssue]


def _check_ranks(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None, attn_mask: Tensor | None, num_heads: int
) -> bool:
    """Whether the call is batched; an AssertionError unless the arguments have the ranks for it."""
    rank = query.dim()
    if rank not in (2, 3):
        raise AssertionError(f"query should be unbatched 2D or batched 3D tensor but received {rank}-D query tensor")
    kind = ("unbatched (2-D)", "batched (3-D)")[rank - 2]
    if key.dim() != rank or value.dim() != rank:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {rank}-D but found {key.dim()}-D and {value.dim()}-D tensors "
            "respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != rank - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {rank - 1}-D but found {key_padding_mask.dim()}-D "
            "tensor instead"
        )
    if attn_mask is not None:
        if attn_mask.dim() not in (2, 3):
            raise AssertionError(
                f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found {attn_mask.dim()}-D tensor instead"
            )
        if rank == 2 and attn_mask.dim() == 3:
            shape = (num_heads, query.shape[0], key.shape[0])
            if attn_mask.shape != shape:
                raise AssertionError(f"Expected `attn_mask` shape to be {shape} but got {attn_mask.shape}")
    return rank == 3


def _as_batch_of_one(
    query: Tensor, key: Tensor, value: Tensor, key_padding_mask: Tensor | None
) -> tuple[Any, Any, Any, Any]:
    """Unbatched inputs with a batch dimension. Inputs that are one tensor stay one tensor, so that they are projected at once."""
    key_is_query, value_is_key = key is query, value is key
    query = query.unsqueeze(1)
    key = query if key_is_query else key.unsqueeze(1)
    value = key if value_is_key else value.unsqueeze(1)
    return query, key, value, None if key_padding_mask is None else key_padding_mask.unsqueeze(0)


def _attn_mask_and_hint(
    attn_mask: Tensor | None, is_causal: bool, key_padding_mask: Tensor | None, need_weights: bool, dtype: Dtype
) -> tuple[Any, bool]:
    """The mask as numbers to add, and whether the attention kernel is to make a causal mask by itself."""
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    if is_causal and key_padding_mask is None and not need_weights:
        return None, True  # the hint replaces the mask
    attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", dtype, check_other=False)
    return attn_mask, is_causal and key_padding_mask is None


def _head_dim(size: int, embed_dim: int, num_heads: int) -> int:
    """The size of one head's share of an embedding."""
    if size != embed_dim:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim}, but got {size}")
    head_dim = size // num_heads
    if head_dim * num_heads != size:
        raise AssertionError(f"embed_dim {size} not divisible by num_heads {num_heads}")
    return head_dim


def _project_with_one_weight(
    query: Tensor, key: Tensor, value: Tensor, weight: Tensor, bias: Tensor | None
) -> list[Any]:
    """Projects queries, keys and values by the three parts of one weight, with as few products as the inputs allow."""
    if key.shape != value.shape:
        raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
    if weight is None:
        raise AssertionError("use_separate_proj_weight is False but in_proj_weight is None")
    size = query.size(-1)
    # One product with the whole weight is faster than three, and its graph is the one that PyTorch shows.
    if query is key and key is value:
        return list(linear(query, weight, bias).chunk(3, -1))  # pyright: ignore[reportAttributeAccessIssue]
    if key is value:
        q_weight, kv_weight = weight.split([size, 2 * size])
        q_bias, kv_bias = (None, None) if bias is None else bias.split([size, 2 * size])
        return [linear(query, q_weight, q_bias), *linear(key, kv_weight, kv_bias).chunk(2, -1)]  # pyright: ignore[reportAttributeAccessIssue]
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip((query, key, value), weight.chunk(3), biases, strict=True)]


def _project_with_three_weights(inputs: tuple[Tensor, Tensor, Tensor], weights: Any, bias: Tensor | None) -> list[Any]:
    """Projects queries, keys and values by a weight each."""
    query, key, value = inputs
    if key.shape[:2] != value.shape[:2]:
        raise AssertionError(f"key's sequence and batch dims {key.shape[:2]} do not match value's {value.shape[:2]}")
    for name, weight in zip("qkv", weights, strict=True):
        if weight is None:
            raise AssertionError(f"use_separate_proj_weight is True but {name}_proj_weight is None")
    size = query.size(-1)
    shapes = (size, size), (size, key.size(-1)), (size, value.size(-1))
    for name, weight, shape in zip(("query", "key", "value"), weights, shapes, strict=True):
        if weight.shape != shape:
            raise AssertionError(f"expecting {name} weights shape of {shape}, but got {weight.shape}")
    biases = (None,) * 3 if bias is None else bias.chunk(3)
    return [linear(x, w, b) for x, w, b in zip(inputs, weights, biases, strict=True)]


def _attn_mask_per_head(attn_mask: Tensor | None, length: int, sources: int, heads: int) -> Any:
    """The mask with a first dimension that has the size ``heads``, or 1 where the mask is the same for all."""
    if attn_mask is None:
        return None
    shape = (length, sources) if attn_mask.dim() == 2 else (heads, length, sources)
    if attn_mask.shape != shape:
        raise RuntimeError(
            f"The shape of the {attn_mask.dim()}D attn_mask is {attn_mask.shape}, but should be {shape}."
        )
    return attn_mask.unsqueeze(0) if attn_mask.dim() == 2 else attn_mask


def _append_biases(
    k: Tensor, v: Tensor, bias_k: Tensor | None, bias_v: Tensor | None, static_k: Tensor | None, static_v: Tensor | None
) -> tuple[Any, Any]:
    """Keys and values with one more of each, which are parameters."""
    if bias_k is not None and bias_v is not None:
        for name, static in (("key", static_k), ("value", static_v)):
            if static is not None:
                raise AssertionError(f"bias cannot be added to static {name}.")
        batch = k.shape[1]
        return cat([k, bias_k.repeat(1, batch, 1)]), cat([v, bias_v.repeat(1, batch, 1)])  # pyright: ignore[reportArgumentType]
    if bias_k is not None or bias_v is not None:
        raise AssertionError("bias_k and bias_v must be given together")
    return k, v


def _split_heads(x: Tensor, heads: int, head_dim: int) -> Any:
    """From (L, N, E) to (N * heads, L, head_dim)."""
    return x.reshape(x.shape[0], heads, head_dim).transpose(0, 1)


def _check_static(static: Any, name: str, heads: int, head_dim: int) -> Any:
    """Keys or values that the caller has split into heads already, if their shape is right."""
    for dimension, size in ((0, heads), (2, head_dim)):
        if static.size(dimension) != size:
            raise AssertionError(f"expecting {name}.size({dimension}) of {size}, but got {static.size(dimension)}")
    return static


def _append_zeros(k: Tensor, v: Tensor) -> tuple[Any, Any]:
    """Keys and values, split into heads, with one more of each that is zero."""
    heads, _, head_dim = k.shape
    row = zeros((heads, 1, head_dim), dtype=k.dtype, device=k.device)
    return cat([k, row], 1), cat([v, row], 1)  # pyright: ignore[reportArgumentType]


def _merge_masks(
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    appended_keys: int,
    batch: int,
    num_heads: int,
    sources: int,
) -> Any:
    """Merges both masks into one of shape (N * heads or 1, L or 1, S) that lets all queries see the appended keys."""
    if appended_keys:
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, appended_keys))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, appended_keys))
    if key_padding_mask is None:
        return attn_mask
    for dimension, size in ((0, batch), (1, sources)):
        if key_padding_mask.shape[dimension] != size:
            raise AssertionError(
                f"Expected key_padded_mask.shape[{dimension}] to be {size}, but got {key_padding_mask.shape[dimension]}"
            )
    padding = key_padding_mask.reshape(batch, 1, 1, sources).expand(-1, num_heads, -1, -1)
    padding = padding.reshape(batch * num_heads, 1, sources)
    return padding if attn_mask is None else attn_mask + padding


def _attend_with_weights(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool, sizes: tuple[int, int]
) -> tuple[Any, Any]:
    """The heads' outputs, of shape (L, N * heads, head_dim), and the weights, of shape (N * heads, L, S)."""
    # PyTorch scales the queries and not the scores here, which rounds differently.
    scaled = q * math.sqrt(1.0 / float(q.size(-1)))
    scores = bmm(scaled, k.transpose(1, 2)) if attn_mask is None else baddbmm(attn_mask, scaled, k.transpose(1, 2))
    weights = softmax(scores, dim=-1)
    weights = dropout(weights, p=dropout_p) if dropout_p > 0.0 else weights
    outputs = bmm(weights, v)
    return outputs.transpose(0, 1), weights


def _attend_without_weights(
    q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None, dropout_p: float, is_causal: bool, sizes: tuple[int, int]
) -> tuple[Any, None]:
    """The heads' outputs, of shape (L, N, heads, head_dim), by ``scaled_dot_product_attention``, which returns no weights.

    Args:
        sizes: N and the number of heads.
    """
    if attn_mask is not None:
        shared = attn_mask.size(0) == 1
        attn_mask = attn_mask.unsqueeze(0) if shared else attn_mask.reshape(*sizes, attn_mask.size(1), k.size(1))
    q, k, v = (x.reshape(*sizes, x.size(1), x.size(2)) for x in (q, k, v))
    outputs = scaled_dot_product_attention(q, k, v, attn_mask, dropout_p, is_causal)
    return outputs.permute(2, 0, 1, 3), None


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor,
    in_proj_bias: Tensor,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention by several heads, with the projections before and after: what ``nn.MultiheadAttention`` computes.

    Args:
        query: (L, N, E) or (L, E). key: (S, N, Ek). value: (S, N, Ev).
        in_proj_weight: (3 E, E); or q_proj_weight, k_proj_weight, v_proj_weight with ``use_separate_proj_weight``.
        bias_k, bias_v: (1, 1, E), one more key and value that all queries see. add_zero_attn: one more of zeros.
        key_padding_mask: (N, S), True (or -inf) at keys that nobody may look at.
        attn_mask: (L, S) or (N * heads, L, S), True (or -inf) where a query may not look.
        need_weights: return the weights too, averaged over heads if ``average_attn_weights``.
        is_causal: says that ``attn_mask`` is the causal mask.

    Returns:
        The output, of the queries' shape, and the weights (N, L, S) or (N, heads, L, S), or None.

    Raises:
        AssertionError, RuntimeError: shapes or dtypes that do not go together.

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html
    """
    is_batched = _check_ranks(query, key, value, key_padding_mask, attn_mask, num_heads)
    if not is_batched:
        query, key, value, key_padding_mask = _as_batch_of_one(query, key, value, key_padding_mask)
    length, batch, size = query.shape
    heads = batch * num_heads
    mask_dtype = None if attn_mask is None else attn_mask.dtype
    key_padding_mask = canonical_mask(key_padding_mask, "key_padding_mask", mask_dtype, "attn_mask", query.dtype)
    attn_mask, is_causal = _attn_mask_and_hint(attn_mask, is_causal, key_padding_mask, need_weights, query.dtype)
    head_dim = _head_dim(size, embed_dim_to_check, num_heads)
    if use_separate_proj_weight:
        inputs, in_weights = (query, key, value), (q_proj_weight, k_proj_weight, v_proj_weight)
        q, k, v = _project_with_three_weights(inputs, in_weights, in_proj_bias)
    else:
        q, k, v = _project_with_one_weight(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _attn_mask_per_head(attn_mask, length, key.shape[0], heads)
    k, v = _append_biases(k, v, bias_k, bias_v, static_k, static_v)
    q = _split_heads(q, heads, head_dim)
    k = _split_heads(k, heads, head_dim) if static_k is None else _check_static(static_k, "static_k", heads, head_dim)
    v = _split_heads(v, heads, head_dim) if static_v is None else _check_static(static_v, "static_v", heads, head_dim)
    if add_zero_attn:
        k, v = _append_zeros(k, v)
    appended = (bias_k is not None) + bool(add_zero_attn)
    attn_mask = _merge_masks(attn_mask, key_padding_mask, appended, batch, num_heads, k.size(1))
    attend = _attend_with_weights if need_weights else _attend_without_weights
    outputs, weights = attend(q, k, v, attn_mask, dropout_p if training else 0.0, is_causal, (batch, num_heads))
    out = linear(outputs.reshape(length * batch, size), out_proj_weight, out_proj_bias)
    out = out.view(length, batch, out.size(1))
    if weights is not None:
        weights = weights.view(batch, num_heads, length, k.size(1))
        weights = weights.mean(dim=1) if average_attn_weights else weights
    if not is_batched:
        out, weights = out.squeeze(1), None if weights is None else weights.squeeze(0)
    return out, weights
