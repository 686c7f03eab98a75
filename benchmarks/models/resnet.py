"""ResNet-18 for pictures of 32 by 32: four stages of two residual blocks, with batch normalisation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import USUAL, Case, How, cross_entropy, dense, pictures, uniform

BATCH, CLASSES = 8, 10
STAGES = (  # in, out, stride of each block
    (64, 64, 1), (64, 64, 1), (64, 128, 2), (128, 128, 1), (128, 256, 2), (256, 256, 1), (256, 512, 2), (512, 512, 1),
)  # fmt: skip


def model(torch: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, ins: int, outs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(ins, outs, 3, stride, 1, bias=False)
            self.conv2 = nn.Conv2d(outs, outs, 3, 1, 1, bias=False)
            self.bn1, self.bn2 = nn.BatchNorm2d(outs), nn.BatchNorm2d(outs)
            self.shortcut = nn.Sequential()
            if stride > 1:
                self.shortcut = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

        def forward(self, x: Any) -> Any:
            y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
            return F.relu(y + self.shortcut(x))

    layers = nn.Sequential(
        nn.Conv2d(3, 64, 3, 1, 1, bias=False), nn.BatchNorm2d(64), nn.ReLU(), *(Block(*stage) for stage in STAGES),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, CLASSES),
    )  # fmt: skip
    return layers, nn.CrossEntropyLoss()


def params(random: np.random.Generator) -> Any:
    def conv(ins: int, outs: int, size: int) -> Any:
        weight = uniform(random, outs, ins, size, size, fan_in=ins * size * size)
        return weight, jnp.ones(outs), jnp.zeros(outs)

    blocks = [
        (conv(ins, outs, 3), conv(outs, outs, 3), *([conv(ins, outs, 1)] if stride > 1 else []))
        for ins, outs, stride in STAGES
    ]
    return conv(3, 64, 3), blocks, dense(random, 512, CLASSES)


def conv_norm(x: jax.Array, weights: Any, stride: int = 1, how: How = USUAL) -> jax.Array:
    """A convolution, and its normalisation over the batch in float32."""
    # Running statistics, which the other engines keep, would cost a few numbers more.
    w, scale, shift = weights
    padding = w.shape[-1] // 2
    x, w = how.factors(x, w)
    out = lax.conv_general_dilated(x, w, (stride, stride), [(padding, padding)] * 2, precision=lax.Precision.DEFAULT)
    wide = out.astype(jnp.float32)
    centred = wide - wide.mean((0, 2, 3), keepdims=True)
    factor = lax.rsqrt((centred**2).mean((0, 2, 3), keepdims=True) + 1e-5) * scale[:, None, None]
    return (centred * factor + shift[:, None, None]).astype(out.dtype)


def loss(params: Any, X: jax.Array, y: jax.Array) -> jax.Array:
    first, blocks, (w, b) = params
    x = jax.nn.relu(conv_norm(X, first))
    for (conv1, conv2, *shortcut), (_, _, stride) in zip(blocks, STAGES, strict=True):
        out = conv_norm(jax.nn.relu(conv_norm(x, conv1, stride)), conv2)
        x = jax.nn.relu(out + (conv_norm(x, shortcut[0], stride) if shortcut else x))
    return cross_entropy(x.mean((2, 3)) @ w + b, y)


CASE = Case(model, lambda: pictures(BATCH, 3, 32, CLASSES), params, loss, steps=2)
