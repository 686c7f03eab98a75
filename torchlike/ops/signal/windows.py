"""Windows that signals are multiplied by before a Fourier transform: made on the host, in float64, and rounded once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._core import dtypes
from ..._core.annotations import DeviceLike, Dtype, Layout
from ..._core.layouts import strided
from ..._core.tensor import Tensor, from_value
from ...dispatch.options import dtype_of, is_integer, placement_of, require_grad
from ...dispatch.register import Form, composite
from ...dispatch.type_names import type_name
from ...engine.aval import check_room
from ...engine.value import Value


def window_tensor(
    length: int,
    periodic: bool,
    shape: Callable[[np.ndarray], np.ndarray],
    dtype: Dtype | None,
    device: DeviceLike | None,
    requires_grad: bool,
) -> Tensor:
    """A window as a tensor.

    Args:
        length: the number of its elements.
        periodic: whether it is one period of a periodic function, and not symmetric.
        shape: the window at places from 0 (its start) to 1 (its end).
    """
    kind = dtype_of("window", dtype)
    check_room((length,), kind.numpy, placement_of(device))
    count = length + periodic
    places = np.arange(count) / max(count - 1, 1) if count > 1 else np.full(count, 0.5)
    values = np.ones(length) if length <= 1 else shape(places)[:length]
    return require_grad(from_value(Value.on_host(values.astype(kind.numpy), placement_of(device))), requires_grad)


def cosines(*weights: float) -> Callable[[np.ndarray], np.ndarray]:
    """The sum of cosines of growing frequency with alternating signs, which makes most windows."""
    return lambda x: sum((-1) ** k * a * np.cos(2 * np.pi * k * x) for k, a in enumerate(weights))  # pyright: ignore[reportReturnType]


def triangle(x: np.ndarray) -> np.ndarray:
    return 1 - np.abs(2 * x - 1)


def kaiser(beta: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda x: np.i0(beta * np.sqrt(np.clip(1 - (2 * x - 1) ** 2, 0, 1))) / np.i0(beta)


BLACKMAN = (0.42, 0.5, 0.08)


def _window(name: str, length: Tensor | int, periodic: bool, shape: Any, options: dict[str, Any]) -> Tensor:
    if (
        not is_integer(length)
        or (isinstance(length, Tensor) and length.dim())
        or getattr(length, "dtype", None) is dtypes.bool_
    ):
        raise TypeError(f"{name}(): argument 'window_length' (position 1) must be int, not {type_name(length)}")
    dtype, layout = options["dtype"], options["layout"]
    if layout not in (None, strided):
        raise RuntimeError(f"{name} is not implemented for sparse types, got: {layout}")
    kind = dtype_of(name, dtype)
    if kind.category != dtypes.FLOAT:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {kind.scalar_name}")
    if length < 0:
        raise RuntimeError(f"{name} requires non-negative window_length, got window_length={length}")
    return window_tensor(int(length), bool(periodic), shape, dtype, options["device"], options["requires_grad"])


@composite(forms=Form.FUNCTION)
def hann_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``sin(pi n / N) ** 2``: one period, or symmetric.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _window("hann_window", window_length, periodic, cosines(0.5, 0.5), options)


@composite(forms=Form.FUNCTION)
def hamming_window(
    window_length: int,
    periodic: bool = True,
    alpha: float = 0.54,
    beta: float = 0.46,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - beta cos(2 pi n / N)``: one period, or symmetric."""
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _window("hamming_window", window_length, periodic, cosines(alpha, beta), options)


@composite(forms=Form.FUNCTION)
def blackman_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``: one period, or symmetric."""
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _window("blackman_window", window_length, periodic, cosines(*BLACKMAN), options)


@composite(forms=Form.FUNCTION)
def bartlett_window(
    window_length: int,
    periodic: bool = True,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle: one period, or symmetric.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _window("bartlett_window", window_length, periodic, triangle, options)


@composite(forms=Form.FUNCTION)
def kaiser_window(
    window_length: int,
    periodic: bool = True,
    beta: float = 12.0,
    *,
    dtype: Dtype | None = None,
    layout: Layout | None = None,
    device: DeviceLike | None = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """``i0(beta sqrt(1 - (2 n / N - 1) ** 2)) / i0(beta)``: one period, or symmetric."""
    options = {"dtype": dtype, "layout": layout, "device": device, "requires_grad": requires_grad}
    return _window("kaiser_window", window_length, periodic, kaiser(beta), options)
