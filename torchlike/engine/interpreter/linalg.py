"""Rules of Fourier transforms and of what LAPACK computes."""

from __future__ import annotations

from typing import Any

import numpy as np

from .rules import Compute, Unsupported, require_native, rule


@rule("fft")
def _fft(params: Any, ins: Any, outs: Any) -> Compute:
    require_native(*ins)
    kind, lengths, dtype = str(params["fft_type"]).rpartition(".")[2].upper(), params["fft_lengths"], outs[0].dtype
    if 0 in ins[0].shape:
        raise Unsupported("empty transforms")
    axes = tuple(range(-len(lengths), 0))
    functions: dict[str, Any] = {
        "FFT": lambda x: np.fft.fftn(x, axes=axes),
        "IFFT": lambda x: np.fft.ifftn(x, axes=axes),
        "RFFT": lambda x: np.fft.rfftn(x, axes=axes),
        "IRFFT": lambda x: np.fft.irfftn(x, s=lengths, axes=axes),
    }
    if kind not in functions:
        raise Unsupported(kind)
    transform = functions[kind]
    return lambda x: transform(x).astype(dtype, copy=False)
