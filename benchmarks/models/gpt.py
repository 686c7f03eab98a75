"""A small GPT: four blocks of causal self-attention and two linear layers, which predicts the next token."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from ._case import Case, cross_entropy, dense, uniform

BATCH, TOKENS, WIDTH, HEADS, BLOCKS = 8, 96, 128, 4, 4


def model(torch: Any, length: int) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
            self.attend, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
            self.widen, self.narrow = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

        def forward(self, x: Any) -> Any:
            B, T, C = x.shape
            heads = [
                part.view(B, T, HEADS, C // HEADS).transpose(1, 2)
                for part in self.attend(self.norm1(x)).split(C, dim=2)
            ]
            attended = F.scaled_dot_product_attention(*heads, is_causal=True)
            x = x + self.project(attended.transpose(1, 2).contiguous().view(B, T, C))
            return x + self.narrow(F.gelu(self.widen(self.norm2(x))))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.tokens, self.positions = nn.Embedding(TOKENS, WIDTH), nn.Embedding(length, WIDTH)
            self.blocks = nn.ModuleList([Block() for _ in range(BLOCKS)])
            self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, TOKENS)

        def forward(self, x: Any) -> Any:
            x = self.tokens(x) + self.positions(torch.arange(x.shape[1], device=x.device))
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    return GPT(), lambda logits, y: F.cross_entropy(logits.view(-1, TOKENS), y.view(-1))


def data(length: int) -> tuple[np.ndarray, np.ndarray]:
    text = np.random.default_rng(0).integers(0, TOKENS, (BATCH, length + 1))
    return text[:, :-1].copy(), text[:, 1:].copy()


def params(random: np.random.Generator, length: int) -> Any:
    def norm() -> Any:
        return jnp.ones(WIDTH), jnp.zeros(WIDTH)

    blocks = [
        {
            "norms": (norm(), norm()), "attend": dense(random, WIDTH, 3 * WIDTH), "project": dense(random, WIDTH, WIDTH),
            "widen": dense(random, WIDTH, 4 * WIDTH), "narrow": dense(random, 4 * WIDTH, WIDTH),
        }
        for _ in range(BLOCKS)
    ]  # fmt: skip
    embeddings = uniform(random, TOKENS, WIDTH, fan_in=1), uniform(random, length, WIDTH, fan_in=1)
    return embeddings, blocks, norm(), dense(random, WIDTH, TOKENS)


def _norm(x: jax.Array, weights: Any) -> jax.Array:
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * weights[0] + weights[1]


def _linear(x: jax.Array, weights: Any) -> jax.Array:
    return x @ weights[0] + weights[1]


def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
    (tokens, positions), blocks, last, head = params
    x = tokens[X] + positions[: X.shape[1]]
    B, T, C = x.shape
    causal = jnp.tril(jnp.ones((T, T), bool))
    for block in blocks:
        q, k, v = (
            part.reshape(B, T, HEADS, C // HEADS)
            for part in jnp.split(_linear(_norm(x, block["norms"][0]), block["attend"]), 3, -1)
        )
        scores = jnp.einsum("bthd,bshd->bhts", q, k) / (C // HEADS) ** 0.5
        weights = jax.nn.softmax(jnp.where(causal, scores, -jnp.inf))
        x = x + _linear(jnp.einsum("bhts,bshd->bthd", weights, v).reshape(B, T, C), block["project"])
        hidden = jax.nn.gelu(_linear(_norm(x, block["norms"][1]), block["widen"]), approximate=False)
        x = x + _linear(hidden, block["narrow"])
    return cross_entropy(_linear(_norm(x, last), head).reshape(-1, TOKENS), y.reshape(-1))


def case(length: int, steps: int) -> Case:
    """The model on sequences of this length."""
    model_of, data_of = functools.partial(model, length=length), functools.partial(data, length)
    return Case(model_of, data_of, functools.partial(params, length=length), loss, steps)
