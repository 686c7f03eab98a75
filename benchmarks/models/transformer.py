"""Transformers of real sizes: GPT-2 of 124 million parameters, BERT-base and ViT-B/16, built from one kind of block."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import USUAL, Case, How, cross_entropy, dense, uniform


@dataclass(frozen=True)
class Shape:
    """What the three differ in.

    Args:
        inputs: size of the vocabulary; 0: pictures of 224 by 224, cut into patches.
        classes: of each token, or of the whole where ``pooled``.
        dropout: after embeddings and each two layers of a block; not of attention's weights, which JAX's kernel does not have.
        first: whether layers normalise what comes in (GPT, ViT) or what goes out (BERT).
    """

    inputs: int
    classes: int
    tokens: int
    batch: int
    causal: bool = False
    first: bool = True
    pooled: bool = False
    dropout: float = 0.0
    blocks: int = 12
    width: int = 768
    heads: int = 12

    def smaller(self) -> Shape:
        """The same of a size that a CPU runs in a moment."""
        tokens = 197 if self.inputs == 0 else 32
        return Shape(
            **{**self.__dict__, "blocks": 2, "width": 64, "heads": 4, "tokens": tokens, "batch": 2, "classes": 50}
        )


GPT = Shape(50304, 50304, 1024, batch=4, causal=True)
BERT = Shape(30522, 2, 128, batch=32, first=False, pooled=True)
VIT = Shape(0, 1000, 197, batch=32, pooled=True)
PATCH = 16


def model(torch: Any, shape: Shape) -> Any:
    nn, F = torch.nn, torch.nn.functional
    width = shape.width

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attend, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.drop = nn.Dropout(shape.dropout)

        def attended(self, x: Any) -> Any:
            B, T, C = x.shape
            q, k, v = self.attend(x).view(B, T, 3, shape.heads, C // shape.heads).permute(2, 0, 3, 1, 4).unbind(0)
            y = F.scaled_dot_product_attention(q, k, v, is_causal=shape.causal)
            return self.drop(self.project(y.transpose(1, 2).reshape(B, T, C)))

        def fed(self, x: Any) -> Any:
            return self.drop(self.narrow(F.gelu(self.widen(x))))

        def forward(self, x: Any) -> Any:
            if shape.first:
                x = x + self.attended(self.norm1(x))
                return x + self.fed(self.norm2(x))
            x = self.norm1(x + self.attended(x))
            return self.norm2(x + self.fed(x))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            if shape.inputs:
                self.embed = nn.Embedding(shape.inputs, width)
            else:
                self.embed = nn.Conv2d(3, width, PATCH, PATCH)
                self.token = nn.Parameter(torch.zeros(1, 1, width))
            self.positions = nn.Parameter(torch.randn(shape.tokens, width) * 0.02)
            self.drop = nn.Dropout(shape.dropout)
            self.blocks = nn.ModuleList([Block() for _ in range(shape.blocks)])
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, shape.classes, bias=False)

        def forward(self, x: Any) -> Any:
            x = self.embed(x)
            if not shape.inputs:
                x = torch.cat([self.token.expand(x.shape[0], -1, -1), x.flatten(2).transpose(1, 2)], 1)
            x = self.drop(x + self.positions)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x[:, 0] if shape.pooled else x))

    return Transformer(), lambda logits, y: F.cross_entropy(logits.view(-1, shape.classes), y.view(-1))


def data(shape: Shape) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    labels = random.integers(0, shape.classes, (shape.batch,) if shape.pooled else (shape.batch, shape.tokens))
    if shape.inputs:
        return random.integers(0, shape.inputs, (shape.batch, shape.tokens)), labels
    return random.normal(size=(shape.batch, 3, 224, 224)).astype(np.float32), labels


def params(random: np.random.Generator, shape: Shape) -> Any:
    width = shape.width

    def norm() -> Any:
        return jnp.ones(width), jnp.zeros(width)

    blocks = [
        {
            "norms": (norm(), norm()), "attend": dense(random, width, 3 * width), "project": dense(random, width, width),
            "widen": dense(random, width, 4 * width), "narrow": dense(random, 4 * width, width),
        }
        for _ in range(shape.blocks)
    ]  # fmt: skip
    if shape.inputs:
        embed: Any = uniform(random, shape.inputs, width, fan_in=1)
    else:
        patches = uniform(random, width, 3, PATCH, PATCH, fan_in=3 * PATCH**2)
        embed = patches, jnp.zeros(width), jnp.zeros((1, 1, width))
    positions = uniform(random, shape.tokens, width, fan_in=width)
    return embed, positions, blocks, norm(), uniform(random, width, shape.classes, fan_in=width)


def _norm(x: jax.Array, weights: Any) -> jax.Array:
    wide = x.astype(jnp.float32)
    centred = wide - wide.mean(-1, keepdims=True)
    return (centred * lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights[0] + weights[1]).astype(x.dtype)


def _linear(x: jax.Array, weights: Any, how: How) -> jax.Array:
    x, weight, bias = how.factors(x, *weights)
    return x @ weight + bias


def loss(params: Any, X: jax.Array, y: jax.Array, shape: Shape, how: How = USUAL) -> jax.Array:
    embed, positions, blocks, last, head = params
    if how.flash:
        from jax.experimental.pallas.ops.tpu.flash_attention import flash_attention
    if shape.inputs:
        x = embed[X]
    else:
        X, patches, bias = how.factors(X, *embed[:2])
        x = (
            lax.conv_general_dilated(X, patches, (PATCH, PATCH), "VALID", precision=lax.Precision.DEFAULT)
            + bias[:, None, None]
        )
        x = x.reshape(*x.shape[:2], -1).swapaxes(1, 2)
        x = jnp.concatenate([jnp.broadcast_to(embed[2], (len(x), 1, shape.width)), x], 1)
    x = how.dropped(x + positions, shape.dropout)
    B, T, C = x.shape

    def attended(block: Any, x: jax.Array) -> jax.Array:
        parts = _linear(x, block["attend"], how).reshape(B, T, 3, shape.heads, C // shape.heads)
        if how.flash and T % 128 == 0:
            q, k, v = jnp.transpose(parts, (2, 0, 3, 1, 4))
            y = flash_attention(q, k, v, causal=shape.causal, sm_scale=(C // shape.heads) ** -0.5)
            return projected(y.swapaxes(1, 2), block)
        q, k, v = jnp.moveaxis(parts, 2, 0)
        # cuDNN's kernel takes half types on a GPU alone, and JAX no odd lengths; elsewhere JAX writes the square of all pairs.
        fused = x.dtype == jnp.bfloat16 and T % 2 == 0 and jax.default_backend() == "gpu"
        y = jax.nn.dot_product_attention(q, k, v, is_causal=shape.causal, implementation="cudnn" if fused else None)
        return projected(y, block)

    def projected(y: jax.Array, block: Any) -> jax.Array:
        return how.dropped(_linear(y.reshape(B, T, C), block["project"], how), shape.dropout)

    def fed(block: Any, x: jax.Array) -> jax.Array:
        hidden = jax.nn.gelu(_linear(x, block["widen"], how), approximate=False)
        return how.dropped(_linear(hidden, block["narrow"], how), shape.dropout)

    for block in blocks:
        if shape.first:
            x = x + attended(block, _norm(x, block["norms"][0]))
            x = x + fed(block, _norm(x, block["norms"][1]))
        else:
            x = _norm(x + attended(block, x), block["norms"][0])
            x = _norm(x + fed(block, x), block["norms"][1])
    x, head = how.factors(_norm(x[:, 0] if shape.pooled else x, last), head)
    logits = x @ head
    return cross_entropy(logits.astype(jnp.float32).reshape(-1, shape.classes), y.reshape(-1))


def case(shape: Shape, steps: int) -> Case:
    """The model of this shape."""
    return Case(
        functools.partial(model, shape=shape),
        functools.partial(data, shape),
        functools.partial(params, shape=shape),
        functools.partial(loss, shape=shape),
        steps,
    )
