"""Transformer: encoder and decoder, and their layers."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype
from ..._core.modes import modes
from ..._core.tensor import Tensor, from_value
from ...dispatch.options import placement_of
from ...engine.value import Value
from .. import functional as F, init
from ..functional._attention import canonical_mask
from .activation import GELU, ReLU
from .container import ModuleList
from .dropout import Dropout
from .linear import Linear
from .module import Module
from .multihead import MultiheadAttention
from .normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = str | Callable[[Tensor], Tensor]


def _activation(activation: object) -> Any:
    if not isinstance(activation, str):
        return activation
    functions = {"relu": F.relu, "gelu": F.gelu}
    if activation not in functions:
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return functions[activation]


_get_activation_fn = _activation  # its name in PyTorch


def _number(activation: object) -> int:
    """Returns PyTorch's number for an activation: 1 for relu, 2 for gelu, 0 for others."""
    for number, (function, layer) in enumerate(((F.relu, ReLU), (F.gelu, GELU)), 1):
        if activation is function or isinstance(activation, layer):
            return number
    return 0


def _additive(
    src_key_padding_mask: Tensor | None, mask: Tensor | None, dtype: Dtype, other_name: str
) -> tuple[Tensor | None, ...]:
    """Both masks of a self-attention as numbers to add."""
    padding = canonical_mask(
        src_key_padding_mask, "src_key_padding_mask", None if mask is None else mask.dtype, other_name, dtype
    )
    return padding, canonical_mask(mask, other_name, None, "", dtype, check_other=False)


class TransformerEncoderLayer(Module):
    """Self-attention and two linear layers, each added to what it reads and normalised.

    Args:
        d_model: features.
        nhead: heads of the attention.
        dim_feedforward: features between the two linear layers.
        dropout: probability, at four places.
        activation: "relu", "gelu" or a function.
        layer_norm_eps: ``eps`` of the normalisations.
        batch_first: tensors are (N, L, E) rather than (L, N, E).
        norm_first: normalise the input of each part instead of its output added to the input.
        bias: whether linear layers and normalisations have biases.

    >>> torch.nn.TransformerEncoderLayer(d_model=8, nhead=2)(torch.rand(5, 2, 8)).shape
    torch.Size([5, 2, 8])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoderLayer.html
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        super().__init__()
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **where
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation: Any = _activation(activation)
        self.activation_relu_or_gelu = _number(self.activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Encodes ``src``.

        Args:
            src_mask, src_key_padding_mask, is_causal: as ``attn_mask`` and so on of ``MultiheadAttention``.
        """
        src_key_padding_mask, src_mask = _additive(src_key_padding_mask, src_mask, src.dtype, "src_mask")
        x, masks = src, (src_mask, src_key_padding_mask)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *masks, is_causal=is_causal)
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + self._sa_block(x, *masks, is_causal=is_causal))
        return self.norm2(x + self._ff_block(x))

    def _sa_block(
        self, x: Tensor, attn_mask: Tensor | None, key_padding_mask: Tensor | None, is_causal: bool = False
    ) -> Tensor:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, need_weights=False, is_causal=is_causal
        )
        return self.dropout1(attended[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoderLayer(Module):
    """Self-attention, attention to the encoder's output, and two linear layers, each added to what it reads and normalised.

    Arguments are those of ``TransformerEncoderLayer``.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> layer(torch.rand(4, 2, 8), torch.rand(5, 2, 8)).shape
    torch.Size([4, 2, 8])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoderLayer.html
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        where = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **where}
        super().__init__()
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation: Any = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Decodes ``tgt``, looking at ``memory``; the masks are those of the two attentions."""
        x = tgt
        own = (tgt_mask, tgt_key_padding_mask, tgt_is_causal)
        other = (memory, memory_mask, memory_key_padding_mask, memory_is_causal)
        if self.norm_first:
            x = x + self._sa_block(self.norm1(x), *own)
            x = x + self._mha_block(self.norm2(x), *other)
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + self._sa_block(x, *own))
        x = self.norm2(x + self._mha_block(x, *other))
        return self.norm3(x + self._ff_block(x))

    def _sa_block(self, x: Tensor, attn_mask: object, key_padding_mask: object, is_causal: bool = False) -> Tensor:
        attended = self.self_attn(
            x, x, x, attn_mask=attn_mask, key_padding_mask=key_padding_mask, is_causal=is_causal, need_weights=False
        )
        return self.dropout1(attended[0])

    def _mha_block(
        self, x: Tensor, mem: object, attn_mask: object, key_padding_mask: object, is_causal: bool = False
    ) -> Tensor:
        attended = self.multihead_attn(
            x,
            mem,
            mem,
            attn_mask=attn_mask,
            key_padding_mask=key_padding_mask,
            is_causal=is_causal,
            need_weights=False,
        )
        return self.dropout2(attended[0])

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


def _copies(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoder(Module):
    """Several encoder layers, one after the other.

    Args:
        encoder_layer: copied ``num_layers`` times.
        norm: applied at the end.
        enable_nested_tensor: in inference, positions that are only padding come out as zeros.
        mask_check: apply ``enable_nested_tensor`` only if the padding is at the end of each sequence.

    >>> layer = torch.nn.TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> torch.nn.TransformerEncoder(layer, num_layers=2)(torch.rand(2, 5, 8)).shape
    torch.Size([2, 5, 8])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerEncoder.html
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        obstacle = _obstacle(encoder_layer)
        if enable_nested_tensor and obstacle:
            warnings.warn(
                f"enable_nested_tensor is True, but self.use_nested_tensor is False because {obstacle}", stacklevel=2
            )
        self.use_nested_tensor = enable_nested_tensor and not obstacle
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Encodes ``src`` by all layers; arguments as of the layer. With ``is_causal=None`` the mask is used as it is."""
        src_key_padding_mask, mask = _additive(src_key_padding_mask, mask, src.dtype, "mask")
        output = src
        for layer in self.layers:
            output = layer(output, src_mask=mask, is_causal=bool(is_causal), src_key_padding_mask=src_key_padding_mask)
        if self._skips_padding(src, mask, src_key_padding_mask):
            output = output.masked_fill((src_key_padding_mask != 0).unsqueeze(-1), 0.0)
        return output if self.norm is None else self.norm(output)

    def _skips_padding(self, src: Tensor, mask: Tensor | None, padding: Tensor | None) -> bool:
        """Whether PyTorch would skip padded positions. Their outputs are zeros then."""
        if not self.use_nested_tensor or self.training or src.dim() != 3 or mask is not None or padding is None:
            return False
        if modes.grad_enabled and (src.requires_grad or any(p.requires_grad for p in self.layers.parameters())):
            return False
        if padding._value().traced:  # PyTorch's traces and exports skip nothing either
            return False
        lengths = padding._array() == 0
        return not self.mask_check or bool((lengths[:, :-1] >= lengths[:, 1:]).all())


def _obstacle(layer: object) -> str:
    """The reason why PyTorch would not skip padding, in its words; empty if it would."""
    if not isinstance(layer, TransformerEncoderLayer):
        return "encoder_layer was not TransformerEncoderLayer"
    if layer.norm_first:
        return "encoder_layer.norm_first was True"
    attention = layer.self_attn
    if not attention.batch_first:
        return "encoder_layer.self_attn.batch_first was not True(use batch_first for better inference performance)"
    if attention.in_proj_bias is None:
        return "encoder_layer.self_attn was passed bias=False"
    if not attention._qkv_same_embed_dim:
        return "encoder_layer.self_attn._qkv_same_embed_dim was not True"
    if not layer.activation_relu_or_gelu:
        return "encoder_layer.activation_relu_or_gelu was not True"
    if layer.norm1.eps != layer.norm2.eps:
        return "encoder_layer.norm1.eps was not equal to encoder_layer.norm2.eps"
    return "encoder_layer.self_attn.num_heads is odd" if attention.num_heads % 2 else ""


class TransformerDecoder(Module):
    """Several decoder layers, one after the other.

    Args:
        decoder_layer: copied ``num_layers`` times.
        norm: applied at the end.

    >>> layer = torch.nn.TransformerDecoderLayer(d_model=8, nhead=2)
    >>> torch.nn.TransformerDecoder(layer, num_layers=2)(torch.rand(4, 2, 8), torch.rand(5, 2, 8)).shape
    torch.Size([4, 2, 8])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.TransformerDecoder.html
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Decodes ``tgt`` by all layers; arguments as of the layer."""
        output = tgt
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class Transformer(Module):
    """Encoder and decoder, both with a normalisation at the end.

    Args:
        d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias: as for the layers.
        num_encoder_layers, num_decoder_layers: the numbers of layers.
        custom_encoder, custom_decoder: modules that replace ``TransformerEncoder`` and ``TransformerDecoder``.

    >>> model = torch.nn.Transformer(d_model=8, nhead=2, num_encoder_layers=1, num_decoder_layers=1, batch_first=True)
    >>> model(torch.rand(2, 5, 8), torch.rand(2, 4, 8)).shape
    torch.Size([2, 4, 8])

    Source: https://docs.pytorch.org/docs/stable/generated/torch.nn.Transformer.html; https://arxiv.org/abs/1706.03762
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: DeviceLike | None = None,
        dtype: Dtype | None = None,
    ) -> None:
        super().__init__()
        where = {"device": device, "dtype": dtype}
        layer = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer_to_copy = TransformerEncoderLayer(*layer, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            self.encoder = TransformerEncoder(layer_to_copy, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer_to_copy = TransformerDecoderLayer(*layer, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            self.decoder = TransformerDecoder(layer_to_copy, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Encodes ``src`` and decodes ``tgt`` with it.

        Args:
            src: (S, N, E), or (N, S, E) if ``batch_first``, or (S, E). tgt: likewise with T for S.
            src_mask, tgt_mask, memory_mask: (S, S), (T, T), (T, S), or one for each batch and head.
            src_key_padding_mask, tgt_key_padding_mask, memory_key_padding_mask: (N, S), (N, T), (N, S).
            src_is_causal, tgt_is_causal, memory_is_causal: hints that the mask is the causal one.
        """
        batched = src.dim() == 3
        where = 0 if self.batch_first else 1
        if batched and src.size(where) != (tgt.size(where) if tgt.dim() > where else None):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: DeviceLike | None = None, dtype: Dtype | None = None
    ) -> Tensor:
        """The causal mask: (sz, sz), -inf over the diagonal, 0 elsewhere.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        kind = dtypes.get_default_dtype() if dtype is None else dtype
        mask = np.triu(np.full((sz, sz), -math.inf), 1).astype(kind.numpy)
        return from_value(Value.on_host(mask, placement_of(device)))

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)
