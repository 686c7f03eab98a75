"""A U-Net that gives each pixel of a picture a class: four times down and up, with a connection across at each size."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import USUAL, Case, How, cross_entropy, uniform
from .resnet import conv_norm

CLASSES = 21


def model(torch: Any, widths: tuple[int, ...]) -> Any:
    nn, F = torch.nn, torch.nn.functional

    def double(ins: int, outs: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(ins, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(),
            nn.Conv2d(outs, outs, 3, padding=1, bias=False), nn.BatchNorm2d(outs), nn.ReLU(),
        )  # fmt: skip

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList([double(i, o) for i, o in zip((3, *widths), widths, strict=False)])
            pairs = list(zip(widths[::-1], widths[-2::-1], strict=False))
            self.raise_ = nn.ModuleList([nn.ConvTranspose2d(i, o, 2, 2) for i, o in pairs])
            self.up = nn.ModuleList([double(i, o) for i, o in pairs])
            self.head = nn.Conv2d(widths[0], CLASSES, 1)

        def forward(self, x: Any) -> Any:
            across = []
            for i, block in enumerate(self.down):
                x = block(x if i == 0 else F.max_pool2d(x, 2))
                across.append(x)
            across.pop()
            for larger, block in zip(self.raise_, self.up, strict=True):
                x = block(torch.cat([across.pop(), larger(x)], 1))
            return self.head(x)

    return UNet(), nn.CrossEntropyLoss()


def data(batch: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    return random.normal(size=(batch, 3, size, size)).astype(np.float32), random.integers(
        0, CLASSES, (batch, size, size)
    )


def params(random: np.random.Generator, widths: tuple[int, ...]) -> Any:
    def conv(ins: int, outs: int) -> Any:
        return uniform(random, outs, ins, 3, 3, fan_in=9 * ins), jnp.ones(outs), jnp.zeros(outs)

    def plain(ins: int, outs: int, size: int) -> Any:
        return uniform(random, ins, outs, size, size, fan_in=ins), jnp.zeros(outs)

    pairs = list(zip(widths[::-1], widths[-2::-1], strict=False))
    down = [(conv(i, o), conv(o, o)) for i, o in zip((3, *widths), widths, strict=False)]
    return down, [(plain(i, o, 2), conv(i, o), conv(o, o)) for i, o in pairs], plain(widths[0], CLASSES, 1)


def _larger(x: jax.Array, weights: Any, how: How) -> jax.Array:
    x, w, bias = how.factors(x, *weights)  # (in, out, 2, 2): each pixel becomes four
    B, _, H, W = x.shape
    out = jnp.einsum("bihw,iokl->bohkwl", x, w).reshape(B, w.shape[1], 2 * H, 2 * W)
    return out + bias[:, None, None]


def loss(params: Any, X: jax.Array, y: jax.Array, how: How = USUAL) -> jax.Array:
    down, up, (w, bias) = params
    x, across = X, []
    for i, (conv1, conv2) in enumerate(down):
        if i > 0:
            x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 2, 2), (1, 1, 2, 2), "VALID")
        x = jax.nn.relu(conv_norm(jax.nn.relu(conv_norm(x, conv1, 1, how)), conv2, 1, how))
        across.append(x)
    across.pop()
    for raised, conv1, conv2 in up:
        x = jnp.concatenate([across.pop(), _larger(x, raised, how)], 1)
        x = jax.nn.relu(conv_norm(jax.nn.relu(conv_norm(x, conv1, 1, how)), conv2, 1, how))
    x, w, bias = how.factors(x, w, bias)
    logits = jnp.einsum("bihw,io->bhwo", x, w[:, :, 0, 0]) + bias
    return cross_entropy(logits.astype(jnp.float32).reshape(-1, CLASSES), y.reshape(-1))


def case(batch: int, size: int, steps: int, widths: tuple[int, ...] = (64, 128, 256, 512, 1024)) -> Case:
    """The network on pictures of this size."""
    return Case(
        functools.partial(model, widths=widths),
        functools.partial(data, batch, size),
        functools.partial(params, widths=widths),
        loss,
        steps,
    )
