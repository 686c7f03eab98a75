"""ResNet-50 for pictures of 224 by 224: four stages of bottleneck blocks, with batch normalisation."""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from ._case import USUAL, Case, How, cross_entropy, dense, pictures, uniform
from .resnet import conv_norm

STAGES = ((3, 64), (4, 128), (6, 256), (3, 512))  # blocks, and width of their middle convolution
CLASSES = 1000


def _blocks(stages: Any) -> list[tuple[int, int, int]]:
    """In, width, stride of each block; it gives four times its width."""
    found, ins = [], 64
    for number, (count, width) in enumerate(stages):
        for i in range(count):
            found.append((ins, width, 2 if i == 0 and number > 0 else 1))
            ins = 4 * width
    return found


def model(torch: Any, stages: Any) -> Any:
    nn, F = torch.nn, torch.nn.functional

    class Block(nn.Module):
        def __init__(self, ins: int, width: int, stride: int) -> None:
            super().__init__()
            outs = 4 * width
            self.conv1, self.bn1 = nn.Conv2d(ins, width, 1, bias=False), nn.BatchNorm2d(width)
            self.conv2, self.bn2 = nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width)
            self.conv3, self.bn3 = nn.Conv2d(width, outs, 1, bias=False), nn.BatchNorm2d(outs)
            self.shortcut = nn.Sequential()
            if ins != outs:
                self.shortcut = nn.Sequential(nn.Conv2d(ins, outs, 1, stride, bias=False), nn.BatchNorm2d(outs))

        def forward(self, x: Any) -> Any:
            y = F.relu(self.bn1(self.conv1(x)))
            y = F.relu(self.bn2(self.conv2(y)))
            return F.relu(self.bn3(self.conv3(y)) + self.shortcut(x))

    layers = nn.Sequential(
        nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(), nn.MaxPool2d(3, 2, 1),
        *(Block(*block) for block in _blocks(stages)),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * stages[-1][1], CLASSES),
    )  # fmt: skip
    return layers, nn.CrossEntropyLoss()


def params(random: np.random.Generator, stages: Any) -> Any:
    def conv(ins: int, outs: int, size: int) -> Any:
        weight = uniform(random, outs, ins, size, size, fan_in=ins * size * size)
        return weight, jnp.ones(outs), jnp.zeros(outs)

    blocks = []
    for ins, width, _ in _blocks(stages):
        convs = [conv(ins, width, 1), conv(width, width, 3), conv(width, 4 * width, 1)]
        blocks.append([*convs, conv(ins, 4 * width, 1)] if ins != 4 * width else convs)
    return conv(3, 64, 7), blocks, dense(random, 4 * stages[-1][1], CLASSES)


def loss(params: Any, X: jax.Array, y: jax.Array, stages: Any, how: How = USUAL) -> jax.Array:
    first, blocks, (w, b) = params
    x = jax.nn.relu(conv_norm(X, first, 2, how))
    x = lax.reduce_window(x, -jnp.inf, lax.max, (1, 1, 3, 3), (1, 1, 2, 2), [(0, 0), (0, 0), (1, 1), (1, 1)])
    for (conv1, conv2, conv3, *shortcut), (_, _, stride) in zip(blocks, _blocks(stages), strict=True):
        out = jax.nn.relu(conv_norm(jax.nn.relu(conv_norm(x, conv1, 1, how)), conv2, stride, how))
        x = jax.nn.relu(conv_norm(out, conv3, 1, how) + (conv_norm(x, shortcut[0], stride, how) if shortcut else x))
    x, w, b = how.factors(x.mean((2, 3)), w, b)
    return cross_entropy((x @ w + b).astype(jnp.float32), y)


def case(batch: int, size: int, steps: int, stages: Any = STAGES) -> Case:
    """The network on pictures of this size."""
    return Case(
        functools.partial(model, stages=stages),
        functools.partial(pictures, batch, 3, size, CLASSES),
        functools.partial(params, stages=stages),
        functools.partial(loss, stages=stages),
        steps,
    )
