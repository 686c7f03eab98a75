"""Convolutions of every form, and operands for them."""

import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from torchlike.engine.geometry import Geometry

F32 = np.dtype(np.float32)


def geometry(
    x: Any, w: Any, stride: Any = 1, padding: Any = 0, dilation: Any = 1, groups: int = 1, result: str = "y"
) -> Geometry:
    steps = [v if isinstance(v, tuple) else (v,) * (len(x) - 2) for v in (stride, padding, dilation)]
    sizes = zip(x[2:], w[2:], *steps, strict=True)
    y = (x[0], w[0], *[(n + 2 * p - d * (k - 1) - 1) // s + 1 for n, k, s, p, d in sizes])
    return Geometry(result, x, w, y, steps[0], steps[1], steps[2], groups)


FORMS = {
    "plain": geometry((2, 3, 9, 8), (4, 3, 3, 2)),
    "padded": geometry((2, 3, 9, 8), (4, 3, 3, 3), padding=(1, 2)),
    "strided, the last row is not met": geometry((2, 4, 10, 9), (6, 4, 3, 3), stride=2, padding=1),
    "dilated": geometry((2, 4, 12, 11), (6, 4, 3, 3), dilation=(2, 3), stride=(1, 2)),
    "groups": geometry((2, 6, 8, 8), (9, 2, 3, 3), groups=3, padding=1, stride=2),
    "depthwise": geometry((2, 8, 8, 8), (8, 1, 3, 3), groups=8, padding=1),
    "pointwise": geometry((2, 16, 5, 5), (24, 16, 1, 1)),
    "1-D": geometry((3, 4, 20), (6, 2, 5), groups=2, stride=3, padding=2),
    "3-D": geometry((2, 3, 6, 7, 5), (4, 3, 2, 3, 2), padding=1, stride=(1, 2, 1)),
    "one of each": geometry((1, 1, 1, 1), (1, 1, 1, 1)),
    "a kernel as large as the image": geometry((2, 3, 5, 5), (7, 3, 5, 5)),
}


def operands(of: Geometry, dtype: Any = F32, seed: int = 0) -> tuple[jax.Array, jax.Array]:
    random = np.random.default_rng(seed)
    first, second = (jnp.asarray(random.standard_normal(of.shape(name)), dtype) for name in of.operands)
    return first, second


def close(found: Any, wanted: Any, of: Geometry, bound: float = 1e-6) -> bool:
    scale = math.sqrt(of.products / math.prod(of.shape(of.result))) + 1
    return np.allclose(
        np.asarray(found, np.float32), np.asarray(wanted, np.float32), rtol=bound, atol=4 * bound * scale
    )
