"""Vision Transformer: a picture as a sequence of patches."""

from __future__ import annotations

import math
from collections import OrderedDict
from functools import partial
from typing import Any

from ... import nn, ops as torch
from ..._core.tensor import Tensor
from ._weights import built, weights_enum

__all__ = [
    "ViT_B_16_Weights", "ViT_B_32_Weights", "ViT_L_16_Weights", "ViT_L_32_Weights", "VisionTransformer", "vit_b_16", "vit_b_32",
    "vit_l_16", "vit_l_32",
]  # fmt: skip


_NORM = partial(nn.LayerNorm, eps=1e-6)


class MLPBlock(nn.Sequential):
    """Two linear layers with GELU between them."""

    _version = 2

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__(
            nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width), nn.Dropout(dropout)
        )
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.normal_(module.bias, std=1e-6)

    def _load_from_state_dict(
        self, state_dict: dict[str, Tensor], prefix: str, local_metadata: dict[str, Any], *args: Any
    ) -> None:
        if (local_metadata.get("version") or 1) < 2:  # older files have names for the layers
            for old, new in (("linear_1", "0"), ("linear_2", "3")):
                for kind in ("weight", "bias"):
                    if f"{prefix}{old}.{kind}" in state_dict:
                        state_dict[f"{prefix}{new}.{kind}"] = state_dict.pop(f"{prefix}{old}.{kind}")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *args)


class EncoderBlock(nn.Module):
    """Self-attention and a perceptron, each after a normalization, and each added to its input."""

    def __init__(
        self, heads: int, width: int, hidden: int, dropout: float, attention_dropout: float, norm: Any
    ) -> None:
        super().__init__()
        self.num_heads = heads
        self.ln_1 = norm(width)
        self.self_attention = nn.MultiheadAttention(width, heads, dropout=attention_dropout, batch_first=True)
        self.dropout = nn.Dropout(dropout)
        self.ln_2 = norm(width)
        self.mlp = MLPBlock(width, hidden, dropout)

    def forward(self, input: object) -> Any:
        x = self.ln_1(input)
        x, _ = self.self_attention(x, x, x, need_weights=False)
        x = self.dropout(x) + input
        return x + self.mlp(self.ln_2(x))


class Encoder(nn.Module):
    """Adds position embeddings to a sequence, and calls the blocks."""

    def __init__(self, length: int, layers: int, *block: Any) -> None:
        super().__init__()
        _, width, _, dropout, _, norm = block
        self.pos_embedding = nn.Parameter(nn.init.normal_(torch.empty(1, length, width), std=0.02))
        self.dropout = nn.Dropout(dropout)
        self.layers = nn.Sequential(OrderedDict((f"encoder_layer_{i}", EncoderBlock(*block)) for i in range(layers)))
        self.ln = norm(width)

    def forward(self, input: object) -> Any:
        return self.ln(self.layers(self.dropout(input + self.pos_embedding)))


class VisionTransformer(nn.Module):
    """A transformer encoder over the patches of a picture and one more token, from which the class is computed.

    Args:
        image_size, patch_size: in pixels; pictures are square.
        num_layers, num_heads, hidden_dim, mlp_dim: of the encoder.
        dropout, attention_dropout: probabilities.
        num_classes: size of the output.
        representation_size: of one more layer before the last. None: no such layer.
        norm_layer: makes a normalization of so many features.

    Shapes: (N, 3, image_size, image_size) gives (N, num_classes).

    Source: Dosovitskiy et al., An Image is Worth 16x16 Words, https://arxiv.org/abs/2010.11929
    """

    def __init__(
        self,
        image_size: int,
        patch_size: int,
        num_layers: int,
        num_heads: int,
        hidden_dim: int,
        mlp_dim: int,
        dropout: float = 0.0,
        attention_dropout: float = 0.0,
        num_classes: int = 1000,
        representation_size: int | None = None,
        norm_layer: object = _NORM,
    ) -> None:
        super().__init__()
        if image_size % patch_size:
            raise AssertionError("Input shape indivisible by patch size!")
        self.image_size, self.patch_size, self.hidden_dim = image_size, patch_size, hidden_dim
        self.conv_proj = nn.Conv2d(3, hidden_dim, patch_size, stride=patch_size)
        self.class_token = nn.Parameter(torch.zeros(1, 1, hidden_dim))
        self.seq_length = (image_size // patch_size) ** 2 + 1
        self.encoder = Encoder(
            self.seq_length, num_layers, num_heads, hidden_dim, mlp_dim, dropout, attention_dropout, norm_layer
        )
        heads: OrderedDict[str, nn.Module] = OrderedDict()
        if representation_size is not None:
            heads["pre_logits"] = nn.Linear(hidden_dim, representation_size)
            heads["act"] = nn.Tanh()
        last = heads["head"] = nn.Linear(representation_size or hidden_dim, num_classes)
        self.heads = nn.Sequential(heads)
        nn.init.trunc_normal_(self.conv_proj.weight, std=math.sqrt(1 / (3 * patch_size**2)))
        assert self.conv_proj.bias is not None
        nn.init.zeros_(self.conv_proj.bias)
        if representation_size is not None:
            first = heads["pre_logits"]
            nn.init.trunc_normal_(first.weight, std=math.sqrt(1 / hidden_dim))
            nn.init.zeros_(first.bias)
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)

    def forward(self, x: Tensor) -> Any:
        count, _, height, width = x.shape
        for name, size in (("height", height), ("width", width)):
            if size != self.image_size:
                raise AssertionError(f"Wrong image {name}! Expected {self.image_size} but got {size}!")
        x = self.conv_proj(x).flatten(2).permute(0, 2, 1)  # (N, patches, hidden_dim)
        x = torch.cat([self.class_token.expand(count, -1, -1), x], 1)  # (N, 1 + patches, hidden_dim)
        return self.heads(self.encoder(x)[:, 0])  # (N, num_classes)


def _weights(name: str, parameters: int, file: str, **changes: int) -> type:
    return weights_enum(name, __name__, IMAGENET1K_V1=(file, parameters, *([changes] if changes else [])))


ViT_B_16_Weights = _weights("ViT_B_16_Weights", 86567656, "vit_b_16-c867db91.pth")
ViT_B_32_Weights = _weights("ViT_B_32_Weights", 88224232, "vit_b_32-d86f8d99.pth")
ViT_L_16_Weights = _weights("ViT_L_16_Weights", 304326632, "vit_l_16-852ce7e3.pth", resize_size=242)
ViT_L_32_Weights = _weights("ViT_L_32_Weights", 306535400, "vit_l_32-c7638314.pth")

_BASE = {"num_layers": 12, "num_heads": 12, "hidden_dim": 768, "mlp_dim": 3072}
_LARGE = {"num_layers": 24, "num_heads": 16, "hidden_dim": 1024, "mlp_dim": 4096}


def _transformer(
    sizes: dict[str, int], patch: int, kind: object, weights: object, progress: bool, options: dict[str, object]
) -> VisionTransformer:
    options.setdefault("image_size", 224)
    make = partial(VisionTransformer, patch_size=patch, **sizes)
    return built(make, kind, weights, progress, options)


def vit_b_16(*, weights: object = None, progress: bool = True, **kwargs: object) -> VisionTransformer:
    """The base Vision Transformer on patches of 16x16 pixels.

    Args:
        weights: None, a member of ``ViT_B_16_Weights`` or its name, a file, or an address.
        progress: show a bar while they are downloaded.
        kwargs: for ``VisionTransformer``.

    Source: https://docs.pytorch.org/vision/stable/models/generated/torchvision.models.vit_b_16.html
    """
    return _transformer(_BASE, 16, ViT_B_16_Weights, weights, progress, kwargs)


def vit_b_32(*, weights: object = None, progress: bool = True, **kwargs: object) -> VisionTransformer:
    """The base Vision Transformer on patches of 32x32 pixels; arguments as for ``vit_b_16``."""
    return _transformer(_BASE, 32, ViT_B_32_Weights, weights, progress, kwargs)


def vit_l_16(*, weights: object = None, progress: bool = True, **kwargs: object) -> VisionTransformer:
    """The large Vision Transformer on patches of 16x16 pixels; arguments as for ``vit_b_16``."""
    return _transformer(_LARGE, 16, ViT_L_16_Weights, weights, progress, kwargs)


def vit_l_32(*, weights: object = None, progress: bool = True, **kwargs: object) -> VisionTransformer:
    """The large Vision Transformer on patches of 32x32 pixels; arguments as for ``vit_b_16``."""
    return _transformer(_LARGE, 32, ViT_L_32_Weights, weights, progress, kwargs)
