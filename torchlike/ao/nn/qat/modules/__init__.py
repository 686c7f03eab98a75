"""Layers that round their weights in training as quantization will."""

from .conv import Conv1d as Conv1d, Conv2d as Conv2d, Conv3d as Conv3d
from .embedding_ops import Embedding as Embedding, EmbeddingBag as EmbeddingBag
from .linear import Linear as Linear

__all__ = ["Conv1d", "Conv2d", "Conv3d", "Embedding", "EmbeddingBag", "Linear"]
