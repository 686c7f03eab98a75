"""The short-time Fourier transform, and the signal that belongs to one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from ..._core import dtypes
from ..._core.meta import on_meta
from ..._core.tensor import Tensor
from ...dispatch.arguments import check_flags
from ...dispatch.register import Autocast, Category, Form, Promote, Sample, Saves, composite, op
from ..creation.filled import ones, zeros
from ..nn.pad import constant_pad_nd, pad
from ..shape.complex_numbers import view_as_real
from ..shape.joining import cat
from . import fft

if TYPE_CHECKING:
    from ..._core.annotations import Dtype


def _shown(window: Tensor | None) -> str:
    return "None" if window is None else f"{window.type()}{{{list(window.shape)}}}"


def _window(window: Tensor | None, win_length: int, n_fft: int, like: Dtype) -> Any:
    """The window in the middle of ``n_fft`` elements; ones where none is given."""
    if window is None:
        window = ones(win_length, dtype=like)
    left = (n_fft - win_length) // 2
    return window if win_length == n_fft else constant_pad_nd(window, [left, n_fft - win_length - left])


@composite(forms=Form.FUNCTION | Form.METHOD, autocast={"cpu": Autocast.FLOAT32})
def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool | np.bool_ = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: object = None,
    return_complex: object = None,
    align_to_window: object = None,
) -> Tensor:
    """The Fourier transforms of overlapping pieces of a signal.

    Args:
        input: signals (L,) or (B, L).
        n_fft: the length of a piece.
        hop_length: from one piece to the next; None: a quarter of ``n_fft``.
        window: what each piece is multiplied by, of ``win_length`` elements, in the middle.
        center: whether the first piece stands with its middle on the first element, the signal padded by ``pad_mode``.
        onesided: whether half of each transform is given; None: for real signals.
        return_complex: must be given for real signals: whether the result is complex, or has real and imaginary parts along a last
            dimension.
    """
    if return_complex is not None:
        check_flags("stft", return_complex=(None, return_complex))
    if align_to_window is not None and center:
        raise RuntimeError("stft align_to_window should only be set when center = false")
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    complex_ = input.is_complex() or (window is not None and window.is_complex())
    if return_complex is None:
        if not complex_:
            raise RuntimeError(
                "stft requires the return_complex parameter be given for real inputs, and will further require that return_complex=True "
                "in a future PyTorch release."
            )
        return_complex = True
    side = n_fft // 2 if center else 0
    shape = [*input.shape[:-1], *(n + 2 * side for n in input.shape[-1:])]
    call = (
        f"stft({input.type()}{shape}, n_fft={n_fft}, hop_length={hop_length}, win_length={win_length}, window={_shown(window)}, "
        f"normalized={int(normalized)}, onesided={onesided if onesided is None else int(bool(onesided))}, "
        f"return_complex={int(bool(return_complex))}, align_to_window={align_to_window}) "
    )
    if input.dtype.category < dtypes.FLOAT:
        raise RuntimeError(f"{call}: expected a tensor of floating point or complex values")
    if input.dim() not in (1, 2):
        raise RuntimeError(f"{call}: expected a 1D or 2D tensor")
    signal = input if input.dim() == 2 else input.unsqueeze(0)
    if center:
        signal = pad(signal.unsqueeze(1), (side, side), pad_mode).squeeze(1)
    length = signal.shape[1]
    if not 0 < n_fft <= length:
        raise RuntimeError(f"{call}: expected 0 < n_fft < {length}, but got n_fft={n_fft}")
    if hop_length <= 0:
        raise RuntimeError(f"{call}: expected hop_length > 0, but got hop_length={hop_length}")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft, but got win_length={win_length}")
    if window is not None and (window.dim() != 1 or window.shape[0] != win_length):
        raise RuntimeError(
            f"{call}: expected a 1D window tensor of size equal to win_length={win_length}, but got window with size {list(window.shape)}"
        )
    if align_to_window:
        offset = (n_fft - win_length) // 2
        signal = constant_pad_nd(signal, [offset, offset])
    frames = signal.unfold(1, n_fft, hop_length)  # (B, frames, n_fft)
    if window is not None or win_length < n_fft:
        frames = frames * _window(window, win_length, n_fft, input.dtype)
    onesided = not complex_ if onesided is None else onesided
    if onesided and complex_:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    norm = "ortho" if normalized else "backward"
    spectrum = (fft.fft_rfft if onesided else fft.fft_fft)(frames, None, -1, norm)
    spectrum = spectrum.transpose(1, 2)  # (B, frequencies, frames)
    spectrum = spectrum if input.dim() == 2 else spectrum.squeeze(0)
    return spectrum if return_complex else view_as_real(spectrum)


@op(
    name="_overlap_add",
    promote=Promote.NONE,
    accepts=Category.INEXACT,
    forms=Form.NONE,
    saves=Saves.NOTHING,
    backward="UnfoldBackwardBackward0",
    samples=[Sample(shapes=((2, 3, 4),), args=(2,))],
)
def overlap_add(frames: Array, hop: int) -> Array:
    """Pieces (B, frames, n), ``hop`` elements apart, added up to signals."""
    batch, count, n = frames.shape
    places = np.arange(count)[:, None] * hop + np.arange(n)
    length = (count - 1) * hop + n
    return jnp.zeros((batch, length), frames.dtype).at[:, places].add(frames)


@composite(forms=Form.FUNCTION | Form.METHOD)
def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose short-time Fourier transform comes nearest to ``input``: the pieces, windowed, added and divided by the windows.

    Args:
        input: complex, (frequencies, frames) or (B, frequencies, frames).
        length: of the signal; None: what the frames cover, less the padding if ``center``.
        return_complex: whether the signal is complex.
    """
    hop_length = n_fft // 4 if hop_length is None else hop_length
    win_length = n_fft if win_length is None else win_length
    call = (
        f"istft(CPU{input.dtype.scalar_name}Type{list(input.shape)}, n_fft={n_fft}, hop_length={hop_length}, win_length={win_length}, "
        f"window={_shown(window)}, center={int(center)}, normalized={int(normalized)}, "
        f"onesided={onesided if onesided is None else int(bool(onesided))}, length={length}, return_complex={int(return_complex)}) "
    )
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with return_complex=True."
        )
    if input.dim() == 1:
        raise IndexError("Dimension out of range (expected to be in range of [-2, 1], but got -3)")
    if input.numel() == 0:
        raise RuntimeError(f"{call}: input tensor cannot be empty.")
    if input.dim() not in (2, 3):
        raise RuntimeError(f"{call}: expected a tensor with 3 or 4 dimensions, but got {input.dim() + 1}")
    frames = (input if input.dim() == 3 else input.unsqueeze(0)).transpose(1, 2)  # (B, frames, frequencies)
    bins = frames.shape[-1]
    onesided = bins != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if onesided else n_fft
    if bins != expected:
        raise RuntimeError(
            f"{call}: expected the frequency dimension (3rd to the last) of the input tensor to match n_fft "
            f"{'/ 2 + 1 ' if onesided else ''}when onesided={bool(onesided)}, but got {bins}"
        )
    if not 0 < hop_length <= win_length:
        raise RuntimeError(f"{call}: expected 0 < hop_length <= win_length")
    if not 0 < win_length <= n_fft:
        raise RuntimeError(f"{call}: expected 0 < win_length <= n_fft")
    if window is not None and (window.dim() != 1 or window.shape[0] != win_length):
        raise RuntimeError(f"{call}: Invalid window shape. window has to be 1D and length of `win_length`")
    real = dtypes.float64 if input.dtype is dtypes.complex128 else dtypes.float32
    weights = _window(window, win_length, n_fft, real)
    norm = "ortho" if normalized else "backward"
    if return_complex:
        if onesided:
            raise RuntimeError("Cannot have onesided output if window or input is complex")
        pieces = fft.fft_ifft(frames, None, -1, norm)
    else:
        if window is not None and window.is_complex():
            raise RuntimeError("Complex windows are incompatible with return_complex=False")
        pieces = fft.fft_irfft(frames if onesided else frames[..., : n_fft // 2 + 1], n_fft, -1, norm)
    signal = overlap_add(pieces * weights.reshape(1, 1, n_fft), hop_length)
    squares = (weights * weights).reshape(1, 1, n_fft).expand(1, pieces.shape[1], n_fft)
    envelope = overlap_add(squares.contiguous(), hop_length)
    whole = signal.shape[1]
    start = n_fft // 2 if center else 0
    end = start + length if length is not None else whole - start if center else whole
    signal, envelope = signal[:, start : min(end, whole)], envelope[:, start : min(end, whole)]
    if not on_meta(envelope) and not bool((envelope.abs() > 1e-11).all()):
        raise RuntimeError(f"{call}window overlap add min: 1\n[ CPUBoolType{{}} ]")
    result = signal / envelope
    padding_length = max(0, end - whole)
    if padding_length:
        result = cat([result, zeros(result.shape[0], padding_length, dtype=result.dtype)], 1)
    return result if input.dim() == 3 else result.squeeze(0)
