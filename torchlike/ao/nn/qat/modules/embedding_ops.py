"""Embeddings that round their tables in training as quantization will."""

from __future__ import annotations

from ..... import nn
from ....._core.tensor import Tensor
from .....nn import functional as F
from ._base import FakeQuantized

__all__ = ["Embedding", "EmbeddingBag"]


class Embedding(FakeQuantized, nn.Embedding):
    """``nn.Embedding`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nn.Embedding
    _arguments = (
        "num_embeddings", "embedding_dim", "padding_idx", "max_norm", "norm_type", "scale_grad_by_freq", "sparse",
    )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        table = self.weight_fake_quant(self.weight)
        return F.embedding(
            input, table, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.sparse
        )


class EmbeddingBag(FakeQuantized, nn.EmbeddingBag):
    """``nn.EmbeddingBag`` with ``weight_fake_quant``."""

    _FLOAT_MODULE = nn.EmbeddingBag
    _arguments = (
        "num_embeddings", "embedding_dim", "max_norm", "norm_type", "scale_grad_by_freq", "mode", "sparse", "include_last_offset",
        "padding_idx",
    )  # fmt: skip

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        return F.embedding_bag(
            input,
            self.weight_fake_quant(self.weight),
            offsets,
            self.max_norm,
            self.norm_type,
            self.scale_grad_by_freq,
            self.mode,
            self.sparse,
            per_sample_weights,
            self.include_last_offset,
            self.padding_idx,
        )
