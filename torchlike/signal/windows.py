"""torch.signal.windows: windows, symmetric by default, as tensors of one dimension."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .._core import dtypes
from .._core.annotations import DeviceLike, Dtype, Layout
from .._core.layouts import strided
from .._core.tensor import Tensor
from ..dispatch.arguments import check_flags, check_value
from ..ops.signal.windows import BLACKMAN, cosines, kaiser as kaiser_shape, triangle, window_tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip

NUTTALL = (0.3635819, 0.4891775, 0.1365995, 0.0106411)


def _length(M: object) -> Any:
    """Reads a window length that is a tensor, so that the window is made as for a number. A flag counts, and 0 may be a float."""
    if isinstance(M, Tensor):
        return int(M) if not M.dim() and M.dtype.category == dtypes.INTEGER else M
    return int(M) if isinstance(M, (bool, np.bool_)) or (isinstance(M, (float, np.floating)) and M == 0) else M


def _steps(M: object) -> Any:
    """The length of a window that PyTorch makes with ``linspace``, which takes no flag for the number of its steps."""
    if M:
        check_value("linspace", "steps", None, "int", M)
    return _length(M)


def _window(
    name: str,
    M: int,
    sym: bool,
    shape: Callable[[np.ndarray], np.ndarray],
    dtype: Dtype | None,
    layout: Layout,
    device: DeviceLike | None,
    requires_grad: bool,
) -> Tensor:
    """Checks what all of them are given, and makes the window."""
    M = _length(M)
    kind = dtypes.get_default_dtype() if dtype is None else dtype
    if M < 0:
        raise ValueError(f"{name} requires non-negative window length, got M={M}")
    if layout is not strided:
        raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
    if kind not in (dtypes.float32, dtypes.float64):
        raise ValueError(f"{name} expects float32 or float64 dtypes, got: {kind}")
    if requires_grad is not None:
        check_flags("linspace" if M else "empty", requires_grad=(None, requires_grad))
    return window_tensor(M, not sym, shape, kind, device, requires_grad)


def bartlett(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A triangle.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    return _window("bartlett", M, sym, triangle, dtype, layout, device, requires_grad)


def blackman(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)``.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    return _window("blackman", M, sym, cosines(*BLACKMAN), dtype, layout, device, requires_grad)


def cosine(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """Half a period of a sine, taken at the middles of the elements.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    count = _steps(M) + (not sym)
    shape = lambda x: np.sin(np.pi * (np.arange(count) + 0.5) / count)  # noqa: E731
    return _window("cosine", M, sym, shape, dtype, layout, device, requires_grad)


def exponential(
    M: int,
    *,
    center: float | None = None,
    tau: float = 1.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-|n - center| / tau)``.

    Args:
        M: how many elements.
        center: where it is largest; None: the middle.
        tau: how fast it decays.
        sym: symmetric; otherwise one period of a longer window.
    """
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    sym = bool(sym)
    middle = (_steps(M) - sym) / 2 if center is None else center
    if center is None and not sym:
        middle = _steps(M) / 2
    shape = lambda x: np.exp(-np.abs(np.arange(len(x)) - middle) / tau)  # noqa: E731
    return _window("exponential", _steps(M), sym, shape, dtype, layout, device, requires_grad)


def gaussian(
    M: int,
    *,
    std: float = 1.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``exp(-(n / std) ** 2 / 2)``, n counted from the middle.

    Args:
        M: how many elements.
        std: its standard deviation, in elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    shape = lambda x: np.exp(-(((np.arange(len(x)) - (len(x) - 1) / 2) / std) ** 2) / 2)  # noqa: E731
    return _window("gaussian", _steps(M), sym, shape, dtype, layout, device, requires_grad)


def general_cosine(
    M: int,
    *,
    a: Iterable[float],
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The sum of cosines of growing frequency, weighted by ``a``, with alternating signs.

    Args:
        M: how many elements.
        a: the weights.
        sym: symmetric; otherwise one period of a longer window.
    """
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _window("general_cosine", M, sym, cosines(*weights), dtype, layout, device, requires_grad)


def general_hamming(
    M: int,
    *,
    alpha: float = 0.54,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``alpha - (1 - alpha) cos(2 pi n / N)``.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    return _window("general_hamming", M, sym, cosines(alpha, 1 - alpha), dtype, layout, device, requires_grad)


def hamming(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``0.54 - 0.46 cos(2 pi n / N)``.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    return _window("hamming", M, sym, cosines(0.54, 0.46), dtype, layout, device, requires_grad)


def hann(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``sin(pi n / N) ** 2``.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """
    return _window("hann", M, sym, cosines(0.5, 0.5), dtype, layout, device, requires_grad)


def kaiser(
    M: int,
    *,
    beta: float = 12.0,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """``i0(beta sqrt(1 - (2 n / N - 1) ** 2)) / i0(beta)``.

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    return _window("kaiser", M, sym, kaiser_shape(beta), dtype, layout, device, requires_grad)


def nuttall(
    M: int,
    *,
    sym: bool = True,
    dtype: Dtype | None = None,
    layout: Layout = strided,
    device: DeviceLike | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """A sum of four cosines with small side lobes (Nuttall, 1981).

    Args:
        M: how many elements.
        sym: symmetric; otherwise one period of a longer window.
    """
    return _window("nuttall", M, sym, cosines(*NUTTALL), dtype, layout, device, requires_grad)
