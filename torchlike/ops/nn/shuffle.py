"""Moves channels to pixels, pixels to channels, and channels between groups."""

from __future__ import annotations

from jax import Array

from ...dispatch.register import Category, Form, Promote, Sample, Saves, op


def _needs_image(name: str, input: Array, argument: str, factor: int) -> None:
    if input.ndim < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {input.ndim} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {argument}, but got {factor}")


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.FUNCTIONAL,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 8, 2, 3),), args=(2,)), Sample(shapes=((9, 1, 2),), args=(3,))],
)
def pixel_shuffle(input: Array, upscale_factor: int) -> Array:
    """(..., C * r * r, H, W) becomes (..., C, H * r, W * r): channels become pixels.

    >>> torch.pixel_shuffle(torch.arange(4).reshape(1, 4, 1, 1), 2)
    tensor([[[[0, 1],
              [2, 3]]]])

    Source: Shi et al., "Real-time single image and video super-resolution using an efficient sub-pixel convolutional neural
    network" (2016).
    """
    _needs_image("pixel_shuffle", input, "upscale_factor", upscale_factor)
    r = upscale_factor
    *lead, channels, height, width = input.shape
    if channels % (r * r):
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={channels} is not divisible by {r * r}"
        )
    split = input.reshape(*lead, channels // (r * r), r, r, height, width)
    n = len(lead)
    mixed = split.transpose(*range(n), n, n + 3, n + 1, n + 4, n + 2)  # (..., C, H, r, W, r)
    return mixed.reshape(*lead, channels // (r * r), height * r, width * r)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.FUNCTIONAL,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 2, 4, 6),), args=(2,)), Sample(shapes=((1, 3, 6),), args=(3,))],
)
def pixel_unshuffle(input: Array, downscale_factor: int) -> Array:
    """(..., C, H * r, W * r) becomes (..., C * r * r, H, W): what ``pixel_shuffle`` undoes.

    >>> torch.pixel_unshuffle(torch.tensor([[[0, 1], [2, 3]]]), 2).flatten()
    tensor([0, 1, 2, 3])
    """
    _needs_image("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    r = downscale_factor
    *lead, channels, height, width = input.shape
    for name, dim, size in (("height", -2, height), ("width", -1, width)):
        if size % r:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({dim})={size} is not "
                f"divisible by {r}"
            )
    split = input.reshape(*lead, channels, height // r, r, width // r, r)
    n = len(lead)
    mixed = split.transpose(*range(n), n, n + 2, n + 4, n + 1, n + 3)  # (..., C, r, r, H, W)
    return mixed.reshape(*lead, channels * r * r, height // r, width // r)


def _shuffled(input: Array, groups: int) -> Array:
    if input.ndim <= 2:
        raise RuntimeError(f"channel_shuffle expects input with > 2 dims, but got input with sizes {list(input.shape)}")
    if groups <= 0:
        raise RuntimeError(f"Number of groups to divide channels in must be positive. Value of groups:{groups}")
    batch, channels, *sizes = input.shape
    if channels % groups:
        raise RuntimeError(
            f"Number of channels must be divisible by groups. Got {channels} channels and {groups} groups."
        )
    split = input.reshape(batch, groups, channels // groups, *sizes)
    return split.swapaxes(1, 2).reshape(input.shape)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.FUNCTIONAL,
    saves=Saves.NOTHING,
    samples=[Sample(shapes=((2, 6, 3),), args=(3,))],
)
def channel_shuffle(input: Array, groups: int) -> Array:
    """The channels of (N, C, ...) dealt out anew: each group of the result has some of every group.

    >>> torch.channel_shuffle(torch.arange(4).reshape(1, 4, 1), 2).flatten()
    tensor([0, 2, 1, 3])

    Source: Zhang et al., "ShuffleNet" (2018).
    """
    return _shuffled(input, groups)


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION | Form.FUNCTIONAL,
    saves=Saves.NOTHING,
    samples=[],  # ``channel_shuffle`` has them; PyTorch's has no derivative
)
def native_channel_shuffle(input: Array, groups: int) -> Array:
    """Another name for ``channel_shuffle``."""
    return _shuffled(input, groups)
