"""Attention of a nested tensor to itself by the module MultiheadAttention, which calls this: as PyTorch's fast path, in inference alone."""

from __future__ import annotations

from typing import Any

from ... import ops
from ..._core.modes import modes
from ..._core.tensor import Tensor
from ...nested import as_nested_tensor


def _obstacle(module: Any, query: Tensor, key: Tensor, value: Tensor, masked: bool) -> str | None:
    """Why PyTorch would not take its fast path, in its words; None if it would."""
    weights = [module.in_proj_weight, module.in_proj_bias, module.out_proj.weight, module.out_proj.bias]
    bias, given = module.in_proj_bias, [weight for weight in (query, *weights) if weight is not None]
    checks = (
        (query.dim() != 3, f"input not batched; expected query.dim() of 3 but got {query.dim()}"),
        (query is not key or key is not value,
         "non-self attention was used (query, key, and value are not the same Tensor)"),
        (bias is not None and bias.dtype != query.dtype,
         f"dtypes of query ({query.dtype}) and self.in_proj_bias ({bias is not None and bias.dtype}) don't match"),
        (not module._qkv_same_embed_dim, "in_proj_weight was None"),
        (module.training, "training is enabled"),
        (module.num_heads % 2 == 1, "self.num_heads is not even"),
        (not module.batch_first, "batch_first was not True"),
        (module.bias_k is not None, "self.bias_k was not None"),
        (module.add_zero_attn, "add_zero_attn was enabled"),
        (masked, "supplying both src_key_padding_mask and src_mask at the same time"
         "                                  is not supported with NestedTensor input"),
        (modes.grad_enabled and any(each.requires_grad for each in given),
         "grad is enabled and at least one of query or the input/output projection weights or biases requires_grad"),
        (bias is None, ""),
    )  # fmt: skip
    return next((reason for holds, reason in checks if holds), None)


def attend_nested(
    module: Any, query: Tensor, key: Tensor, value: Tensor, masked: bool, need_weights: bool, mean: bool
) -> tuple[Tensor, Tensor | None]:
    """The attention within each part, and the weights, padded with zeros.

    Raises:
        AssertionError: PyTorch has no way to compute it.
    """
    obstacle = _obstacle(module, query, key, value, masked)
    if obstacle is not None:
        raise AssertionError(
            "MultiheadAttention does not support NestedTensor outside of its fast path. The fast path was not hit because "
            + obstacle
        )
    lengths = [len(part) for part in query.unbind()]
    padded = query.to_padded_tensor(0.0)
    beyond = ops.arange(padded.shape[1], device=padded.device) >= ops.tensor(lengths, device=padded.device)[:, None]
    output, weights = module(padded, padded, padded, beyond, need_weights, average_attn_weights=mean)
    parts = as_nested_tensor([each[:length] for each, length in zip(output.unbind(), lengths, strict=True)])
    if weights is not None:
        weights = weights.masked_fill(beyond[:, :, None] if mean else beyond[:, None, :, None], 0.0)
    return parts, weights
