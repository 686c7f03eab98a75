"""class MultiheadAttention: attention by several heads, with projections before and after."""

from __future__ import annotations

from typing import Any

from ..._core.annotations import DeviceLike, Dtype
from ..._core.tensor import Tensor
from .. import functional as F, init
from ..functional._attention import canonical_mask
from ..parameter import Parameter, unfilled
from ._nested_attention import attend_nested
from .linear import NonDynamicallyQuantizableLinear
from .module import Module, member

__all__ = ["MultiheadAttention"]


class MultiheadAttention(Module):
    """Attention by several heads, each on its own projection of queries, keys and values.

    Args:
        embed_dim: E, features of queries and output; divided among the heads.
        num_heads: the number of heads.
        dropout: the probability with which a weight is dropped in training.
        bias: whether the projections have biases.
        add_bias_kv: whether an additional key and value are learned, to which all queries attend.
        add_zero_attn: whether an additional key and value of zeros are appended.
        kdim, vdim: features of keys and values. Default: E.
        batch_first: tensors are (N, L, E) rather than (L, N, E).

    >>> x = torch.ones(5, 2, 8)
    >>> output, weights = torch.nn.MultiheadAttention(8, 2)(x, x, x)
    >>> output.shape, weights.shape
    (torch.Size([5, 2, 8]), torch.Size([2, 5, 5]))

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.MultiheadAttention.html; Vaswani et al. (2017),
    https://arxiv.org/abs/1706.03762
    """

    bias_k: Parameter | None
    bias_v: Parameter | None
    in_proj_weight: Parameter = member()
    in_proj_bias: Parameter = member()
    q_proj_weight: Parameter
    k_proj_weight: Parameter
    v_proj_weight: Parameter

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        if embed_dim <= 0 or num_heads <= 0:
            raise ValueError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads} instead"
            )
        super().__init__()
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise AssertionError("embed_dim must be divisible by num_heads")

        def parameter(*shape: int) -> Parameter:
            return Parameter(unfilled(shape, device=device, dtype=dtype))

        same_dim = self._qkv_same_embed_dim
        self.register_parameter("in_proj_weight", parameter(3 * embed_dim, embed_dim) if same_dim else None)
        self.register_parameter("q_proj_weight", None if same_dim else parameter(embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", None if same_dim else parameter(embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", None if same_dim else parameter(embed_dim, self.vdim))
        self.register_parameter("in_proj_bias", parameter(3 * embed_dim) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, device=device, dtype=dtype)
        if add_bias_kv:
            self.bias_k = parameter(1, 1, embed_dim)
            self.bias_v = parameter(1, 1, embed_dim)
        else:
            self.bias_k = self.bias_v = None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.constant_(self.in_proj_bias, 0.0)
            init.constant_(self.out_proj.bias, 0.0)
        for weight in (self.bias_k, self.bias_v):
            if weight is not None:
                init.xavier_normal_(weight)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Any,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attention of queries to keys; arguments and results as of ``F.multi_head_attention_forward``."""
        if query.is_nested or key.is_nested or value.is_nested:
            masked = key_padding_mask is not None or attn_mask is not None
            return attend_nested(self, query, key, value, masked, need_weights, average_attn_weights)
        swap = self.batch_first and query.dim() == 3
        key_padding_mask = canonical_mask(
            key_padding_mask,
            "key_padding_mask",
            None if attn_mask is None else attn_mask.dtype,
            "attn_mask",
            query.dtype,
        )
        attn_mask = canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, check_other=False)
        if swap and key.dim() == value.dim() == 3:
            # Tensors that are one object stay one object: their projections are then computed as one product.
            together, shared = query is key, key is value
            query = query.transpose(0, 1)
            value = None if shared else value.transpose(0, 1)
            key = query if together else key.transpose(0, 1)
            value = key if shared else value
        output: Tensor
        output, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            training=self.training,
            key_padding_mask=key_padding_mask,
            need_weights=need_weights,
            attn_mask=attn_mask,
            use_separate_proj_weight=not self._qkv_same_embed_dim,
            q_proj_weight=self.q_proj_weight,
            k_proj_weight=self.k_proj_weight,
            v_proj_weight=self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return (output.transpose(0, 1) if swap else output), weights

    def merge_masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, query: Tensor
    ) -> tuple[Tensor | None, int | None]:
        """Merges both masks into one, and returns its kind: 0 (attn_mask alone), 1 (key_padding_mask alone), 2 (both), None (neither)."""
        if key_padding_mask is None:
            return attn_mask, None if attn_mask is None else 0
        if attn_mask is None:
            return key_padding_mask, 1
        batch, length = query.shape[:2]
        padding = key_padding_mask.view(batch, 1, 1, length).expand(-1, self.num_heads, -1, -1)
        if attn_mask.dim() == 3:
            return attn_mask.view(batch, -1, length, length) + padding, 2
        return attn_mask.view(1, 1, length, length).expand(batch, self.num_heads, -1, -1) + padding, 2
