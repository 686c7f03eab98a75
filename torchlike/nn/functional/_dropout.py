"""Dropout of elements and of channels."""

from __future__ import annotations

import warnings

from ..._core.tensor import Tensor
from ...dispatch.inplace import into
from ...ops.nn.dropout import (
    alpha_dropout as _alpha_dropout,
    dropout as _dropout,
    feature_alpha_dropout as _feature_alpha_dropout,
    feature_dropout as _feature_dropout,
    needs_probability,
)

__all__ = ["alpha_dropout", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout"]


def dropout(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """In training each element becomes 0 with probability ``p``, else it is divided by ``1 - p``.

    >>> F.dropout(torch.ones(2), training=False)
    tensor([1., 1.])
    """
    needs_probability(p)
    return into(input, inplace, _dropout(input, p, training))


def dropout1d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, L) or (C, L)."""
    needs_probability(p)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            f"dropout1d: Expected 2D or 3D input, but received a {input.dim()}D input. Note that dropout1d exists to provide "
            "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch dimension (i.e. 2D or "
            "3D inputs)."
        )
    if input.dim() == 3:
        return into(input, inplace, _feature_dropout(input, p, training))
    single = input
    return into(input, inplace, _feature_dropout(single.unsqueeze(0), p, training).squeeze(0))


def dropout2d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, H, W)."""
    needs_probability(p)
    if input.dim() not in (3, 4):
        warnings.warn(
            f"dropout2d: Received a {input.dim()}-D input to dropout2d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout2d exists to "
            "provide channel-wise dropout on inputs with 2 spatial dimensions, a channel dimension, and an optional batch dimension "
            "(i.e. 3D or 4D inputs).",
            stacklevel=2,
        )
    if input.dim() == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. This behavior will change in a future release to interpret "
            "the input as one without a batch dimension, i.e. shape (C, H, W). To maintain the 1D channel-wise dropout behavior, "
            "please switch to using dropout1d instead.",
            stacklevel=2,
        )
    return into(input, inplace, _feature_dropout(input, p, training))


def dropout3d(input: Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> Tensor:
    """``dropout`` of whole channels of (N, C, D, H, W)."""
    needs_probability(p)
    if input.dim() not in (4, 5):
        warnings.warn(
            f"dropout3d: Received a {input.dim()}-D input to dropout3d, which is deprecated and will result in an error in a future "
            "release. To retain the behavior and silence this warning, please use dropout instead. Note that dropout3d exists to "
            "provide channel-wise dropout on inputs with 3 spatial dimensions, a channel dimension, and an optional batch dimension "
            "(i.e. 4D or 5D inputs).",
            stacklevel=2,
        )
    if input.dim() == 4:
        single = input
        return into(input, inplace, _feature_dropout(single.unsqueeze(0), p, training).squeeze(0))
    return into(input, inplace, _feature_dropout(input, p, training))


def alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """Dropout that keeps mean and variance after SELU."""
    needs_probability(p)
    return into(input, inplace, _alpha_dropout(input, p, training))


def feature_alpha_dropout(input: Tensor, p: float = 0.5, training: bool = False, inplace: bool = False) -> Tensor:
    """``alpha_dropout`` of whole channels."""
    needs_probability(p)
    return into(input, inplace, _feature_alpha_dropout(input, p, training))
