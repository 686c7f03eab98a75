"""Padding: adds elements before and after those of a tensor's last dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from ..._core import dtypes
from ..._core.tensor import Tensor
from ...dispatch.register import Autocast, Category, Form, Number, Promote, Sample, Saves, composite, op


def _by_dim(pad: tuple[int, ...], ndim: int) -> list[tuple[int, int]]:
    """(before, after) for every dimension; PyTorch counts from the last one."""
    pairs = [(0, 0)] * ndim
    for i in range(len(pad) // 2):
        pairs[ndim - 1 - i] = pad[2 * i], pad[2 * i + 1]
    return pairs


@op(
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.FUNCTION,
    saves=Saves.NOTHING,
    must_fit=("value",),
    samples=[Sample(shapes=((3, 4),), args=((1, 2, -1, 0), 1.5))],
)
def constant_pad_nd(input: Array, pad: Any, value: Number = 0) -> Array:
    """A number put around the last dimensions; negative widths cut.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on.

    >>> torch.constant_pad_nd(torch.tensor([1, 2]), (1, 1), 0)
    tensor([0, 1, 2, 0])
    """
    _check_length(pad, input.ndim)
    pairs = _by_dim(pad, input.ndim)
    for n, (before, after) in zip(input.shape, pairs, strict=True):
        if n + before + after < 0:
            raise RuntimeError("narrow(): length must be non-negative.")
    inner = tuple(slice(max(0, -b), n - max(0, -a)) for n, (b, a) in zip(input.shape, pairs, strict=True))
    widths = [(max(0, b), max(0, a)) for b, a in pairs]
    return jnp.pad(input[inner], widths, constant_values=jnp.asarray(value, input.dtype))


def _check_length(pad: tuple[int, ...], ndim: int) -> None:
    if len(pad) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) > 2 * ndim:
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got padding length "
            f"{len(pad)} and input of dimension {ndim}"
        )


_MODES = {"reflect": "reflect", "replicate": "edge", "circular": "wrap"}
_SHOWN = {"reflect": "ReflectionPad{}DBackward0", "replicate": "ReplicationPad{}DBackward0", "circular": "CopySlices"}


def _on_cpu(input: Tensor, pad: tuple[int, ...], mode: str) -> Autocast | None:
    """The numbers of dimensions for which PyTorch has an autocast on the CPU."""
    counts = {"reflect": (1, 2), "replicate": (1, 2, 3), "circular": ()}[mode]
    return Autocast.FLOAT32 if len(pad) // 2 in counts else None


@op(
    name="_pad",
    autocast={"cpu": _on_cpu},
    promote=Promote.NONE,
    accepts=Category.ALL,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward=lambda input, pad, mode: _SHOWN[mode].format(len(pad) // 2),
    samples=[Sample(shapes=((1, 3, 4),), args=((1, 2), mode)) for mode in _MODES],
)
def repeated(input: Array, pad: Any, mode: str) -> Array:
    """Elements of the tensor itself put around its last dimensions."""
    pairs, count = _by_dim(pad, input.ndim), len(pad) // 2
    if mode != "circular" and 0 in input.shape[input.ndim - count - 1 :]:
        raise RuntimeError(
            f"Expected {count + 1}D or {count + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions for "
            f"input, but got: {list(input.shape)}"
        )
    for dim, (n, pair) in enumerate(zip(input.shape, pairs, strict=True)):
        if mode == "reflect" and dim >= input.ndim - len(pad) // 2 and max(pair) >= n:
            raise RuntimeError(
                f"Argument #4: Padding size should be less than the corresponding input dimension, but got: padding ({pair[0]}, "
                f"{pair[1]}) at dimension {dim} of input {list(input.shape)}"
            )
        if mode == "circular" and max(pair) > n:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        if mode == "circular" and n + min(pair[0], 0) + min(pair[1], 0) < 0:
            raise RuntimeError("Negative padding value is resulting in an empty dimension")
    out = input
    for dim, (before, after) in enumerate(pairs):
        if before or after:
            # One dimension after the other: the corners repeat what the dimensions before have already repeated.
            if before < 0 or after < 0:
                out = jnp.take(out, _sources(input.shape[dim], before, after, mode), axis=dim, mode="clip")
            else:
                out = lax.concatenate(_parts(out, dim, before, after, mode), dim)
    return out


def _parts(x: Array, dim: int, before: int, after: int, mode: str) -> list[Array]:
    """What stands side by side along a dimension that is widened."""
    n = x.shape[dim]
    if mode == "circular":
        spans = (n - before, n), (0, after)
    elif mode == "reflect":
        spans = (1, before + 1), (n - 1 - after, n - 1)
    else:
        spans = (0, 1), (n - 1, n)
    head, tail = [lax.slice_in_dim(x, *span, axis=dim) for span in spans]
    if mode == "reflect":
        head, tail = lax.rev(head, (dim,)), lax.rev(tail, (dim,))
    elif mode == "replicate":
        widths = [(*x.shape[:dim], width, *x.shape[dim + 1 :]) for width in (before, after)]
        head, tail = [jnp.broadcast_to(part, shape) for part, shape in zip((head, tail), widths, strict=True)]
    return [head, x, tail]


def _sources(n: int, before: int, after: int, mode: str) -> np.ndarray:
    """Which element stands at each place of the padded dimension."""
    if mode == "circular":  # what is cut at one end is gone before the rest is wrapped around
        cut, stop = max(-before, 0), n + min(before, 0) + min(after, 0)
        return cut + np.arange(-max(before, 0), stop + max(after, 0)) % stop
    places = np.arange(-before, n + after)
    if mode == "replicate":
        return np.clip(places, 0, n - 1)
    return np.where(places < 0, -places, np.where(places >= n, 2 * (n - 1) - places, places))


@composite(forms=Form.FUNCTIONAL)
def pad(input: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """Widens the last dimensions, by a number or by elements of the tensor.

    Args:
        pad: (before, after) of the last dimension, then of the one before it, and so on.
        mode: "constant", "reflect", "replicate" or "circular".
        value: for "constant"; 0 unless given.

    >>> torch.nn.functional.pad(torch.tensor([1, 2]), (1, 1))
    tensor([0, 1, 2, 0])
    """
    widths = tuple(int(p) for p in pad)
    _check_length(widths, input.dim())
    if mode == "constant":
        if isinstance(value, (complex, str)):
            raise TypeError(f"pad(): argument 'value' (position 4) must be float, not {type(value).__name__}")
        value = 0.0 if value is None else float(value)
        # As a float the largest int64 is 2 ** 63, which PyTorch lets pass and then wraps.
        return constant_pad_nd(input, widths, -value if value == 2.0**63 and input.dtype is dtypes.int64 else value)
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value not in (None, 0):
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if len(widths) not in (2, 4, 6) or input.dim() - len(widths) // 2 not in (1, 2):
        raise NotImplementedError(
            f"Padding size {len(widths)} is not supported for {input.dim()}D input tensor.\nSupported combinations for non-constant "
            "padding:\n  - 2D or 3D input: padding size = 2 (pads last dimension)\n  - 3D or 4D input: padding size = 4 (pads last 2 "
            "dimensions)\n  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    return repeated(input, widths, mode)
