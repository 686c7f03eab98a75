"""Images sampled at the points of a grid, and grids made by affine maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core.tensor import Tensor
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from ...numerics.half_precision import in_float32
from ..linalg.matmul import contract
from .upsample import CUBIC

BILINEAR, NEAREST, BICUBIC = 0, 1, 2
ZEROS, BORDER, REFLECTION = 0, 1, 2
_POINTS = [[[[-0.7, 0.1], [0.35, 0.6]], [[1.3, -1.4], [0.0, 0.9]]]]


# ---- where the points of a grid lie in the image


def _unnormalized(x: Array, size: int, align_corners: bool, volume: bool) -> Array:
    """From -1..1 to positions of pixels, in the order of operations that PyTorch uses for images and for volumes."""
    of = x.dtype.type
    if align_corners:
        return (x + of(1)) / of(2) * of(size - 1) if volume else (x + of(1)) * of((size - 1) / 2)
    return ((x + of(1)) * of(size) - of(1)) / of(2) if volume else (x + of(1)) * of(size / 2) - of(0.5)


def _clipped(x: Array, size: int) -> Array:
    """Kept in the image; no gradient at its border or beyond, NaN becomes 0."""
    of = x.dtype.type
    return jnp.where(x > 0, jnp.where(x < size - 1, x, of(size - 1)), of(0))


def _reflected(x: Array, size: int, align_corners: bool) -> Array:
    """Mirrored at the centres of the outermost pixels, or at their outer edges."""
    of = x.dtype.type
    low, span = (0.0, float(size - 1)) if align_corners else (-0.5, float(size))
    if span == 0:
        return jnp.zeros_like(x)
    distance = x - of(low)
    distance = jnp.where(distance < 0, -distance, distance)
    within = distance - jax.lax.stop_gradient(jnp.trunc(distance / of(2 * span))) * of(2 * span)
    return jnp.where(within <= of(span), within, of(2 * span) - within) + of(low)


def _padded(x: Array, size: int, padding_mode: int, align_corners: bool) -> Array:
    if padding_mode == REFLECTION:
        x = _reflected(x, size, align_corners)
    return x if padding_mode == ZEROS else _clipped(x, size)


def _pixels(images: Array, places: list[Array]) -> Array:
    """(N, C, ...) at whole-numbered places, each of shape (N, points): (N, C, points), 0 outside of the image."""
    sizes = images.shape[2:]
    inside: Any = np.bool_(True)
    flat: Any = np.int64(0)
    for place, size in zip(places, sizes, strict=True):
        inside = inside & (place >= 0) & (place <= size - 1)
        flat = flat * size + jnp.nan_to_num(jnp.clip(place, 0, size - 1)).astype(np.int64)
    rows = images.reshape(*images.shape[:2], -1)
    picked = jax.vmap(lambda image, at: jnp.take(image, at, axis=1, mode="clip"))(rows, flat)
    return jnp.where(inside[:, None, :], picked, jnp.zeros((), images.dtype))


def _sample(images: Array, points: list[Array], mode: int, padding_mode: int, align_corners: bool) -> Array:
    """``points``: for each dimension of the image, in its order, positions of shape (N, points)."""
    sizes = images.shape[2:]
    padded = [_padded(x, n, padding_mode, align_corners) for x, n in zip(points, sizes, strict=True)]
    if mode == NEAREST:
        return _pixels(images, [jnp.round(x) for x in padded])
    if mode == BICUBIC:
        return _cubic(images, points, lambda x, n: _padded(x, n, padding_mode, align_corners))
    lows = [jax.lax.stop_gradient(jnp.floor(x)) for x in padded]
    total: Any = None
    for corner in itertools.product((0, 1), repeat=len(sizes)):
        weight: Any = None
        for x, low, high in zip(padded, lows, corner, strict=True):
            share = x - low if high else low + 1 - x
            weight = share if weight is None else weight * share
        part = _pixels(images, [low + high for low, high in zip(lows, corner, strict=True)]) * weight[:, None, :]
        total = part if total is None else total + part
    return total


def _cubic(images: Array, points: list[Array], pad: Callable[[Array, int], Array]) -> Array:
    lows = [jax.lax.stop_gradient(jnp.floor(x)) for x in points]
    shares = [x - low for x, low in zip(points, lows, strict=True)]
    weights = [_cubic_weights(share) for share in shares]
    total: Any = None
    for taps in itertools.product(range(4), repeat=len(points)):
        places = [
            jax.lax.stop_gradient(pad(low + (tap - 1), size))
            for low, tap, size in zip(lows, taps, images.shape[2:], strict=True)
        ]
        weight: Any = None
        for of_axis, tap in zip(weights, taps, strict=True):
            weight = of_axis[tap] if weight is None else weight * of_axis[tap]
        part = _pixels(images, [jnp.trunc(place) for place in places]) * weight[:, None, :]
        total = part if total is None else total + part
    return total


def _cubic_weights(t: Array) -> list[Array]:
    """Keys' cubic convolution at the four pixels around, for a share ``t`` of the way from the second to the third."""
    a = CUBIC

    def near(d: Array) -> Array:
        return ((a + 2) * d - (a + 3)) * d * d + 1

    def far(d: Array) -> Array:
        return ((a * d - 5 * a) * d + 8 * a) * d - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


# ---- the ops


def _check(input: Array, grid: Array, mode: int) -> None:
    shapes = f"but got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
    if input.shape[0] != grid.shape[0]:
        raise RuntimeError(f"grid_sampler(): expected grid and input to have same batch size, {shapes}")
    if input.ndim not in (4, 5) or input.ndim != grid.ndim:
        expected = f"{input.ndim}D" if input.ndim in (4, 5) else "4D or 5D"
        raise RuntimeError(
            f"grid_sampler(): expected {expected} input and grid with same number of dimensions, {shapes}"
        )
    if grid.shape[-1] != input.ndim - 2:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {input.ndim - 2} in last dimension, but got grid with sizes "
            f"{list(grid.shape)}"
        )
    for dim, size in enumerate(input.shape[2:], 2):
        if not size:
            raise RuntimeError(
                f"grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes {list(input.shape)} with "
                f"dimension {dim} being empty"
            )
    if mode == BICUBIC and input.ndim == 5:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    if input.dtype != grid.dtype:
        names = [
            {"f": {2: "Half", 4: "Float", 8: "Double"}}.get(a.dtype.kind, {}).get(a.dtype.itemsize)
            for a in (input, grid)
        ]
        raise RuntimeError(f"expected scalar type {names[0]} but found {names[1]}")


@op(
    name="_grid_sampler",
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.NONE,
    zero_second=True,
    backward=lambda input, *others: f"GridSampler{len(input.shape) - 2}DBackward0",
    refuse="grid_sampler_2d_cpu_kernel_impl",
    samples=[
        Sample(
            shapes=((1, 2, 3, 4),), values=(_POINTS,), args=(mode, padding_mode, align), dtypes=("float32", "float64"),
            gradient=mode != NEAREST,
        )
        for mode, padding_mode, align in [(0, 0, False), (0, 2, True), (1, 1, False), (2, 0, True), (2, 2, False)]
    ], autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.PROMOTE},
)  # fmt: skip
@in_float32
def sampled(input: Array, grid: Array, mode: int, padding_mode: int, align_corners: bool) -> Array:
    """The image's values at the grid's points: (N, C, ...) and (N, ..., dimensions) give (N, C, ...)."""
    _check(input, grid, mode)
    batch, *shape, count = grid.shape
    flat = grid.reshape(batch, -1, count)
    points = [
        _unnormalized(flat[..., count - 1 - axis], size, align_corners, count == 3)
        for axis, size in enumerate(input.shape[2:])
    ]
    return _sample(input, points, mode, padding_mode, align_corners).reshape(batch, input.shape[1], *shape)


@composite(forms=Form.FUNCTION, autocast={"cpu": Autocast.FLOAT32, "cuda": Autocast.PROMOTE})
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """Values of images (N, C, H, W) or volumes (N, C, D, H, W) at points given in -1..1, x first.

    Args:
        grid: shape (N, H', W', 2) or (N, D', H', W', 3).
        interpolation_mode: 0 bilinear, 1 nearest, 2 bicubic.
        padding_mode: what is outside: 0 zeros, 1 the border, 2 the reflected image.
        align_corners: whether -1 and 1 are the centres of the corner pixels, or their outer edges.

    >>> image = torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]])
    >>> torch.grid_sampler(image, torch.zeros(1, 1, 1, 2), 0, 0, False)
    tensor([[[[2.5000]]]])

    Source: Jaderberg et al., "Spatial transformer networks" (2015).
    """
    return sampled(input, grid, int(interpolation_mode), int(padding_mode), bool(align_corners))


@composite(forms=Form.FUNCTION)
def grid_sampler_2d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of images."""
    return sampled(input, grid, int(interpolation_mode), int(padding_mode), bool(align_corners))


@composite(name="_grid_sampler_2d_cpu_fallback", forms=Form.FUNCTION)
def grid_sampler_2d_plainly(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler_2d``, by another kernel of PyTorch's."""
    return sampled(input, grid, int(interpolation_mode), int(padding_mode), bool(align_corners))


@composite(forms=Form.FUNCTION)
def grid_sampler_3d(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``grid_sampler`` of volumes."""
    return sampled(input, grid, int(interpolation_mode), int(padding_mode), bool(align_corners))


def _line(size: int, align_corners: bool) -> np.ndarray:
    if size <= 1:
        return np.zeros(size)
    line = np.linspace(-1.0, 1.0, size)
    return line if align_corners else line * ((size - 1) / size)


@op(
    promote=Promote.NONE,
    accepts=Category.FLOAT,
    forms=Form.FUNCTION,
    saves=Saves.NOTHING,
    refuse="linspace_cpu",
    samples=[
        Sample(shapes=((2, 2, 3),), args=((2, 3, 4, 5), align), dtypes=("float32", "float64"))
        for align in (False, True)
    ],
    autocast={"cpu": Autocast.LOWER},
)
def affine_grid_generator(theta: Array, size: Sequence[int], align_corners: bool) -> Array:
    """Where affine maps take the pixels of an image: (N, 2, 3) gives (N, H, W, 2), (N, 3, 4) gives (N, D, H, W, 3).

    Args:
        size: of the images, (N, C, H, W) or (N, C, D, H, W).
        align_corners: whether -1 and 1 are the centres of the corner pixels, or their outer edges.
    """
    size = tuple(size)
    if len(size) not in (4, 5):
        raise RuntimeError("AffineGridGenerator needs 4d (spatial) or 5d (volumetric) size")
    count = len(size) - 2
    if theta.shape[0] != size[0]:
        raise RuntimeError(
            f"Expected size for first two dimensions of batch2 tensor to be: [{size[0]}, {count + 1}] but got: [{theta.shape[0]}, "
            f"{count + 1}]."
        )
    axes = np.meshgrid(*(_line(n, align_corners) for n in size[2:]), indexing="ij")
    base = np.stack([*reversed(axes), np.ones(size[2:])], -1).reshape(-1, count + 1)
    points = contract(theta, jnp.asarray(base, theta.dtype), ((2,), (1,)))  # (N, 2, pixels)
    return points.swapaxes(1, 2).reshape(size[0], *size[2:], count)
